#include "data/official/fourier.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numbers>

#include "spdnn/array.hpp"

namespace spdnn {

namespace {

using Complex = std::complex<double>;

constexpr std::size_t kLargestRadix = 13;

Complex times_i(Complex value) { return {-value.imag(), value.real()}; }

/// The transform of `radix` numbers, for an odd radix: numbers j and radix - j are taken together.
template <std::size_t radix>
struct Butterfly {
  static constexpr std::size_t kPairs = radix / 2;

  Butterfly() {
    for (std::size_t k = 1; k <= kPairs; ++k)
      for (std::size_t j = 1; j <= kPairs; ++j) {
        const Complex root = root_of_unity(j * k, radix);
        cosines[k - 1][j - 1] = root.real();
        sines[k - 1][j - 1] = root.imag();
      }
  }
  void operator()(std::array<Complex, radix>& x) const {
    std::array<Complex, kPairs> sums;
    std::array<Complex, kPairs> differences;
    const Complex first = x[0];
    for (std::size_t j = 0; j < kPairs; ++j) {
      sums[j] = x[j + 1] + x[radix - 1 - j];
      differences[j] = times_i(x[j + 1] - x[radix - 1 - j]);
      x[0] += sums[j];
    }
    for (std::size_t k = 0; k < kPairs; ++k) {
      Complex even = first;
      Complex odd = 0.0;
      for (std::size_t j = 0; j < kPairs; ++j) {
        even += cosines[k][j] * sums[j];
        odd += sines[k][j] * differences[j];
      }
      x[k + 1] = even + odd;
      x[radix - 1 - k] = even - odd;
    }
  }

  std::array<std::array<double, kPairs>, kPairs> cosines{};
  std::array<std::array<double, kPairs>, kPairs> sines{};
};

template <>
struct Butterfly<2> {
  void operator()(std::array<Complex, 2>& x) const { x = {x[0] + x[1], x[0] - x[1]}; }
};

template <>
struct Butterfly<4> {
  void operator()(std::array<Complex, 4>& x) const {
    const Complex even_sum = x[0] + x[2];
    const Complex even_difference = x[0] - x[2];
    const Complex odd_sum = x[1] + x[3];
    const Complex odd_difference = times_i(x[1] - x[3]);
    x = {even_sum + odd_sum, even_difference + odd_difference, even_sum - odd_sum, even_difference - odd_difference};
  }
};

/// One pass of Stockham's algorithm, which leaves its results in order. With m = length / (stride radix), butterfly
/// (p, q), p < m and q < stride, takes numbers q + stride (p + m j) to q + stride (radix p + k), turned by
/// exp(2 pi i p k / (m radix)).
template <std::size_t radix>
void pass(std::size_t length, std::size_t stride, const Complex* twiddles, const Complex* from, Complex* to) {
  static const Butterfly<radix> kButterfly;
  const std::size_t count = length / stride / radix;
  for (std::size_t p = 0; p < count; ++p, twiddles += radix - 1) {
    std::array<Complex, radix> turns{1.0};
    std::copy_n(twiddles, radix - 1, turns.begin() + 1);
    for (std::size_t q = 0; q < stride; ++q) {
      std::array<Complex, radix> x;
      for (std::size_t j = 0; j < radix; ++j) x[j] = from[q + stride * (p + count * j)];
      kButterfly(x);
      Complex* const out = to + q + stride * radix * p;
      out[0] = x[0];
      for (std::size_t k = 1; k < radix; ++k) out[stride * k] = product(x[k], turns[k]);
    }
  }
}

using PassFunction = void (*)(std::size_t, std::size_t, const Complex*, const Complex*, Complex*);

PassFunction pass_of(std::size_t radix) {
  switch (radix) {
    case 2:
      return pass<2>;
    case 3:
      return pass<3>;
    case 4:
      return pass<4>;
    case 5:
      return pass<5>;
    case 7:
      return pass<7>;
    case 11:
      return pass<11>;
    default:
      return pass<kLargestRadix>;
  }
}

/// The radices, the largest first; what is left of the length comes last where it has other factors.
std::vector<std::size_t> radices_of(std::size_t length) {
  std::vector<std::size_t> radices;
  for (const std::size_t radix :
       {kLargestRadix, std::size_t{11}, std::size_t{7}, std::size_t{5}, std::size_t{4}, std::size_t{3}, std::size_t{2}})
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  if (length > 1) radices.push_back(length);
  return radices;
}

}  // namespace

Complex root_of_unity(std::size_t numerator, std::size_t denominator) {
  const double turn = static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return std::polar(1.0, 2.0 * std::numbers::pi * turn);
}

/// v k = (v^2 + k^2 - (k - v)^2) / 2 makes the transform a convolution with exp(-pi i v^2 / length), v = -length+1 ..
/// length-1, here one of a power of two that goes round.
struct FourierTransform::Convolution {
  explicit Convolution(std::size_t length) : transform(std::bit_ceil(2 * length - 1)) {
    for (std::size_t v = 0; v < length; ++v) chirp.push_back(root_of_unity(v * v % (2 * length), 2 * length));
    const std::size_t size = std::bit_ceil(2 * length - 1);
    kernel.assign(size, 0.0);
    for (std::size_t v = 0; v < length; ++v) kernel[v] = kernel[(size - v) % size] = std::conj(chirp[v]);
    transform.run(kernel.data());
    for (Complex& value : kernel) value /= static_cast<double>(size);
  }

