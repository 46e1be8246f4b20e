// The kernel sparse_conv: convolutions that skip the zeros of their filters.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_conv/dispatch.hpp"
#include "engines/cpu/tiled_convolution.hpp"
#include "program/family.hpp"
#include "program/operation_kernel.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(sparse_conv)

namespace sparse_conv {

namespace {

using program::Offer;
using program::Request;

/// Convolutions with a larger share of weights that are not zero are faster with their zeros, whatever their shape.
constexpr double kDensest = 0.7;
/// Measured over predicted time, in units in which oneDNN's dense kernels take the predicted one: of layers with 30 to
/// 60 % zeros, where it decides between them, on one core of a Zen 3. Cycles of AVX-512 are fitted to whole layers.
constexpr double kLeftOut = 1.27;

/// Predicted seconds: a cycle has two multiply-adds of a register.
double seconds_of(const Tiling& tiling) {
  const double per_cycle = 2.0 * static_cast<double>(tiling.lanes);
  const double left_out = tiling.lanes == 16 ? 1 : kLeftOut;
  return program::kActionSeconds + left_out * tiling.cycles * per_cycle / program::kMultiplyAddsPerSecond;
}

double share_of_entries(const CsrMatrix& weights) {
  const double all = static_cast<double>(weights.rows) * weights.cols;
  return all == 0 ? 0 : static_cast<double>(weights.entries()) / all;
}

std::string form_of(const Tiling& tiling) {
  return fmt::format("sparse_conv, {} channels, {} parts, pitch {} of {} rows, {} planes, {} lanes{}", tiling.channels,
                     tiling.parts, tiling.pitch, tiling.plane_rows(), tiling.planes(), tiling.lanes,
                     tiling.in_place ? ", in place" : "");
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  if (request.type != program::ElementType::fp32) return {};
  const CsrMatrix& weights = convolution.weights;
  if (share_of_entries(weights) > kDensest) return {};
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  const Kernels& kernels = *available_kernels().front();
  const auto tiling = std::make_shared<const Tiling>(best_tiling(shape, weights.entries(), request.threads, kernels));
  Offer offer = offer_on_tiles<Filters>(request, convolution, tiling, kernels, form_of(*tiling),
                                        Filters::bytes(*tiling, weights.entries()));
  offer.detail = fmt::format("{}, tiles of {} x {} pixels{}, {} channels at a time", kernels.instruction_set,
                             tiling->rows, tiling->columns, tiling->in_place ? " in place" : "", tiling->channels);
  offer.skips_zeros = true;
  offer.seconds = seconds_of(*tiling);
  return program::only(std::move(offer));
}

}  // namespace

}  // namespace sparse_conv

program::FamilyKernels kernels_sparse_conv(Precision /*precision*/) {
  static const program::OperationKernel kernel("sparse_conv", sparse_conv::offers_for);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
