// Functions of one element that become several operations, functions of two or more values, and choices by constants.

#include <fmt/format.h>

#include <algorithm>

#include "io/models/onnx/read/combined.hpp"
#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"

namespace spdnn::onnx_reader {

namespace {

using Of = Activation::Kind;
using Both = Elementwise::Kind;

/// Elements above the number are 1, others 0.
ValueId above(NodeReader& node, ValueId x, float limit) {
  const ValueId sign = applied(node, Of::sign, combined_with(node, Both::subtract, x, limit));
  return applied(node, Of::relu, sign);
}

/// All inputs, in order, by a function of two.
ValueId folded_inputs(NodeReader& node, Both kind) {
  ValueId result = node.value(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) result = combined(node, kind, result, node.value(i));
  return result;
}

/// Choices among integers are integers.
ValueId chosen(NodeReader& node, Both kind) {
  if (!node.is_whole(0)) return folded_inputs(node, kind);
  ValueId result = node.any_value(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    if (!node.is_constant(i) && !node.is_whole(i)) node.fail_input(i, "it has no integers, as the first has");
    result = combined(node, kind, result, node.is_constant(i) ? as_floats(node, i) : node.any_value(i));
  }
  return result;
}

bool all_constant(NodeReader& node) {
  for (std::size_t i = 0; i < node.inputs(); ++i)
    if (node.constant_or_null(i) == nullptr) return false;
  return true;
}

void read_extreme(NodeReader& node, Both kind) {
  if (!all_constant(node)) return node.set_moved(chosen(node, kind));
  Constant result = node.constant(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) result = combined_constants(node, kind, result, node.constant(i));
  node.set_output(std::move(result));
}

/// 1 where the relation holds between constants, and 0 elsewhere.
void read_relation(NodeReader& node, Relation relation) {
  const Constant& a = node.constant(0);
  const Constant& b = node.constant(1);
  auto truths = related(relation, a, b, shape_of_both(node, a, b));
  if (!truths) node.fail("its result depends on the number of images; give the batch a fixed size");
  node.set_output(*std::move(truths));
}

/// A condition as numbers: 1 where it holds, or where it does not.
ValueId mask(NodeReader& node, bool wanted) {
  const std::span<const std::int64_t> truths = node.ints(0);
  node.graph().budget().take(truths.size() * sizeof(float));
  std::vector<float> numbers(truths.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = (truths[i] != 0) == wanted ? 1 : 0;
  return node.add_constant({node.constant(0).shape, Array<float>(std::move(numbers))});
}

}  // namespace

ValueId applied(NodeReader& node, Of kind, ValueId x, float alpha) {
  return node.add(Activation{.kind = kind, .alpha = alpha}, {x});
}
ValueId number(NodeReader& node, float value) {
  return node.add_constant({{}, Array<float>(std::vector<float>{value})});
}
ValueId combined(NodeReader& node, Both kind, ValueId a, ValueId b) { return node.add(Elementwise{kind}, {a, b}); }
ValueId combined_with(NodeReader& node, Both kind, ValueId a, float b) {
  return combined(node, kind, a, number(node, b));
}

void read_neg(NodeReader& node) {
  if (const Constant* constant = node.constant_or_null(0); constant != nullptr && constant->integers())
    return node.set_output(
        combined_constants(node, Both::multiply, *constant, {{}, Array<std::int64_t>(std::vector<std::int64_t>{-1})}));
  node.set_output(combined_with(node, Both::multiply, node.value(0), -1));
}

void read_reciprocal(NodeReader& node) {
  node.set_output(combined(node, Both::divide, number(node, 1), node.value(0)));
}

void read_elu(NodeReader& node) { node.set_output(applied(node, Of::elu, node.value(0), node.real("alpha", 1))); }

void read_selu(NodeReader& node) {
  const ValueId elu = applied(node, Of::elu, node.value(0), node.real("alpha", 1.67326319217681884765625F));
  node.set_output(combined_with(node, Both::multiply, elu, node.real("gamma", 1.05070102214813232421875F)));
}

void read_celu(NodeReader& node) {
  const float alpha = node.real("alpha", 1);
  if (alpha == 0) node.fail_attribute("alpha", "0 divides by 0");
  const ValueId elu = applied(node, Of::elu, combined_with(node, Both::divide, node.value(0), alpha), 1);
  node.set_output(combined_with(node, Both::multiply, elu, alpha));
}

void read_thresholded_relu(NodeReader& node) {
  const ValueId x = node.value(0);
  node.set_output(combined(node, Both::multiply, x, above(node, x, node.real("alpha", 1))));
}

void read_shrink(NodeReader& node) {
  const ValueId x = node.value(0);
  const float limit = node.real("lambd", 0.5F);
  const float bias = node.real("bias", 0);
  const ValueId high = above(node, x, limit);
  const ValueId low = above(node, combined_with(node, Both::multiply, x, -1), limit);
  const ValueId kept = combined(node, Both::multiply, x, combined(node, Both::add, high, low));
  const ValueId moved = combined_with(node, Both::multiply, combined(node, Both::subtract, high, low), bias);
  node.set_output(combined(node, Both::subtract, kept, moved));
}

void read_softsign(NodeReader& node) {
  const ValueId x = node.value(0);
  const ValueId divisor = combined_with(node, Both::add, applied(node, Of::abs, x), 1);
  node.set_output(combined(node, Both::divide, x, divisor));
}

void read_mish(NodeReader& node) {
  const ValueId x = node.value(0);
  node.set_output(combined(node, Both::multiply, x, applied(node, Of::tanh, applied(node, Of::softplus, x))));
}

void read_gelu(NodeReader& node) {
  const std::string approximation = node.text("approximate", "none");
  if (approximation != "none" && approximation != "tanh")
    node.fail_attribute("approximate", fmt::format("'{}' is neither none nor tanh", approximation));
  const ValueId x = node.value(0);
  ValueId inside;
  if (approximation == "none") {
    inside = applied(node, Of::erf, combined_with(node, Both::multiply, x, 0.70710678118654752F));
  } else {
    const ValueId cube = combined(node, Both::multiply, combined(node, Both::multiply, x, x), x);
    const ValueId sum = combined(node, Both::add, x, combined_with(node, Both::multiply, cube, 0.044715F));
    inside = applied(node, Of::tanh, combined_with(node, Both::multiply, sum, 0.79788456080286536F));
  }
  const ValueId half = combined_with(node, Both::multiply, x, 0.5F);
  node.set_output(combined(node, Both::multiply, half, combined_with(node, Both::add, inside, 1)));
}

void read_pow(NodeReader& node) {
  if (all_constant(node) && node.constant(0).integers() && node.constant(1).integers())
    return node.set_output(combined_constants(node, Both::power, node.constant(0), node.constant(1)));
  // Since set 12 the exponent may be an integer.
  const ValueId exponent = node.is_constant(1) ? as_floats(node, 1) : node.value(1);
  node.set_output(combined(node, Both::power, node.value(0), exponent));
}

void read_max(NodeReader& node) { read_extreme(node, Both::maximum); }
void read_min(NodeReader& node) { read_extreme(node, Both::minimum); }
void read_sum(NodeReader& node) { node.set_output(folded_inputs(node, Both::add)); }
void read_mean(NodeReader& node) {
  node.set_output(combined_with(node, Both::divide, folded_inputs(node, Both::add), static_cast<float>(node.inputs())));
}

void read_equal(NodeReader& node) { read_relation(node, Relation::equal); }
void read_greater(NodeReader& node) { read_relation(node, Relation::greater); }
void read_less(NodeReader& node) { read_relation(node, Relation::less); }

void read_where(NodeReader& node) {
  if (all_constant(node) && node.constant(1).integers()) {
    // c a + (1 - c) b, of integers
    const auto& given = node.constant(0);
    std::vector<std::int64_t> truths(node.ints(0).begin(), node.ints(0).end());
    for (std::int64_t& truth : truths) truth = truth != 0 ? 1 : 0;
    std::vector<std::int64_t> others(truths);
    for (std::int64_t& other : others) other = 1 - other;
    const Constant yes{given.shape, Array<std::int64_t>(std::move(truths))};
    const Constant no{given.shape, Array<std::int64_t>(std::move(others))};
    const Constant a = combined_constants(node, Both::multiply, yes, node.constant(1));
    const Constant b = combined_constants(node, Both::multiply, no, node.constant(2));
    return node.set_output(combined_constants(node, Both::add, a, b));
  }
  const ValueId a = combined(node, Both::multiply, node.value(1), mask(node, true));
  const ValueId b = combined(node, Both::multiply, node.value(2), mask(node, false));
  node.set_output(combined(node, Both::add, a, b));
}

}  // namespace spdnn::onnx_reader
