// The kernel depthwise: convolutions whose filters read one channel each.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/depthwise/convolve.hpp"
#include "engines/cpu/depthwise/dispatch.hpp"
#include "engines/cpu/lanes/runnable.hpp"
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

double seconds_of(const Tiling& tiling, int threads) {
  return program::kActionSeconds +
         tiling.cycles(threads) * lanes::multiply_adds_per_cycle(tiling.lanes) / program::kMultiplyAddsPerSecond;
}

Offer offer_of(const Request& request, const Convolution& convolution, const ConvolutionShape& shape,
               const Kernels& kernels) {
  const auto tiling = std::make_shared<const Tiling>(shape, kernels, request.threads);
  Offer offer = offer_on_tiles<Filters>(request, convolution, tiling, kernels,
                                        fmt::format("depthwise, {} lanes", tiling->lanes), Filters::bytes(*tiling));
  offer.detail = tiling->in_place ? fmt::format("{}, in place", kernels.instruction_set)
                                  : fmt::format("{}, tiles of {} rows", kernels.instruction_set, tiling->rows);
  offer.seconds += seconds_of(*tiling, request.threads);
  return offer;
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  if (request.type != program::ElementType::fp32) return {};
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  if (shape.channels() != 1) return {};
  std::vector<Offer> offers;
  for (const Kernels* const kernels : lanes::offered(available_kernels()))
    offers.push_back(offer_of(request, convolution, shape, *kernels));
  return offers;
}

}  // namespace

}  // namespace depthwise

program::FamilyKernels kernels_depthwise(Precision /*precision*/) {
  static const program::OperationKernel kernel("depthwise", depthwise::offers_for);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
