#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::testing {

/// The rewritten model, after checks that it is valid and that its outputs are within the given model's bounds.
template <class Rewrite>
Model rewritten(const ModelCase& c, const Rewrite& rewrite, Index expected_changes) {
  Model model = c.model;
  EXPECT_EQ(rewrite(model), expected_changes);
  model.validate();
  const std::vector<Bounded> given = evaluate(c.model, c.inputs);
  const std::vector<Bounded> found = evaluate(model, c.inputs);
  EXPECT_EQ(found.size(), given.size());
  for (std::size_t output = 0; output < given.size(); ++output) {
    EXPECT_EQ(shape_text(found[output].shape), shape_text(given[output].shape));
    for (std::size_t i = 0; i < given[output].values.size(); ++i)
      EXPECT_LE(std::abs(found[output].values[i] - given[output].values[i]), given[output].bounds[i])
          << "output " << output << ", value " << i;
  }
  EXPECT_EQ(rewrite(model), 0U) << "a second time";
  return model;
}

inline std::vector<std::string> operations(const Model& model) {
  std::vector<std::string> names;
  for (const Node& node : model.nodes) names.emplace_back(operation_name(node.operation));
  return names;
}

using Names = std::vector<std::string>;

}  // namespace spdnn::testing
