#include "bench/conv_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/types/narrow_floats.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::bench {

namespace {

using program::ElementType;
using program::Layout;

/// An image's number, as a hash of its place (the finalizer of MurmurHash3); the lower bits are the number, the upper
/// ones say whether it is one of the zeros.
float image_number(ElementType type, Extent image, Extent channel, Extent row, Extent column, double zeros) {
  auto bits = static_cast<std::uint64_t>(((image * 8191 + channel) * 8191 + row) * 8191 + column);
  bits = (bits ^ bits >> 33U) * 0xff51afd7ed558ccdU;
  bits = (bits ^ bits >> 33U) * 0xc4ceb9fe1a85ec53U;
  bits ^= bits >> 33U;
  if (static_cast<double>(bits >> 40U) < zeros * 0x1p24) return 0;
  return type == ElementType::u8 ? static_cast<float>(bits % 256) * kByteScale
                                 : (static_cast<float>(bits % 129) - 64) / 64;
}

void store(std::byte* to, ElementType type, std::size_t place, float number) {
  if (type == ElementType::fp32)
    reinterpret_cast<float*>(to)[place] = number;
  else if (type == ElementType::u8)
    to[place] = static_cast<std::byte>(number / kByteScale);
  else
    reinterpret_cast<std::uint16_t*>(to)[place] =
        (type == ElementType::bf16 ? bf16_of_float(number) : f16_of_float(number)).value();
}

template <class T>
T output_number(const program::Trial& trial, std::size_t place) {
  T number{};
  trial.read_output(place * sizeof(T), sizeof(T), reinterpret_cast<std::byte*>(&number));
  return number;
}

float output_number(const program::Trial& trial, ElementType type, std::size_t place) {
  if (type == ElementType::fp32) return output_number<float>(trial, place);
  const auto bits = output_number<std::uint16_t>(trial, place);
  return type == ElementType::bf16 ? float_of_bf16(bits) : float_of_f16(bits);
}

struct Output {
  Extent image, filter, row, column;
};

/// The corners of the first and the last image and filter, and others at random.
std::vector<Output> sampled(const ImageExtents& out) {
  std::vector<Output> samples;
  for (int corner = 0; corner < 16; ++corner) {
    const auto end = [&](int bit, Extent extent) { return (corner >> bit & 1) != 0 ? extent - 1 : 0; };
    samples.push_back({end(0, out.images), end(1, out.channels), end(2, out.height), end(3, out.width)});
  }
  std::mt19937_64 random(1);
  const auto below = [&](Extent extent) { return static_cast<Extent>(random() % static_cast<std::uint64_t>(extent)); };
  while (samples.size() < kSampledOutputs)
    samples.push_back({below(out.images), below(out.channels), below(out.height), below(out.width)});
  return samples;
}

struct Sum {
  double value = 0;
  double magnitude = 0;  ///< of the terms
};

/// `dense`: of a kernel that multiplies zeros too.
Sum output_sum(const ConvProblem& problem, ElementType type, const Output& at, bool dense) {
  const Convolution& convolution = problem.convolution;
  const ImageExtents in = image_extents(problem.input);
  const CsrMatrix& weights = convolution.weights;
  const auto filter = static_cast<std::size_t>(at.filter);
  const Window& window = convolution.window;
  const Extent channels = in.channels / convolution.groups;
  const Extent first = at.filter / (weights.rows / convolution.groups) * channels;
  const double largest = type == ElementType::u8 ? 255 * kByteScale : 1;
  Sum sum;
  const auto add = [&](double weight, double number) {
    sum.value += weight * number;
    sum.magnitude += std::abs(weight * (dense ? largest : number));
  };
  if (!convolution.bias.empty()) add(convolution.bias[filter], 1);
  for (Offset i = weights.offsets[filter]; i < weights.offsets[filter + 1]; ++i) {
    const Index tap = weights.indices[i] % (window.kernel[0] * window.kernel[1]);
    const Extent channel = first + weights.indices[i] / (window.kernel[0] * window.kernel[1]);
    const auto place = [&](Extent out, std::size_t axis, Index of_tap) {
      return out * window.stride[axis] + Extent{of_tap} * window.dilation[axis] - window.pad_begin[axis];
    };
    const Extent row = place(at.row, 0, tap / window.kernel[1]);
    const Extent column = place(at.column, 1, tap % window.kernel[1]);
    const bool exists = row >= 0 && row < in.height && column >= 0 && column < in.width;
    if (exists || dense)
      add(weights.entry_value(i), exists ? image_number(type, at.image, channel, row, column, problem.zeros) : 0);
  }
  return sum;
}

/// The rounding of a weight, relative; and the smallest number that rounds to 0, of types with few exponents.
struct Rounding {
  double relative = 0;
  double absolute = 0;
};

Rounding rounding_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return {0x1p-10};
    case Precision::fp16:
    case Precision::fp16_sums:
      return {0x1p-11, 0x1p-25};
    case Precision::bf16:
      return {0x1p-8};
    default:
      return {};
  }
}

