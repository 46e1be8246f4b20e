// The rules of an operation that the program does not have: the content of a file in src/model/operations.

#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

std::string_view name(const Scale& /*operation*/) { return "scale"; }

void check(const Scale& scale) { require_finite({scale.factor}, "its factor"); }

Shape shape(const Scale& /*operation*/, const std::vector<Shape>& inputs) { return only(inputs); }

/// The bound is that of a sum of one term, rounded once.
void evaluate(const Scale& scale, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  for_elements(y, [&](std::size_t i) {
    Sum sum;
    sum.add(scale.factor, x.values[i], x.bounds[i]);
    set(y, i, {sum.value, sum.bound(1)});
  });
}

Magnitude magnitude(const Scale& scale, const Operands& operands) {
  return all_at_most(std::abs(double{scale.factor}) * operands.largest[0]);
}

}  // namespace spdnn::rules