  FourierTransform transform;
  std::vector<Complex> chirp;   ///< exp(pi i v^2 / length)
  std::vector<Complex> kernel;  ///< the spectrum of what is convolved with, with the scale factor of both directions
};

FourierTransform::FourierTransform(std::size_t length) : length_(length) {
  const std::vector<std::size_t> radices = radices_of(length);
  if (!radices.empty() && radices.back() > kLargestRadix) {
    convolution_ = std::make_shared<const Convolution>(length);
    return;
  }
  std::size_t stride = 1;
  for (const std::size_t radix : radices) {
    Pass one{radix, stride, {}};
    const std::size_t rest = length / stride;
    for (std::size_t p = 0; p < rest / radix; ++p)
      for (std::size_t k = 1; k < radix; ++k) one.twiddles.push_back(root_of_unity(p * k, rest));
    passes_.push_back(std::move(one));
    stride *= radix;
  }
}

void FourierTransform::run(Complex* values) const {
  if (convolution_)
    convolve(values);
  else
    run_passes(values);
}

void FourierTransform::run_passes(Complex* values) const {
  const auto scratch = allocate<std::array<double, 2>>(length_);
  Complex* from = values;
  Complex* to = reinterpret_cast<Complex*>(scratch.get());
  for (const Pass& one : passes_) {
    pass_of(one.radix)(length_, one.stride, one.twiddles.data(), from, to);
    std::swap(from, to);
  }
  if (from != values) std::copy_n(from, length_, values);
}

void FourierTransform::convolve(Complex* values) const {
  const Convolution& by = *convolution_;
  std::vector<Complex> round(by.kernel.size(), 0.0);
  for (std::size_t v = 0; v < length_; ++v) round[v] = product(values[v], by.chirp[v]);
  by.transform.run(round.data());
  // The transform back is that of the conjugate numbers, conjugated.
  for (std::size_t v = 0; v < round.size(); ++v) round[v] = std::conj(product(round[v], by.kernel[v]));
  by.transform.run(round.data());
  for (std::size_t v = 0; v < length_; ++v) values[v] = product(std::conj(round[v]), by.chirp[v]);
}

RealFourierTransform::RealFourierTransform(std::size_t length) : half_(length / 2), transform_(half_) {
  for (std::size_t v = 0; v <= half_ / 2; ++v) turns_.push_back(root_of_unity(v, length));
}

// Numbers 2m and 2m+1 are the real and the imaginary part of complex number m, and so one complex transform of half
// the length does both. With a and b of places v and half - v, and b conjugated, sums and differences separate them.
void RealFourierTransform::to_spectrum(Complex* values) const {
  for (std::size_t m = 0; m < half_; ++m) values[m] = std::conj(values[m]);
  transform_.run(values);
  values[half_] = values[0];
  for (std::size_t v = 0; v < turns_.size(); ++v) {
    const Complex a = std::conj(values[v]);
    const Complex b = values[half_ - v];
    const Complex even = 0.5 * (a + b);
    const Complex odd = product(std::conj(turns_[v]), times_i(-0.5 * (a - b)));
    values[v] = even + odd;
    values[half_ - v] = std::conj(even - odd);
  }
}

void RealFourierTransform::to_numbers(Complex* values) const {
  for (std::size_t v = 0; v < turns_.size(); ++v) {
    const Complex a = values[v];
    const Complex b = std::conj(values[half_ - v]);
    const Complex even = a + b;
    const Complex odd = product(turns_[v], a - b);
    values[v] = even + times_i(odd);
    values[half_ - v] = std::conj(even) + times_i(std::conj(odd));
  }
  transform_.run(values);
}

}  // namespace spdnn
