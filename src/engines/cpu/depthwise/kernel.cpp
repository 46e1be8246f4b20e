// The kernel depthwise: convolutions whose filters read one channel each.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/depthwise/convolve.hpp"
#include "engines/cpu/depthwise/dispatch.hpp"
#include "engines/cpu/tiled_convolution.hpp"
#include "program/family.hpp"
#include "program/operation_kernel.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(depthwise)

namespace depthwise {

namespace {

using program::Offer;
using program::Request;

/// Predicted seconds: a cycle has two multiply-adds of a register.
double seconds_of(const Tiling& tiling, int threads) {
  const double per_cycle = 2.0 * static_cast<double>(tiling.lanes);
  return program::kActionSeconds + tiling.cycles(threads) * per_cycle / program::kMultiplyAddsPerSecond;
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  if (request.type != program::ElementType::fp32) return {};
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  if (shape.channels() != 1) return {};
  const Kernels& kernels = *available_kernels().front();
  const auto tiling = std::make_shared<const Tiling>(shape, kernels, request.threads);
  Offer offer = offer_on_tiles<Filters>(request, convolution, tiling, kernels,
                                        fmt::format("depthwise, {} lanes", tiling->lanes), Filters::bytes(*tiling));
  offer.detail = tiling->in_place ? fmt::format("{}, in place", kernels.instruction_set)
                                  : fmt::format("{}, tiles of {} rows", kernels.instruction_set, tiling->rows);
  offer.seconds += seconds_of(*tiling, request.threads);
  return program::only(std::move(offer));
}

}  // namespace

}  // namespace depthwise

program::FamilyKernels kernels_depthwise(Precision /*precision*/) {
  static const program::OperationKernel kernel("depthwise", depthwise::offers_for);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
