#pragma once

#include <optional>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Who makes and who reads each value of a model. Nodes are numbers in Model::nodes.
struct ValueUses {
  std::vector<std::optional<std::size_t>> maker;  ///< none for inputs and constants
  std::vector<std::vector<std::size_t>> readers;  ///< a node that reads a value twice is listed twice
  std::vector<bool> is_output;                    ///< of the model

  /// The one node that reads a value; none where others do, or the model's caller.
  std::optional<std::size_t> only_reader(ValueId value) const {
    if (is_output[value] || readers[value].size() != 1) return std::nullopt;
    return readers[value][0];
  }
};

ValueUses uses_of(const Model& model);

}  // namespace spdnn
