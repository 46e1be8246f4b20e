#include "engines/cpu/plain/convolution.hpp"

#include <algorithm>

#include "engines/cpu/lanes/runnable.hpp"
#include "program/predict.hpp"

namespace spdnn::plain {

namespace {

/// A vector of that many bytes.
template <std::size_t kBytes>
struct Vector {
  typedef float Type __attribute__((vector_size(kBytes), may_alias, aligned(4)));  // NOLINT(modernize-use-using)
  static constexpr Extent kLanes = kBytes / sizeof(float);
};

constexpr Extent kMostPixels = 12;
constexpr Extent kRegisters = 2;  ///< of channels of the output in a tile
constexpr Extent kMostFilters = kRegisters * 16;

// Predictions, fitted to twelve layers on a Zen 4, in proportion to oneDNN's there, which takes 0.64 of its prediction.
constexpr double kSecondsOfPixel = 20e-9;      ///< to find what it reads, and to leave its sums
constexpr double kEfficiencyOfOnePixel = 0.2;  ///< of the peak: weights are read for it alone
constexpr double kEfficiencyOfDepthwise = 0.03;

/// Sums of a tile: kPixels x kRegisters registers. `sources` has, for each tap, the address of the channels of each
/// pixel.
template <std::size_t kBytes, Extent kPixels>
[[gnu::always_inline]] inline void add_up_tile(const float* const* sources, Extent taps, Extent channels,
                                               const float* weights, float* sums) {
  using Register = typename Vector<kBytes>::Type;
  constexpr Extent kLanes = Vector<kBytes>::kLanes;
  Register sum[kPixels][kRegisters] = {};
  for (Extent tap = 0; tap < taps; ++tap) {
    const float* from[kPixels];
    for (Extent p = 0; p < kPixels; ++p) from[p] = sources[tap * kMostPixels + p];
    for (Extent c = 0; c < channels; ++c) {
      const auto first = *reinterpret_cast<const Register*>(weights);
      const auto second = *reinterpret_cast<const Register*>(weights + kLanes);
      weights += kRegisters * kLanes;
#pragma GCC unroll 12
      for (Extent p = 0; p < kPixels; ++p) {
        sum[p][0] += from[p][c] * first;
        sum[p][1] += from[p][c] * second;
      }
    }
  }
#pragma GCC unroll 12
  for (Extent p = 0; p < kPixels; ++p)
    for (Extent r = 0; r < kRegisters; ++r)
      *reinterpret_cast<Register*>(sums + (p * kRegisters + r) * kLanes) = sum[p][r];
}

/// One pixel of a depthwise convolution, channel by channel.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void add_up_depthwise(const float* const* sources, Extent taps, Extent channels,
                                                    const float* weights, float* sums) {
  using Register = typename Vector<kBytes>::Type;
  constexpr Extent kLanes = Vector<kBytes>::kLanes;
  Extent c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    Register sum = {};
    for (Extent tap = 0; tap < taps; ++tap)
      sum += *reinterpret_cast<const Register*>(sources[tap] + c) *
             *reinterpret_cast<const Register*>(weights + tap * channels + c);
    *reinterpret_cast<Register*>(sums + c) = sum;
  }
  for (; c < channels; ++c) {
    float sum = 0;
    for (Extent tap = 0; tap < taps; ++tap) sum += sources[tap][c] * weights[tap * channels + c];
    sums[c] = sum;
  }
}

using AddUp = void (*)(const float* const* sources, Extent taps, Extent channels, const float* weights, float* sums);

/// The functions of an instruction set.
struct Functions {
  Extent lanes;
  Extent pixels;      ///< of a tile
  double efficiency;  ///< of the peak, of a tile
  AddUp tile;
  AddUp pixel;  ///< a tile of one
  AddUp depthwise;
};

