// The kernel sparse_conv: convolutions that skip the zeros of their filters.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_conv/dispatch.hpp"
#include "program/epilogue.hpp"
#include "program/family.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(sparse_conv)

namespace sparse_conv {

namespace {

using program::Offer;
using program::Request;

/// A step on tiles, ready to run.
struct Work {
  Tiling tiling;
  const Kernels& kernels;
  int threads;
  program::Epilogue epilogue;

  void run(const program::Operands& at) const {
    convolve(tiling, kernels, Filters(tiling, at.constants[0]), threads, at.floats(0),
             reinterpret_cast<float*>(at.scratch), at.results(), epilogue.ending(at));
  }
};

/// Convolutions with a larger share of weights that are not zero are faster with their zeros, whatever their shape.
constexpr double kDensest = 0.7;
/// What the predicted cycles leave out: measured over predicted, of layers of ResNet-50 on one core of a Zen 3.
constexpr double kLeftOut = 1.1;

/// Predicted seconds: a cycle has two multiply-adds of a register.
double seconds_of(const Tiling& tiling) {
  const double per_cycle = 2.0 * static_cast<double>(tiling.lanes);
  return program::kActionSeconds + kLeftOut * tiling.cycles * per_cycle / program::kMultiplyAddsPerSecond;
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

class SparseConvKernel final : public program::Kernel {
 public:
  std::string_view name() const override { return "sparse_conv"; }

  std::vector<Offer> offers(const Request& request) const override {
    const auto* const convolution = std::get_if<Convolution>(&request.node().operation);
    if (convolution == nullptr || request.type != program::ElementType::fp32) return {};
    const CsrMatrix& weights = convolution->weights;
    if (share_of_entries(weights) > kDensest) return {};
    const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                                 convolution->groups, convolution->window};
    const Kernels& kernels = *available_kernels().front();
    const auto work = std::make_shared<const Work>(Work{best_tiling(shape, weights.entries(), request.threads, kernels),
                                                        kernels, request.threads, program::Epilogue(request)});
    const Tiling& tiling = work->tiling;

    std::vector<Offer> all(1);
    Offer& offer = all.front();
    offer.detail = fmt::format("{}, tiles of {} x {} pixels{}, {} channels at a time", kernels.instruction_set,
                               tiling.rows, tiling.columns, tiling.in_place ? " in place" : "", tiling.channels);
    offer.fused = true;
    offer.inputs.assign(request.inputs.size(), program::kRows);
    offer.skips_zeros = true;
    offer.scratch = scratch_size(tiling, request.threads) * sizeof(float);
    offer.constants.push_back(
        {0, form_of(tiling), Filters::bytes(tiling, weights.entries()),
         [tiling, convolution](std::byte* to) { Filters::pack(tiling, convolution->weights, convolution->bias, to); }});
    offer.seconds = seconds_of(tiling);
    offer.bind = [work] { return program::bound([work](const program::Operands& at) { work->run(at); }); };
    return all;
  }
};

}  // namespace

}  // namespace sparse_conv

program::FamilyKernels kernels_sparse_conv(Precision /*precision*/) {
  static const sparse_conv::SparseConvKernel kernel;
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
