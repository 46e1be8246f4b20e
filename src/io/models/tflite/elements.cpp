// Elementwise operators, and operators on constants.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/models/tflite/operators.hpp"

namespace spdnn::tflite_reader {

namespace {

template <class Options>
void read_elementwise(OperatorReader& op, Elementwise::Kind kind) {
  const auto* options = op.options<Options>();
  const std::size_t rank = std::max(op.rank(0), op.rank(1));
  const ValueId a = op.value(0, rank);
  const ValueId b = op.value(1, rank);
  op.set_output(op.add(Elementwise{kind}, {a, b}),
                options == nullptr ? tflite::FusedActivation::NONE : options->fused_activation_function());
}

void read_activation(OperatorReader& op, const Activation& activation) {
  op.set_output(op.add(activation, {op.value(0)}));
}

void read_activation(OperatorReader& op, Activation::Kind kind) { read_activation(op, Activation{.kind = kind}); }

ValueId number(OperatorReader& op, float value) {
  return op.graph().add_value("", {{}, Array<float>(std::vector<float>{value}), std::nullopt});
}

}  // namespace

void read_add(OperatorReader& op) { read_elementwise<tflite::AddOptions>(op, Elementwise::Kind::add); }
void read_sub(OperatorReader& op) { read_elementwise<tflite::SubOptions>(op, Elementwise::Kind::subtract); }
void read_div(OperatorReader& op) { read_elementwise<tflite::DivOptions>(op, Elementwise::Kind::divide); }
/// They have no options that are looked at.
void read_maximum(OperatorReader& op) { read_elementwise<tflite::AddOptions>(op, Elementwise::Kind::maximum); }
void read_minimum(OperatorReader& op) { read_elementwise<tflite::AddOptions>(op, Elementwise::Kind::minimum); }
void read_pow(OperatorReader& op) { read_elementwise<tflite::AddOptions>(op, Elementwise::Kind::power); }
void read_mul(OperatorReader& op) { read_elementwise<tflite::MulOptions>(op, Elementwise::Kind::multiply); }

void read_relu(OperatorReader& op) { read_activation(op, Activation::Kind::relu); }
void read_relu6(OperatorReader& op) { read_activation(op, clip(0, 6)); }
void read_relu_n1_to_1(OperatorReader& op) { read_activation(op, clip(-1, 1)); }
void read_logistic(OperatorReader& op) { read_activation(op, Activation::Kind::sigmoid); }
void read_hard_swish(OperatorReader& op) { read_activation(op, Activation::Kind::hard_swish); }

void read_tanh(OperatorReader& op) { read_activation(op, Activation::Kind::tanh); }
void read_exp(OperatorReader& op) { read_activation(op, Activation::Kind::exp); }
void read_log(OperatorReader& op) { read_activation(op, Activation::Kind::log); }
void read_sqrt(OperatorReader& op) { read_activation(op, Activation::Kind::sqrt); }
void read_abs(OperatorReader& op) { read_activation(op, Activation::Kind::abs); }
void read_elu(OperatorReader& op) { read_activation(op, {.kind = Activation::Kind::elu, .alpha = 1}); }
void read_leaky_relu(OperatorReader& op) {
  const float alpha = op.needed<tflite::LeakyReluOptions>().alpha();
  if (!std::isfinite(alpha)) op.fail(fmt::format("alpha {} is not finite", alpha));
  read_activation(op, {.kind = Activation::Kind::leaky_relu, .alpha = alpha});
}

void read_neg(OperatorReader& op) {
  op.set_output(op.add(Elementwise{Elementwise::Kind::multiply}, {op.value(0), number(op, -1)}));
}
void read_rsqrt(OperatorReader& op) {
  const ValueId root = op.add(Activation{.kind = Activation::Kind::sqrt}, {op.value(0)});
  op.set_output(op.add(Elementwise{Elementwise::Kind::divide}, {number(op, 1), root}));
}
void read_square(OperatorReader& op) {
  const ValueId x = op.value(0);
  op.set_output(op.add(Elementwise{Elementwise::Kind::multiply}, {x, x}));
}

void read_prelu(OperatorReader& op) {
  const Constant slopes = densified(op.constant(1), op.graph().budget());
  const std::size_t rank = op.rank(0);
  const bool per_channel = slopes.size() > 1;
  if (per_channel && (static_cast<Offset>(slopes.shape.back()) != slopes.size() || (rank != 2 && rank != 4)))
    op.fail_input(1, fmt::format("slopes of shape {} are not supported, only one number or one per channel of images",
                                 shape_text(slopes.shape)));
  read_activation(op, {.kind = Activation::Kind::prelu, .alphas = {slopes.values.begin(), slopes.values.end()}});
}

void read_softmax(OperatorReader& op) {
  const auto& options = op.needed<tflite::SoftmaxOptions>();
  if (options.beta() != 1) op.fail(fmt::format("beta {} is not supported, only 1", options.beta()));
  const ValueId x = op.value(0);
  const std::size_t rank = op.shape(x).size();
  if (rank == 0) op.fail_input(0, "it is a scalar");
  op.set_output(op.add(Softmax{axis_of_value(rank - 1, rank)}, {x}));
}

void read_dequantize(OperatorReader& op) {
  if (op.has_input(0)) require_floats(op.graph().tensor(op.input(0)), op.where());
  op.set_output(op.constant(0));
}

void read_densify(OperatorReader& op) { op.set_output(op.constant(0)); }

}  // namespace spdnn::tflite_reader