// NOLINTBEGIN(bugprone-macro-parentheses): `target` is an attribute
#define SPDNN_CONVOLUTION_FUNCTIONS(name, target, bytes, pixels, efficiency)                                    \
  target void tile_##name(const float* const* sources, Extent taps, Extent channels, const float* weights,      \
                          float* sums) {                                                                        \
    add_up_tile<bytes, pixels>(sources, taps, channels, weights, sums);                                         \
  }                                                                                                             \
  target void pixel_##name(const float* const* sources, Extent taps, Extent channels, const float* weights,     \
                           float* sums) {                                                                       \
    add_up_tile<bytes, 1>(sources, taps, channels, weights, sums);                                              \
  }                                                                                                             \
  target void depthwise_##name(const float* const* sources, Extent taps, Extent channels, const float* weights, \
                               float* sums) {                                                                   \
    add_up_depthwise<bytes>(sources, taps, channels, weights, sums);                                            \
  }                                                                                                             \
  constexpr Functions k_##name{Vector<bytes>::kLanes, pixels, efficiency, tile_##name, pixel_##name, depthwise_##name};
// NOLINTEND(bugprone-macro-parentheses)

SPDNN_CONVOLUTION_FUNCTIONS(portable, , 16, 6, 0.3)
#if defined(__x86_64__)
SPDNN_CONVOLUTION_FUNCTIONS(avx2, [[gnu::target("avx2")]], 32, 6, 0.85)
SPDNN_CONVOLUTION_FUNCTIONS(avx512, [[gnu::target("avx512f")]], 64, 12, 0.6)
#endif
#undef SPDNN_CONVOLUTION_FUNCTIONS

/// Where AVX-512 is computed in halves, AVX2 takes 0.38 to 1.18 times as long (twelve layers on a Zen 4).
const Functions& functions() {
#if defined(__x86_64__)
  static const Functions& fastest = lanes::runs_avx512() && !lanes::computes_in_halves(16) ? k_avx512
                                    : lanes::runs_avx2()                                   ? k_avx2
                                                                                           : k_portable;
  return fastest;
#else
  return k_portable;
#endif
}

Extent blocks_of(const ConvolutionShape& shape) {
  return (shape.filters() + filters_together() - 1) / filters_together();
}

/// The addresses of the channels of a group that each tap of an output pixel reads, `stride` pointers apart.
void find_sources(const ConvolutionShape& shape, const float* input, const float* zeros, Extent pixel, Extent group,
                  const float** sources, Extent stride) {
  const Extent image = pixel / shape.out.pixels();
  const Extent p = pixel % shape.out.pixels() / shape.out.width;
  const Extent q = pixel % shape.out.width;
  const float* const from = input + image * shape.in.pixels() * shape.in.channels + group * shape.channels();
  for (Extent r = 0; r < Extent{shape.window.kernel[0]}; ++r) {
    const Extent y = tap_position(shape.window, 0, p, r);
    for (Extent s = 0; s < Extent{shape.window.kernel[1]}; ++s, sources += stride) {
      const Extent x = tap_position(shape.window, 1, q, s);
      const bool inside = y >= 0 && y < shape.in.height && x >= 0 && x < shape.in.width;
      *sources = inside ? from + (y * shape.in.width + x) * shape.in.channels : zeros;
    }
  }
}

void leave(const float* sums, const float* bias, Extent count, float* results, const Finish& finish) {
  if (bias == nullptr)
    std::copy_n(sums, count, results);
  else
    for (Extent k = 0; k < count; ++k) results[k] = sums[k] + bias[k];
  if (finish) finish(results, static_cast<std::size_t>(count));
}

void convolve_depthwise(const ConvolutionShape& shape, const float* packed, const float* bias, const float* input,
                        const float* zeros, float* output, const Finish& finish) {
  const Extent channels = shape.out.channels;
  const AddUp add_up = functions().depthwise;
#pragma omp parallel
  {
    std::vector<const float*> sources(static_cast<std::size_t>(shape.taps()));
#pragma omp for schedule(static)
    for (Extent pixel = 0; pixel < shape.out.images * shape.out.pixels(); ++pixel) {
      find_sources(shape, input, zeros, pixel, 0, sources.data(), 1);
      float* const results = output + pixel * channels;
      add_up(sources.data(), shape.taps(), channels, packed, results);
      leave(results, bias, channels, results, finish);
    }
  }
}

}  // namespace

Extent filters_together() { return kRegisters * functions().lanes; }

