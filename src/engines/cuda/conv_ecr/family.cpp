// The families conv_ecr and conv_pecr: convolutions that skip the zeros of their input, to compare others with.

#include "program/family.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_ecr/ecr.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_ecr)
SPDNN_DECLARE_KERNELS(conv_pecr)

namespace cuda {

namespace {

using program::Offer;
using program::Operands;
using program::Request;

constexpr program::Layout kDeviceNhwc{program::Order::nhwc, program::ElementType::fp32, program::Place::device};

/// Whether a ReLU and the maxima of 2 x 2 results, side by side, follow the convolution.
bool is_pooled(const Request& request) {
  const std::vector<Index>& fused = request.step.fused;
  if (fused.size() != 2) return false;
  const auto* const activation = std::get_if<spdnn::Activation>(&request.model.nodes[fused[0]].operation);
  const auto* const pool = std::get_if<Pool>(&request.model.nodes[fused[1]].operation);
  constexpr std::array<Index, 2> kTwo{2, 2};
  constexpr std::array<Index, 2> kNone{0, 0};
  return activation != nullptr && activation->kind == spdnn::Activation::Kind::relu && pool != nullptr &&
         pool->kind == Pool::Kind::max && !pool->round_up && pool->window.kernel == kTwo &&
         pool->window.stride == kTwo && pool->window.pad_begin == kNone && pool->window.pad_end == kNone;
}

std::vector<Offer> offers_of(const Request& request, const Convolution& convolution, bool pooled) {
  if (!has_images(request, 0)) return {};
  if (convolution.groups != 1) return program::only({.why_not = "conv_ecr has no groups"});
  const Shape output = with_batch(request.model.values[request.node().output].shape, request.images);
  const CsrMatrix& weights = convolution.weights.csr();
  const DirectShape shape =
      direct_shape({image_extents(request.inputs[0].shape), image_extents(output), 1, convolution.window});
  const std::optional<EcrTiling> tiling = ecr_tiling(shape, pooled);
  if (!tiling) return program::only({.why_not = "conv_ecr has no tile for this window"});
  const auto images = narrow<Index>(request.images);
  if (ecr_warps(shape, *tiling, images) > 0x7fffffff) return program::only({.why_not = "conv_ecr: too many images"});
  Offer offer;
  offer.detail =
      fmt::format("tiles of {} x {} pixels, {} filters per lane", tiling->rows, tiling->columns, tiling->filters);
  if (pooled) offer.detail += ", with ReLU and maxima of 2 x 2, of which the others do none";
  offer.inputs = {kDeviceNhwc};
  offer.output = kDeviceNhwc;
  offer.fused = pooled || request.step.fused.empty();
  const double bytes = static_cast<double>(bytes_of(kDeviceNhwc, request.inputs[0].shape) +
                                           bytes_of(kDeviceNhwc, request.output_shape()));
  offer.seconds = seconds_on_device(bytes, static_cast<double>(*elements(output)) * weights.cols);
  offer.constants.push_back({.part = 0,
                             .form = fmt::format("conv_ecr, {}", offer.detail),
                             .bytes = EcrWeights::bytes(shape, *tiling),
                             .fill =
                                 [=, &weights, &bias = convolution.bias](std::byte* to) {
                                   EcrWeights::pack(shape, *tiling, weights, bias.empty() ? nullptr : bias.data(), to);
                                 },
                             .on_device = true});
  offer.bind = [=, tiling = *tiling] {
    return program::bound([=](const Operands& at) {
      convolve_nonzeros(shape, tiling, images, at.constants[0], at.floats(0), at.results(), cudaStreamPerThread);
    });
  };
  return program::only(std::move(offer));
}

std::vector<Offer> ecr_offers(const Request& request, const Convolution& convolution) {
  return offers_of(request, convolution, false);
}

std::vector<Offer> pecr_offers(const Request& request, const Convolution& convolution) {
  if (!is_pooled(request)) return {};
  return offers_of(request, convolution, true);
}

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_ecr(Precision precision) {
  static const program::OperationKernel kernel("conv_ecr", cuda::ecr_offers);
  if (precision != Precision::fp32)
    return {.why_not = fmt::format("conv_ecr does not compute in {}", to_string(precision))};
  return {.kernels = {&kernel}};
}

program::FamilyKernels kernels_conv_pecr(Precision precision) {
  static const program::OperationKernel kernel("conv_pecr", cuda::pecr_offers);
  if (precision != Precision::fp32)
    return {.why_not = fmt::format("conv_pecr does not compute in {}", to_string(precision))};
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
