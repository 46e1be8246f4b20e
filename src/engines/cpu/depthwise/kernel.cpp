// The kernel depthwise: convolutions whose filters read one channel each.

#include <fmt/format.h>

#include <memory>

#include "engines/cpu/depthwise/convolve.hpp"
#include "engines/cpu/depthwise/dispatch.hpp"
#include "program/epilogue.hpp"
#include "program/family.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(depthwise)

namespace depthwise {

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

/// Predicted seconds: a cycle has two multiply-adds of a register.
double seconds_of(const Tiling& tiling, int threads) {
  const double per_cycle = 2.0 * static_cast<double>(tiling.lanes);
  return program::kActionSeconds + tiling.cycles(threads) * per_cycle / program::kMultiplyAddsPerSecond;
}

class DepthwiseKernel final : public program::Kernel {
 public:
  std::string_view name() const override { return "depthwise"; }

  std::vector<Offer> offers(const Request& request) const override {
    const auto* const convolution = std::get_if<Convolution>(&request.node().operation);
    if (convolution == nullptr || request.type != program::ElementType::fp32) return {};
    const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                                 convolution->groups, convolution->window};
    if (shape.channels() != 1) return {};
    const Kernels& kernels = *available_kernels().front();
    const auto work = std::make_shared<const Work>(
        Work{Tiling(shape, kernels, request.threads), kernels, request.threads, program::Epilogue(request)});
    const Tiling& tiling = work->tiling;

    std::vector<Offer> all(1);
    Offer& offer = all.front();
    offer.detail = fmt::format("{}, tiles of {} rows", kernels.instruction_set, tiling.rows);
    offer.fused = true;
    offer.inputs.assign(request.inputs.size(), program::kRows);
    offer.scratch = scratch_size(tiling, request.threads) * sizeof(float);
    offer.constants.push_back(
        {0, fmt::format("depthwise, {} lanes", tiling.lanes), Filters::bytes(tiling),
         [tiling, convolution](std::byte* to) { Filters::pack(tiling, convolution->weights, convolution->bias, to); }});
    offer.seconds = seconds_of(tiling, request.threads);
    offer.bind = [work] { return program::bound([work](const program::Operands& at) { work->run(at); }); };
    return all;
  }
};

}  // namespace

}  // namespace depthwise

program::FamilyKernels kernels_depthwise(Precision /*precision*/) {
  static const depthwise::DepthwiseKernel kernel;
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
