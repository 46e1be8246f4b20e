// The kernel sparse_linear: linear nodes that skip zeros, if that is faster.

#include <algorithm>

#include "engines/cpu/sparse_linear/multiply.hpp"
#include "program/epilogue.hpp"
#include "program/family.hpp"
#include "program/operation_kernel.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(sparse_linear)

namespace {

using program::Offer;
using program::Request;

/// Functions with the same bits as oneDNN's; each of the others is a separate step.
bool same_alone(const Request& request, Index number) {
  const auto* const activation = std::get_if<Activation>(&request.model.nodes[number].operation);
  return activation == nullptr || activation->kind != Activation::Kind::hard_swish;
}

std::vector<Offer> offers_for(const Request& request, const Linear& linear) {
  if (request.type != program::ElementType::fp32) return {};
  const Shape& shape = request.inputs[0].shape;
  const CsrMatrix& weights = linear.weights;
  const Extent rows = elements(shape).value() / std::max<Extent>(shape.back(), 1);
  const Extent rows_chosen_for = rows / request.images * request.kernels_for;
  const std::string text = sparse_linear_text(weights, rows_chosen_for);
  std::vector<Offer> all(1);
  Offer& offer = all.front();
  offer.remark = text;
  if (!sparse_linear_pays(weights, rows_chosen_for)) {
    offer.why_not = text;
    return all;
  }
  offer.fused = std::all_of(request.step.fused.begin(), request.step.fused.end(),
                            [&](Index number) { return same_alone(request, number); });
  offer.inputs.assign(offer.fused ? request.inputs.size() : 1, program::kRows);
  offer.skips_zeros = true;
  offer.scratch = std::max<std::size_t>(sparse_linear_scratch(weights, rows) * sizeof(float), 1);
  // The rule says where both are equally fast.
  const double dense = static_cast<double>(rows) * weights.rows * weights.cols;
  const double part = weights_density(weights) / sparse_linear_densest(weights, rows_chosen_for);
  offer.seconds = program::arithmetic_seconds(dense * part, program::kDenseEfficiency, request.threads);
  const program::Epilogue epilogue = offer.fused ? program::Epilogue(request) : program::Epilogue();
  offer.bind = [&linear, rows, epilogue] {
    return program::bound([=, &linear](const program::Operands& at) {
      Finish finish;
      if (!epilogue.empty())
        finish = [&](float* results, Extent count) {
          epilogue.apply(results, static_cast<std::size_t>(count), static_cast<std::size_t>(results - at.results()),
                         at);
        };
      multiply_sparse(linear, rows, at.floats(0), reinterpret_cast<float*>(at.scratch), at.results(), finish);
    });
  };
  return all;
}

}  // namespace

program::FamilyKernels kernels_sparse_linear(Precision /*precision*/) {
  static const program::OperationKernel kernel("sparse_linear", offers_for);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
