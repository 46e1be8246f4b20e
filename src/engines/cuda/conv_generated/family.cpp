// The family conv_generated: convolutions by code that is generated for their weights.

#include "program/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <mutex>

#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_generated/compiler.hpp"
#include "engines/cuda/conv_generated/halves.hpp"
#include "engines/cuda/conv_generated/launch.hpp"
#include "engines/cuda/conv_generated/self_test.hpp"
#include "engines/cuda/conv_generated/shared_layer.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "model/graph/node_text.hpp"
#include "model/operations/geometry.hpp"
#include "program/operation_kernel.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_generated)

namespace cuda {

namespace {

using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

constexpr int kFirstCapability = 9;         ///< with copies by maps
constexpr std::size_t kBarrierBytes = 128;  ///< of shared memory

GeneratedLimits limits_of(int ordinal) {
  const cudaDeviceProp& device = device_properties(ordinal);
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, ordinal));
  return {.multiprocessors = static_cast<Index>(device.multiProcessorCount),
          .shared_bytes = device.sharedMemPerBlockOptin - kBarrierBytes,
          .l2_bytes = static_cast<std::size_t>(device.l2CacheSize),
          .clock = kilohertz * 1e3};
}

/// Of the current device. They are kept, as the clock is read from the device, which takes 0.5 ms.
const GeneratedLimits& limits() {
  static std::mutex mutex;
  static std::map<int, GeneratedLimits> known;
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  const std::lock_guard lock(mutex);
  const auto found = known.find(ordinal);
  return found != known.end() ? found->second : known.emplace(ordinal, limits_of(ordinal)).first->second;
}

using Bind = std::function<std::unique_ptr<program::Bound>()>;

/// Runs generated code once that is compiled and has given conv_direct's results, and conv_direct otherwise. In halves
/// these are the results of the kernel by taps, which adds in fp16 as well, and as it is slow, conv_direct then
/// computes in fp32.
class BoundGenerated final : public program::Bound {
 public:
  /// `in_fp32`: empty, or of bind_in_fp32().
  BoundGenerated(Layer layer, std::unique_ptr<program::Bound> direct, Bind in_fp32,
                 std::vector<std::size_t> input_bytes, std::size_t output_bytes, const Request& request)
      : layer_(std::move(layer)),
        direct_(std::move(direct)),
        in_fp32_(std::move(in_fp32)),
        input_bytes_(std::move(input_bytes)),
        output_bytes_(output_bytes),
        own_inputs_(request.own_inputs()),
        name_(node_text(request.model, request.step.node)),
        deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(request.compile_seconds))),
        shared_(shared_layer(layer_, request.model)) {}

  void place(const Operands& operands) override {
    operands_ = operands;
    direct_->place(operands);
    if (launch_) make_launch();
  }

  program::Prepared prepare() override {
    LayerCode& code = shared_->code;
    try {
      const std::lock_guard lock(shared_->mutex);
      shared_->load(deadline_, layer_.tiling.shared_bytes());
      make_launch();
      test();
    } catch (const DeviceError& error) {
      launch_.reset();
      cudaGetLastError();  // else the next launch would report it
      if (in_fp32_) (direct_ = in_fp32_())->place(operands_);
      return {.remark =
                  fmt::format("{} is computed by conv_direct{}: {}", name_, in_fp32_ ? " in fp32" : "", error.what())};
    }
    return {.remark = code.remark().empty() ? "" : fmt::format("{}: {}", name_, code.remark()),
            .code_bytes = code.bytes(),
            .source = code.source(),
            .compile_seconds = code.compile_seconds(),
            .model_has_others = shared_->model_has_others,
            .model_images = shared_->model_images};
  }

  std::optional<StoredCode> code() const override {
    if (!launch_) return std::nullopt;
    return StoredCode{shared_->digest, shared_->code.record()};
  }

  void run() override {
    if (launch_)
      launch_->run(cudaStreamPerThread);
    else
      direct_->run();
  }

  /// A graph of its own cannot be a part of another.
  bool can_be_recorded() const override { return launch_ == nullptr; }

 private:
  void make_launch() {
    const std::size_t counters = shared_->loaded->kernels().size() * kCounterStep;
    if (drawn_.empty()) {
      drawn_ = DeviceBuffer<Index>(counters, cudaStreamPerThread);
      check(cudaMemsetAsync(drawn_.data(), 0, drawn_.bytes(), cudaStreamPerThread));
    }
    std::vector<const float*> others;
    for (std::size_t i = own_inputs_; i < operands_.inputs.size(); ++i) others.push_back(operands_.floats(i));
    launch_ = std::make_unique<LayerLaunch>(*shared_->loaded, layer_.shape, layer_.tiling, operands_.floats(0), others,
                                            operands_.results(), drawn_.data(), limits().multiprocessors);
  }

  /// Compares the two on random numbers, bit by bit, in the memory of the operands, which hold nothing yet.
  void test() {
    constexpr int kNotNumbers = 0xff;
    const auto fill = layer_.in_halves ? fill_randomly_with_halves : fill_randomly;
    for (std::size_t i = 0; i < input_bytes_.size(); ++i)
      fill(const_cast<float*>(operands_.floats(i)), input_bytes_[i] / sizeof(float), static_cast<std::uint32_t>(i + 1),
           cudaStreamPerThread);
    const auto hash = [&] {
      return hash_of_bits(operands_.results(), output_bytes_ / sizeof(float), cudaStreamPerThread);
    };
    direct_->run();
    const std::uint64_t expected = hash();
    check(cudaMemsetAsync(operands_.output, kNotNumbers, output_bytes_, cudaStreamPerThread));
    launch_->run(cudaStreamPerThread);
    if (hash() != expected) throw DeviceError("its generated code failed the test against conv_direct");
  }

  Layer layer_;
  std::unique_ptr<program::Bound> direct_;
  Bind in_fp32_;
  std::vector<std::size_t> input_bytes_;
  std::size_t output_bytes_;
  std::size_t own_inputs_;
  std::string name_;
  std::chrono::steady_clock::time_point deadline_;
  std::shared_ptr<SharedLayer> shared_;
  DeviceBuffer<Index> drawn_;  ///< see LayerLaunch
  std::unique_ptr<LayerLaunch> launch_;
  Operands operands_;
};

