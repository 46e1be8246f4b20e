// The kernel depthwise: convolutions whose filters read one channel each.

#include <fmt/format.h>

#include <cstring>
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

using program::Constant;
using program::Offer;
using program::Request;

/// A step on tiles, ready to run.
struct Work {
  Tiling tiling;
  const Kernels& kernels;
  int threads;
  bool has_bias;
  program::Epilogue epilogue;

  void run(const program::Operands& at) const {
    convolve(tiling, kernels, {at.constant(0), has_bias ? at.constant(1) : nullptr}, threads, at.floats(0),
             reinterpret_cast<float*>(at.scratch), at.results(), epilogue.ending(at));
  }
};

/// Predicted seconds: a cycle has two multiply-adds of a register.
double seconds_of(const Tiling& tiling, int threads, std::int32_t lanes) {
  return program::kActionSeconds + tiling.cycles(threads) * 2 * lanes / program::kMultiplyAddsPerSecond;
}

Constant weights_of(const CsrMatrix& weights) {
  return {0, "depthwise", std::size_t{weights.rows} * weights.cols * sizeof(float), [&weights](std::byte* to) {
            const std::vector<float> rows = dense_rows(weights, 0, weights.rows);
            std::memcpy(to, rows.data(), rows.size() * sizeof(float));
          }};
}

Constant bias_of(const std::vector<float>& bias) {
  return {1, "depthwise", bias.size() * sizeof(float),
          [&bias](std::byte* to) { std::memcpy(to, bias.data(), bias.size() * sizeof(float)); }};
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
    const auto work =
        std::make_shared<const Work>(Work{Tiling(shape, kernels, request.threads), kernels, request.threads,
                                          !convolution->bias.empty(), program::Epilogue(request)});

    std::vector<Offer> all(1);
    Offer& offer = all.front();
    offer.detail = fmt::format("{}, tiles of {} rows", kernels.instruction_set, work->tiling.rows);
    offer.fused = true;
    offer.inputs.assign(request.inputs.size(), program::kRows);
    offer.scratch = scratch_size(work->tiling, request.threads) * sizeof(float);
    offer.constants.push_back(weights_of(convolution->weights));
    if (work->has_bias) offer.constants.push_back(bias_of(convolution->bias));
    offer.seconds = seconds_of(work->tiling, request.threads, kernels.lanes);
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
