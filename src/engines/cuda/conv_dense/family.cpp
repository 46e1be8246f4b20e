// The family conv_dense: convolutions by NVIDIA's cuDNN, every weight multiplied, to compare others with. For each
// shape both orders of the elements and all algorithms are timed when an offer is asked for, and each order's fastest
// algorithm is offered.

#include "program/family.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/system/out_of_memory.hpp"
#include "engines/cuda/conv_dense/cudnn.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/timing.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_dense)

namespace cuda {

namespace {

using cudnn::Format;
using program::ElementType;
using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

ElementType element_type(Precision precision) {
  return precision == Precision::fp16   ? ElementType::fp16
         : precision == Precision::bf16 ? ElementType::bf16
                                        : ElementType::fp32;
}

std::size_t bytes_of(ElementType type) { return type == ElementType::fp32 ? sizeof(float) : sizeof(std::uint16_t); }

/// Writes numbers as elements of a type, rounded to the nearest.
void write_as(ElementType type, const std::vector<float>& numbers, std::byte* to) {
  if (type == ElementType::fp32) {
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
  } else if (type == ElementType::fp16) {
    std::transform(numbers.begin(), numbers.end(), reinterpret_cast<__half*>(to),
                   [](float x) { return __float2half(x); });
  } else {
    std::transform(numbers.begin(), numbers.end(), reinterpret_cast<__nv_bfloat16*>(to),
                   [](float x) { return __float2bfloat16(x); });
  }
}

/// All weights of the filters, with their channels innermost in nhwc.
std::vector<float> filters_in(Format format, const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  const std::size_t taps = std::size_t{convolution.window.kernel[0]} * convolution.window.kernel[1];
  const std::size_t channels = weights.cols / taps;
  std::vector<float> filters(std::size_t{weights.rows} * weights.cols);
  for (std::size_t filter = 0; filter < weights.rows; ++filter)
    for (Offset at = weights.offsets[filter]; at < weights.offsets[filter + 1]; ++at) {
      const std::size_t channel = weights.indices[at] / taps;
      const std::size_t tap = weights.indices[at] % taps;
      const std::size_t place = format == Format::nchw ? channel * taps + tap : tap * channels + channel;
      filters[filter * weights.cols + place] = weights.entry_value(at);
    }
  return filters;
}

struct Fastest {
  int algorithm = 0;
  std::size_t workspace = 0;  ///< bytes
  double seconds = 0;
};

/// The fastest algorithm; empty if none supports the convolution.
std::optional<Fastest> measured(const cudnn::Convolution& convolution, std::size_t x_bytes, std::size_t w_bytes,
                                std::size_t y_bytes) {
  cudaStream_t const stream = cudaStreamPerThread;
  const DeviceBuffer<std::byte> x(x_bytes, stream);
  const DeviceBuffer<std::byte> w(w_bytes, stream);
  const DeviceBuffer<std::byte> y(y_bytes, stream);
  check(cudaMemsetAsync(x.data(), 0, x_bytes, stream));
  check(cudaMemsetAsync(w.data(), 0, w_bytes, stream));
  std::optional<Fastest> best;
  for (int algorithm = 0; algorithm < cudnn::kAlgorithms; ++algorithm) try {
      const std::optional<std::size_t> bytes = convolution.workspace_bytes(algorithm);
      if (!bytes) continue;
      const DeviceBuffer<std::byte> workspace(*bytes, stream);
      const auto run = [&] {
        return convolution.run(algorithm, x.data(), w.data(), workspace.data(), *bytes, y.data(), stream);
      };
      if (!run()) continue;  // also warms up
      const std::vector<double> seconds = device_seconds(stream, 3, [&] { run(); });
      const double shortest = *std::min_element(seconds.begin(), seconds.end());
      if (!best || shortest < best->seconds) best = Fastest{algorithm, *bytes, shortest};
    } catch (const OutOfMemory&) {  // of an algorithm that needs much
    }
  return best;
}

class DenseKernel final : public program::Kernel {
 public:
  explicit DenseKernel(Precision precision) : precision_(precision) {}

  std::string_view name() const override { return "conv_dense"; }

  std::vector<Offer> offers(const Request& request) const override {
    const auto* const convolution = std::get_if<Convolution>(&request.node().operation);
    if (convolution == nullptr) return {};
    std::vector<Offer> offers;
    for (const Format format : {Format::nchw, Format::nhwc}) try {
        offers.push_back(offer_in(format, request, *convolution));
      } catch (const DeviceError& error) {
        offers.push_back({.why_not = error.what()});
      }
    return offers;
  }

