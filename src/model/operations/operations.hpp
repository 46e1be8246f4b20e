#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/operations/bounded.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Upper bounds of absolute values; infinity if there is none.
struct Magnitude {
  double inside = 0;  ///< of all that is computed on the way, parts of sums included
  double result = 0;
};

/// The largest intermediate result, computed with `inside` and no larger.
inline Magnitude all_at_most(double largest) { return {largest, largest}; }

/// The arguments from which the magnitude of a node follows.
struct Operands {
  std::span<const double> largest;   ///< the largest absolute value of each input
  std::span<const double> row_sums;  ///< of the absolute values of each row's weights, if it has weights
  std::vector<const Value*> values;  ///< the inputs themselves
};

// The rules of each operation, defined in its family's file in this folder:
// - name: as messages show it.
// - check: throws std::invalid_argument if the operation's arrays and numbers are inconsistent.
// - shape: the output's shape; UsageError if the operation does not support these inputs.
// - evaluate: fills the output, whose shape is set, with fp64 values and bounds (model/oracle/evaluate.hpp).
// - magnitude: how large its numbers can become (model/graph/magnitudes.hpp).
namespace rules {

#define SPDNN_OPERATION(Type, ...)                                                                  \
  std::string_view name(const Type& operation);                                                     \
  void check(const Type& operation);                                                                \
  Shape shape(const Type& operation, const std::vector<Shape>& inputs);                             \
  void evaluate(const Type& operation, const std::vector<const Bounded*>& inputs, Bounded& output); \
  Magnitude magnitude(const Type& operation, const Operands& operands);
#include "spdnn/operations.def"
#undef SPDNN_OPERATION

}  // namespace rules

/// The result of an operation on its inputs, whose shapes are without kBatchExtent.
Bounded evaluate(const Operation& operation, const std::vector<const Bounded*>& inputs);

}  // namespace spdnn
