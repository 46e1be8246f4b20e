// The family conv_2to4: convolutions by NVIDIA's cuSPARSELt, whose filters have at most two non-zeros in four
// neighbouring weights, to compare others with. The input is unfolded in pieces, and each piece multiplied.

#include "program/family.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/system/out_of_memory.hpp"
#include "engines/cuda/conv_2to4/cusparselt.hpp"
#include "engines/cuda/conv_2to4/unfold.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/timing.hpp"
#include "program/operation_kernel.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_2to4)

namespace cuda {

namespace {

using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

/// Sizes of a piece of the unfolded input that are tried: it stays in L2, or launches cost nothing.
constexpr std::array<std::size_t, 2> kPieceBytes{std::size_t{1} << 25U, std::size_t{1} << 29U};

std::vector<std::uint16_t> rounded(const std::vector<float>& numbers, Precision precision) {
  std::vector<std::uint16_t> all(numbers.size());
  std::transform(numbers.begin(), numbers.end(), all.begin(), [&](float x) {
    return precision == Precision::bf16 ? __bfloat16_as_ushort(__float2bfloat16(x)) : __half_as_ushort(__float2half(x));
  });
  return all;
}

/// A convolution as the product of its unfolded input and its grouped filters.
struct GroupedShape {
  GroupedShape(const Request& request, const Convolution& convolution, const GroupedFilters& filters)
      : in(image_extents(request.inputs[0].shape)), out(image_extents(request.output_shape())) {
    const WindowAxes axes = window_axes(in, out, convolution.window);
    unfolds = !filters.is_input();
    for (std::size_t axis = 0; axis < 2; ++axis) {
      piece.in[axis] = axes.in[axis];
      piece.out[axis] = axes.out[axis];
      piece.stride[axis] = axes.stride[axis];
      unfolds = unfolds || axes.stride[axis] != 1 || axes.in[axis] != axes.out[axis];
    }
    piece.channels = narrow<Index>(in.channels);
    piece.columns = narrow<Index>(filters.columns().size());
  }

  std::size_t pixels() const { return static_cast<std::size_t>(out.images * out.pixels()); }

  ImageExtents in;
  ImageExtents out;
  UnfoldedPiece piece;
  bool unfolds = false;
};

/// How the product is computed.
struct Way {
  Index pixels = 0;  ///< of a piece
  int algorithm = 0;
  double seconds = 0;
  double products = 0;  ///< of these, of the products alone
};

/// The work of one convolution, in one way.
class GroupedWork {
 public:
  GroupedWork(const GroupedShape& shape, Index pixels, cusparselt::Plan plan)
      : shape_(shape), pixels_(pixels), plan_(std::move(plan)) {}

  std::size_t matrix_bytes() const {
    return shape_.unfolds ? std::size_t{pixels_} * shape_.piece.columns * sizeof(std::uint16_t) : 0;
  }
  std::size_t scratch_bytes() const { return matrix_bytes() + plan_.workspace_bytes(); }

  /// Whether cuSPARSELt took it.
  bool run(const std::byte* weights, const ColumnSource* sources, const std::byte* x, std::byte* scratch, std::byte* y,
           bool unfold = true) const {
    UnfoldedPiece piece = shape_.piece;
    piece.pixels = pixels_;
    for (; piece.first < shape_.pixels(); piece.first += pixels_) {
      if (shape_.unfolds && unfold)
        unfold_columns(piece, sources, reinterpret_cast<const std::uint16_t*>(x),
                       reinterpret_cast<std::uint16_t*>(scratch), cudaStreamPerThread);
      const std::byte* const rows = shape_.unfolds ? scratch : x + piece.first * piece.columns * sizeof(std::uint16_t);
      std::byte* const to = y + piece.first * static_cast<std::size_t>(shape_.out.channels) * sizeof(std::uint16_t);
      if (!plan_.run(rows, weights, scratch + matrix_bytes(), to, cudaStreamPerThread)) return false;
    }
    return true;
  }