/// Those that are compared by measuring, if every tiling is asked for: compiling takes long.
constexpr std::size_t kMeasuredTilings = 3;

/// `direct`: what code is compared with; `in_fp32`: see BoundGenerated.
std::vector<Offer> generated_offers(const Request& request, const Convolution& convolution,
                                    const std::vector<Function>& functions, const Offer& direct, const Bind& in_fp32) {
  const Layout& layout = direct.output;
  DirectShape shape = flattened(direct_shape(
      {image_extents(request.inputs[0].shape), image_extents(request.output_shape()), 1, convolution.window}));
  shape.blocks = static_cast<Index>(blocks_of(layout, request.output_shape()));
  DirectShape whole = shape;
  whole.blocks = (static_cast<Index>(request.kernels_for) + images_together(layout) - 1) / images_together(layout);
  const double share = static_cast<double>(shape.blocks) / whole.blocks;
  const CsrMatrix& weights = convolution.weights.csr();
  std::vector<std::size_t> input_bytes;
  for (const program::Input& input : request.inputs) input_bytes.push_back(bytes_of(layout, input.shape));
  std::vector<Offer> offers;
  for (GeneratedTiling& tiling : generated_tilings(whole, weights, limits())) {
    if (offers.size() == (request.every_tiling ? kMeasuredTilings : 1)) break;
    for (const std::string& part : request.without) leave_out(tiling, part);
    Offer offer = direct;
    offer.seconds = tiling.seconds * share;
    offer.detail = fmt::format(
        "generated{}: tiles of {} x {} pixels, {} kernels, {} channels at a time, {} times in shared memory{}",
        layout == kHalves ? ", with sums in fp16" : "", tiling.tile[0], tiling.tile[1], tiling.kernels, tiling.channels,
        tiling.stages, request.without.empty() ? "" : fmt::format(", without {}", fmt::join(request.without, ", ")));
    offer.bind = [layer = Layer{shape, tiling, weights, convolution.bias, functions, layout == kHalves},
                  bind = direct.bind, in_fp32, input_bytes, output_bytes = bytes_of(layout, request.output_shape()),
                  request] {
      return std::make_unique<BoundGenerated>(layer, bind(), in_fp32, input_bytes, output_bytes, request);
    };
    offers.push_back(std::move(offer));
  }
  return offers;
}

Request without_functions(Request request) {
  request.step.fused.clear();
  request.inputs.resize(request.own_inputs());
  return request;
}

std::vector<Offer> offers_in(const Request& request, const Convolution& convolution, bool in_halves) {
  if (convolution.groups != 1 || !has_images(request, 0) || request.compile_seconds <= 0) return {};
  std::optional<std::vector<Function>> functions = fused_functions(request);
  const bool fused = functions && can_be_generated(*functions, in_halves);
  const Request alone = without_functions(request);
  const Request& asked = fused ? request : alone;
  if (!fused) functions.emplace();
  const std::vector<Offer> exact = convolution_offers(in_halves ? alone : asked, convolution);
  if (exact.empty() || current_device_properties().major < kFirstCapability) return {};
  Offer direct = exact.front();
  Bind in_fp32;
  if (in_halves) {
    direct = half_offer_by_taps(asked, convolution);
    in_fp32 = bind_in_fp32(alone, exact.front(), *functions, direct.constants.size());
    std::ranges::copy(exact.front().constants, std::back_inserter(direct.constants));
    direct.scratch = scratch_in_fp32(alone);
    direct.scratch_on_device = true;
  }
  std::vector<Offer> offers = generated_offers(asked, convolution, *functions, direct, in_fp32);
  for (Offer& offer : offers) offer.fused = fused;
  return offers;
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  return offers_in(request, convolution, false);
}

std::vector<Offer> half_offers_for(const Request& request, const Convolution& convolution) {
  if (!fits_halves(convolution)) return {};
  return offers_in(request, convolution, true);
}

}  // namespace

}  // namespace cuda

/// In fp16-sums convolutions with sums in fp16 alone, and pools of their results.
program::FamilyKernels kernels_conv_generated(Precision precision) {
  if (const std::string why_not = cuda::why_no_compiler(); !why_not.empty()) return {.why_not = why_not};
  static const program::OperationKernel kernel("conv_generated", cuda::offers_for);
  static const program::OperationKernel in_halves[] = {{"conv_generated", cuda::half_offers_for},
                                                       {"elements", cuda::half_pool_offers},
                                                       {"elements", cuda::half_global_pool_offers}};
  if (precision != Precision::fp16_sums) return {.kernels = {&kernel}};
  program::FamilyKernels family{.kernels = program::all_of(in_halves)};
  family.kernels.push_back(&cuda::half_changes_kernel());
  return family;
}

}  // namespace spdnn