struct Expected {
  double value = 0;
  double bound = 0;
};

/// A result of the convolution.
Expected expected_result(const ConvProblem& problem, const program::Offer& offer, Precision precision,
                         const Output& at) {
  const bool dense = !offer.skips_zeros;
  const CsrMatrix& weights = problem.convolution.weights;
  const Rounding weight = rounding_of(precision);
  const Rounding result = offer.output.type == ElementType::fp32 ? Rounding{} : weight;
  const Sum sum = output_sum(problem, offer.inputs.front().type, at, dense);
  const auto filter = static_cast<std::size_t>(at.filter);
  const Offset terms = dense ? weights.cols : weights.offsets[filter + 1] - weights.offsets[filter];
  const double in_fp16 = std::min(static_cast<double>(offer.terms_in_fp16), static_cast<double>(terms) + 1) *
                         rounding_of(Precision::fp16).relative;
  const double roundings = 2 * (static_cast<double>(terms) + 3) * 0x1p-24;
  const double relative = roundings / (1 - roundings) + in_fp16 / (1 - in_fp16) + weight.relative + 2 * result.relative;
  // Each product may add a number that rounds to 0, if it is added in fp16.
  const double absolute =
      weight.absolute * (offer.terms_in_fp16 > 0 ? 2 : 1) * static_cast<double>(terms) + 2 * result.absolute + 0x1p-126;
  return {sum.value, relative * sum.magnitude + absolute};
}

Expected expected_output(const ConvProblem& problem, const program::Offer& offer, Precision precision,
                         const Output& at) {
  if (!problem.pooled) return expected_result(problem, offer, precision, at);
  Expected most;
  for (const Extent row : {2 * at.row, 2 * at.row + 1})
    for (const Extent column : {2 * at.column, 2 * at.column + 1}) {
      const Expected one = expected_result(problem, offer, precision, {at.image, at.filter, row, column});
      most = {std::max(most.value, one.value), std::max(most.bound, one.bound)};
    }
  return most;
}

}  // namespace

void fill_images(std::byte* to, const Layout& layout, const Shape& shape, double zeros) {
  const ImageExtents of = image_extents(shape);
  constexpr Extent kTogether = program::kImagesTogether;
  const Extent groups = (of.images + kTogether - 1) / kTogether;
  const bool fills_up = program::elements_of(layout, shape) > static_cast<std::size_t>(*elements(shape));
  if (fills_up) std::memset(to, 0, program::bytes_of(layout, shape));
#pragma omp parallel for collapse(2) schedule(static)
  for (Extent group = 0; group < groups; ++group)
    for (Extent row = 0; row < of.height; ++row)
      for (Extent channel = 0; channel < of.channels; ++channel)
        for (Extent column = 0; column < of.width; ++column)
          for (Extent image = group * kTogether; image < std::min((group + 1) * kTogether, of.images); ++image)
            store(to, layout.type, program::place_of(layout.order, shape, image, channel, row, column),
                  image_number(layout.type, image, channel, row, column, zeros));
}

double sampled_ratio(const ConvProblem& problem, const program::Offer& offer, const Shape& shape, Precision precision,
                     const program::Trial& trial) {
  const Layout& layout = offer.output;
  double largest = 0;
  for (const Output& at : sampled(image_extents(shape))) {
    const Expected expected = expected_output(problem, offer, precision, at);
    const double found = output_number(trial, layout.type,
                                       program::place_of(layout.order, shape, at.image, at.filter, at.row, at.column));
    const double ratio = std::abs(found - expected.value) / expected.bound;
    if (!(ratio <= largest)) largest = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  }
  return largest;
}

}  // namespace spdnn::bench