 private:
  Offer offer_in(Format format, const Request& request, const Convolution& convolution) const {
    const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                                 convolution.groups, convolution.window};
    const Layout layout{format == Format::nchw ? program::Order::rows : program::Order::nhwc, element_type(precision_),
                        program::Place::device};
    const std::size_t weights = std::size_t{convolution.weights.rows()} * convolution.weights.cols();
    const std::size_t w_bytes = weights * bytes_of(layout.type);
    const auto made = std::make_shared<const cudnn::Convolution>(shape, format, precision_);
    const std::optional<Fastest> best =
        fastest(shape, format, *made, program::bytes_of(layout, request.inputs[0].shape), w_bytes,
                program::bytes_of(layout, request.output_shape()));
    if (!best) return {.why_not = fmt::format("{} has no algorithm for it", cudnn::version())};
    Offer offer;
    offer.detail = fmt::format("{}, {}, {}", cudnn::version(), cudnn::algorithm_name(best->algorithm), text(layout));
    offer.inputs = {layout};
    offer.output = layout;
    offer.fused = request.step.fused.empty();
    offer.scratch = best->workspace;
    offer.scratch_on_device = true;
    offer.seconds = best->seconds;
    offer.constants = constants_of(format, convolution, w_bytes);
    offer.bind = [made, best = *best, biased = !convolution.bias.empty()] {
      return program::bound([=](const Operands& at) {
        if (!made->run(best.algorithm, at.inputs[0], at.constants[0], at.scratch, best.workspace, at.output,
                       cudaStreamPerThread))
          throw DeviceError("cuDNN: a convolution failed that had run before");
        if (biased) made->add_bias(at.constants[1], at.output, cudaStreamPerThread);
      });
    };
    return offer;
  }

  std::vector<program::Constant> constants_of(Format format, const Convolution& convolution,
                                              std::size_t w_bytes) const {
    const ElementType type = element_type(precision_);
    std::vector<program::Constant> constants;
    constants.push_back(
        {.part = 0,
         .form = fmt::format("all weights, {}, {}", format == Format::nchw ? "nchw" : "nhwc", to_string(precision_)),
         .bytes = w_bytes,
         .fill = [=, &convolution](std::byte* to) { write_as(type, filters_in(format, convolution), to); },
         .on_device = true});
    if (!convolution.bias.empty())
      constants.push_back({.part = 1,
                           .form = fmt::format("bias, {}", to_string(precision_)),
                           .bytes = convolution.bias.size() * bytes_of(type),
                           .fill = [=, &convolution](std::byte* to) { write_as(type, convolution.bias, to); },
                           .on_device = true});
    return constants;
  }

  /// Timed once per shape, so that all programs of a process run the same algorithm.
  std::optional<Fastest> fastest(const ConvolutionShape& shape, Format format, const cudnn::Convolution& convolution,
                                 std::size_t x_bytes, std::size_t w_bytes, std::size_t y_bytes) const {
    const auto extents = [](const ImageExtents& of) { return std::array{of.images, of.channels, of.height, of.width}; };
    const Window& window = shape.window;
    const std::tuple key{precision_,    format,        extents(shape.in), extents(shape.out), shape.groups,
                         window.kernel, window.stride, window.dilation,   window.pad_begin};
    static std::mutex mutex;
    static std::map<std::remove_const_t<decltype(key)>, std::optional<Fastest>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known.emplace(key, measured(convolution, x_bytes, w_bytes, y_bytes)).first->second;
  }

  Precision precision_;
};

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_dense(Precision precision) {
  static const std::array<cuda::DenseKernel, 4> kernels{
      cuda::DenseKernel(Precision::fp32), cuda::DenseKernel(Precision::tf32), cuda::DenseKernel(Precision::fp16),
      cuda::DenseKernel(Precision::bf16)};
  try {
    cuda::cudnn::version();
  } catch (const DeviceError& error) {
    return {.why_not = error.what()};
  }
  constexpr std::array kPrecisions{Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  for (std::size_t i = 0; i < kPrecisions.size(); ++i)
    if (kPrecisions[i] == precision) return {.kernels = {&kernels[i]}};
  return {.why_not = fmt::format("conv_dense does not compute in {}", to_string(precision))};
}

}  // namespace spdnn
