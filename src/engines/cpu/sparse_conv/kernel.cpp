// The kernel sparse_conv: convolutions that skip the zeros of their filters.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/lanes/runnable.hpp"
#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_conv/dispatch.hpp"
#include "engines/cpu/tiled_convolution.hpp"
#include "program/family.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(sparse_conv)

namespace sparse_conv {

namespace {

using program::Offer;
using program::Request;

std::string form_of(const Tiling& tiling) {
  return fmt::format("sparse_conv, {} channels, {} parts, pitch {} of {} rows, {} planes, {} lanes{}", tiling.channels,
                     tiling.parts, tiling.pitch, tiling.plane_rows(), tiling.planes(), tiling.lanes,
                     tiling.in_place ? ", in place" : "");
}

Offer offer_of(const Request& request, const Convolution& convolution, const ConvolutionShape& shape,
               const Kernels& kernels) {
  const Offset entries = convolution.weights->entries();
  const auto tiling = std::make_shared<const Tiling>(best_tiling(shape, entries, request.threads, kernels));
  Offer offer = offer_on_tiles<Filters>(request, convolution, tiling, kernels, form_of(*tiling),
                                        Filters::bytes(*tiling, entries));
  offer.detail = fmt::format("{}, tiles of {} x {} pixels{}, {} channels at a time", kernels.instruction_set,
                             tiling->rows, tiling->columns, tiling->in_place ? " in place" : "", tiling->channels);
  offer.skips_zeros = true;
  offer.seconds += predicted_seconds(*tiling);
  return offer;
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  if (request.type != program::ElementType::fp32) return {};
  if (!is_sparse(convolution.weights)) return {};
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  std::vector<Offer> offers;
  for (const Kernels* const kernels : lanes::offered(available_kernels()))
    offers.push_back(offer_of(request, convolution, shape, *kernels));
  return offers;
}

}  // namespace

}  // namespace sparse_conv

program::FamilyKernels kernels_sparse_conv(Precision /*precision*/) {
  static const program::OperationKernel kernel("sparse_conv", sparse_conv::offers_for);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