std::size_t packed_size(const ConvolutionShape& shape) {
  const Extent filters = shape.depthwise() ? 1 : blocks_of(shape) * filters_together();
  return static_cast<std::size_t>(shape.groups * filters * shape.taps() * shape.channels());
}

void pack_weights(const ConvolutionShape& shape, const CsrMatrix& weights, float* packed) {
  std::fill_n(packed, packed_size(shape), 0.F);
  const Extent together = filters_together();
#pragma omp parallel for schedule(static)
  for (Index row = 0; row < weights.rows; ++row) {
    const Extent group = row / shape.filters();
    const Extent filter = row % shape.filters();
    float* const block =
        packed + (group * blocks_of(shape) + filter / together) * together * shape.taps() * shape.channels();
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
      const Extent channel = weights.indices[k] / shape.taps();
      const Extent tap = weights.indices[k] % shape.taps();
      if (shape.depthwise())
        packed[tap * shape.groups + row] = weights.entry_value(k);
      else
        block[(tap * shape.channels() + channel) * together + filter % together] = weights.entry_value(k);
    }
  }
}

double predicted_seconds(const ConvolutionShape& shape, int threads) {
  const Extent pixels = shape.out.images * shape.out.pixels();
  const auto seconds = [&](Extent computed, Extent filters, double efficiency) {
    const auto products =
        static_cast<double>(computed * filters) * static_cast<double>(shape.taps() * shape.channels());
    return program::arithmetic_seconds(products, efficiency, threads);
  };
  if (shape.depthwise()) return seconds(pixels, shape.out.channels, kEfficiencyOfDepthwise);
  const Functions& of = functions();
  const Extent blocks = shape.groups * blocks_of(shape);
  const Extent filters = blocks * filters_together();
  const double sums = pixels == 1 ? seconds(1, filters, kEfficiencyOfOnePixel)
                                  : seconds((pixels + of.pixels - 1) / of.pixels * of.pixels, filters, of.efficiency);
  return sums + kSecondsOfPixel * static_cast<double>(blocks * pixels) / threads;
}

std::size_t convolution_scratch(const ConvolutionShape& shape) { return static_cast<std::size_t>(shape.in.channels); }

void convolve(const ConvolutionShape& shape, const float* packed, const float* bias, const float* input, float* scratch,
              float* output, const Finish& finish) {
  std::fill_n(scratch, convolution_scratch(shape), 0.F);  // zeros, which taps outside of the image read
  if (shape.depthwise()) return convolve_depthwise(shape, packed, bias, input, scratch, output, finish);
  const Functions& of = functions();
  const Extent together = filters_together();
  const Extent pixels = shape.out.images * shape.out.pixels();
  const Extent tiles = (pixels + of.pixels - 1) / of.pixels;
  const Extent blocks = shape.groups * blocks_of(shape);
  const Extent block_size = together * shape.taps() * shape.channels();
#pragma omp parallel
  {
    std::vector<const float*> sources(static_cast<std::size_t>(shape.taps() * kMostPixels));
    alignas(64) float sums[kMostPixels * kMostFilters];
    // Tiles inside: a thread keeps a block's weights in its cache.
#pragma omp for collapse(2) schedule(static)
    for (Extent block = 0; block < blocks; ++block)
      for (Extent tile = 0; tile < tiles; ++tile) {
        const Extent group = block / blocks_of(shape);
        const Extent filter = block % blocks_of(shape) * together;
        const Extent first = tile * of.pixels;
        const Extent count = std::min(of.pixels, pixels - first);
        for (Extent p = 0; p < (count == 1 ? 1 : of.pixels); ++p)
          find_sources(shape, input, scratch, first + std::min(p, count - 1), group, sources.data() + p, kMostPixels);
        const AddUp add_up = count == 1 ? of.pixel : of.tile;
        add_up(sources.data(), shape.taps(), shape.channels(), packed + block * block_size, sums);
        const Extent channel = group * shape.filters() + filter;
        for (Extent p = 0; p < count; ++p)
          leave(sums + p * together, bias == nullptr ? nullptr : bias + channel,
                std::min(together, shape.filters() - filter), output + (first + p) * shape.out.channels + channel,
                finish);
      }
  }
}

}  // namespace spdnn::plain
