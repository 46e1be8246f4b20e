#pragma once

#include <optional>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// A node and the nodes whose work is done with its own, before its result is stored.
struct Step {
  Index node = 0;  ///< whose inputs are read
  /// Activations, lines, and one addition at most, in their order; after a quotient the rest of a value that is rounded
  /// to 8 bits (QuantisedValue). Often none.
  std::vector<Index> fused;
  Index last() const { return fused.empty() ? node : fused.back(); }
};

/// The model's nodes as steps, by last(): so each step comes after those whose outputs it reads. With epilogues, fuses
/// chains that begin with a convolution or a linear node, and those that round a value to 8 bits, if nothing else reads
/// the values in between: exactly the same function. Without, each node is a step.
std::vector<Step> steps_of(const Model& model, bool epilogues);

/// y = slope x + offset.
struct Line {
  float slope;
  float offset;
};
/// The function of a node that multiplies by one constant number, or adds or subtracts one; empty for other nodes.
std::optional<Line> line_of(const Model& model, const Node& node);

/// Whether a fused node adds a value to the preceding result.
bool adds_value(const Model& model, const Node& node);

/// Whether the output's elements are the input's in the same order.
bool is_view(const Operation& operation);

/// The addition's input that is not `value`.
ValueId other_input(const Node& addition, ValueId value);

}  // namespace spdnn