 private:
  GroupedShape shape_;
  Index pixels_;
  cusparselt::Plan plan_;
};

/// What is multiplied, as it lies in the device's memory.
struct Packed {
  std::vector<std::byte> weights;
  std::vector<ColumnSource> sources;
};

template <class T>
DeviceBuffer<std::byte> uploaded(const std::vector<T>& from) {
  DeviceBuffer<std::byte> to(from.size() * sizeof(T), cudaStreamPerThread);
  check(cudaMemcpyAsync(to.data(), from.data(), to.bytes(), cudaMemcpyHostToDevice, cudaStreamPerThread));
  return to;
}

double shortest_seconds(const std::function<void()>& work) {
  const std::vector<double> seconds = device_seconds(cudaStreamPerThread, 3, work);
  return *std::min_element(seconds.begin(), seconds.end());
}

/// The fastest way; empty if cuSPARSELt supports none. OutOfMemory if memory does not suffice to find out.
std::optional<Way> measured(const GroupedShape& shape, Precision precision, const Packed& packed) {
  cudaStream_t const stream = cudaStreamPerThread;
  const DeviceBuffer<std::byte> weights = uploaded(packed.weights);
  const DeviceBuffer<std::byte> sources = uploaded(packed.sources);
  const DeviceBuffer<std::uint16_t> x(static_cast<std::size_t>(shape.in.images * shape.in.pixels() * shape.in.channels),
                                      stream);
  const DeviceBuffer<std::uint16_t> y(shape.pixels() * static_cast<std::size_t>(shape.out.channels), stream);
  check(cudaMemsetAsync(x.data(), 0, x.bytes(), stream));
  std::optional<Way> best;
  Index before = 0;
  for (const std::size_t bytes : kPieceBytes) {
    const auto pixels = narrow<Index>(pixels_of_piece(shape.pixels(), shape.piece.columns, bytes));
    if (std::exchange(before, pixels) == pixels) continue;
    const cusparselt::Product product({narrow<Index>(shape.out.channels), shape.piece.columns, pixels, precision});
    for (int algorithm = 0; algorithm < cusparselt::kAlgorithms; ++algorithm) {
      try {
        const GroupedWork work(shape, pixels, product.plan(algorithm));
        const DeviceBuffer<std::byte> scratch(work.scratch_bytes(), stream);
        const auto run = [&](bool unfold) {
          return work.run(weights.data(), reinterpret_cast<const ColumnSource*>(sources.data()),
                          reinterpret_cast<const std::byte*>(x.data()), scratch.data(),
                          reinterpret_cast<std::byte*>(y.data()), unfold);
        };
        if (!run(true)) continue;  // also warms up
        const double seconds = shortest_seconds([&] { run(true); });
        if (!best || seconds < best->seconds)
          best = Way{pixels, algorithm, seconds, shortest_seconds([&] { run(false); })};
      } catch (const OutOfMemory&) {
        throw;
      } catch (const DeviceError&) {  // of an algorithm that the library does not support
      }
    }
  }
  check(cudaStreamSynchronize(stream));
  return best;
}

/// Timed once per device and shape, so that all programs of a process run the same way.
std::optional<Way> fastest(const GroupedShape& shape, Precision precision, const Packed& packed) {
  const auto extents = [](const ImageExtents& of) { return std::array{of.images, of.channels, of.height, of.width}; };
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  const std::tuple key{ordinal, precision, extents(shape.in), extents(shape.out), shape.piece.columns, shape.unfolds};
  static std::mutex mutex;
  static std::map<std::remove_const_t<decltype(key)>, std::optional<Way>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, measured(shape, precision, packed)).first->second;
}

std::string why_not(const Request& request, const Convolution& convolution) {
  const ImageExtents out = image_extents(request.output_shape());
  const TypedMatrix* const typed = convolution.weights.typed();
  if (typed == nullptr || typed->pattern != Pattern::two_of_four) return "its weights are not stored as 2:4";
  if (convolution.groups != 1) return "conv_2to4 has no groups";
  if (!convolution.bias.empty()) return "conv_2to4 adds no bias";
  const auto fits = [](Extent number, std::size_t together) {
    return static_cast<std::size_t>(number) % together == 0;
  };
  if (!fits(out.channels, kFiltersTogether) || !fits(out.images * out.pixels(), kPixelsTogether))
    return fmt::format("cuSPARSELt takes multiples of {} filters and of {} pixels of all images together",
                       kFiltersTogether, kPixelsTogether);
  return {};
}

std::vector<program::Constant> constants_of(const std::shared_ptr<const Packed>& packed, std::size_t columns,
                                            Precision precision) {
  const auto constant = [&](int part, const char* form, const auto& from) {
    return program::Constant{
        .part = part,
        .form = fmt::format("2:4, {}, {} columns, {}", form, columns, to_string(precision)),
        .bytes = from.size() * sizeof(from[0]),
        .fill = [packed, &from](std::byte* to) { std::memcpy(to, from.data(), from.size() * sizeof(from[0])); },
        .on_device = true};
  };
  return {constant(0, "weights", packed->weights), constant(1, "columns", packed->sources)};
}

Offer offer_in(Precision precision, const Request& request, const Convolution& convolution) {
  if (const std::string reason = why_not(request, convolution); !reason.empty()) return {.why_not = reason};
  const GroupedFilters filters(convolution.weights, convolution.window);
  const GroupedShape shape(request, convolution, filters);
  const auto product_of = [&](Index pixels) {
    return cusparselt::Product({filters.rows(), shape.piece.columns, pixels, precision});
  };
  const auto first = narrow<Index>(pixels_of_piece(shape.pixels(), shape.piece.columns, kPieceBytes[0]));
  const auto packed = std::make_shared<const Packed>(
      Packed{product_of(first).compressed(rounded(filters.weights(), precision)), filters.columns()});
  const std::optional<Way> way = fastest(shape, precision, *packed);
  if (!way) return {.why_not = fmt::format("{} does not take it", cusparselt::version())};
  const GroupedWork work(shape, way->pixels, product_of(way->pixels).plan(way->algorithm));
  const auto type = precision == Precision::bf16 ? program::ElementType::bf16 : program::ElementType::fp16;
  Offer offer;
  offer.detail = fmt::format("{}, algorithm {}, {} columns, {} of them copies, ", cusparselt::version(), way->algorithm,
                             filters.columns().size(), filters.copies());
  offer.detail += shape.unfolds ? fmt::format("unfolded in pieces of {} pixels, products alone {:.4f} ms", way->pixels,
                                              way->products * 1e3)
                                : "not unfolded";
  offer.inputs = {Layout{program::Order::nhwc, type, program::Place::device}};
  offer.output = offer.inputs[0];
  offer.fused = request.step.fused.empty();
  offer.scratch = work.scratch_bytes();
  offer.scratch_on_device = true;
  offer.seconds = way->seconds;
  offer.constants = constants_of(packed, filters.columns().size(), precision);
  offer.bind = [work] {
    return program::bound([=](const Operands& at) {
      if (!work.run(at.constants[0], reinterpret_cast<const ColumnSource*>(at.constants[1]), at.inputs[0], at.scratch,
                    at.output))
        throw DeviceError("cuSPARSELt: a product failed that had run before");
    });
  };
  return offer;
}

template <Precision precision>
std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) {
  try {
    return program::only(offer_in(precision, request, convolution));
  } catch (const DeviceError& error) {
    return program::only({.why_not = error.what()});
  }
}

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_2to4(Precision precision) {
  static const program::OperationKernel in_fp16("conv_2to4", cuda::offers_for<Precision::fp16>);
  static const program::OperationKernel in_bf16("conv_2to4", cuda::offers_for<Precision::bf16>);
  try {
    cuda::cusparselt::version();
  } catch (const DeviceError& error) {
    return {.why_not = error.what()};
  }
  if (precision == Precision::fp16) return {.kernels = {&in_fp16}};
  if (precision == Precision::bf16) return {.kernels = {&in_bf16}};
  return {.why_not = fmt::format("conv_2to4 does not compute in {}", to_string(precision))};
}

}  // namespace spdnn
