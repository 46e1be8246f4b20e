#include "data/official/trig_spectrum.hpp"

#include <array>
#include <new>
#include <numbers>
#include <vector>

#include "core/threads/parallel.hpp"
#include "data/generate.hpp"

namespace spdnn {

namespace {

using Complex = std::complex<double>;

constexpr std::size_t kFolds = 7;  ///< n / K

/// exp(2 pi i numerator / denominator); the angle is reduced exactly before it is rounded.
Complex root_of_unity(std::uint64_t numerator, std::uint64_t denominator) {
  const double turn = static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return std::polar(1.0, 2.0 * std::numbers::pi * turn);
}

/// A product without the search for infinities that std::complex makes at every step; there are none here.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

fftw_complex* as_fftw(Complex* values) { return reinterpret_cast<fftw_complex*>(values); }

/// Row i of the folded strip (FoldedRows), its columns in natural order: image by image, 28 each.
void folded_row(std::span<const std::uint8_t> pixels, Index images, std::size_t i, double* out) {
  const bool odd = i >= FoldedRows::kEven;
  const std::size_t row = odd ? i - FoldedRows::kEven + 1 : i;
  const bool mirrored = row != 0 && row != kMnistSide / 2;
  const double sign = odd ? -1.0 : (mirrored ? 1.0 : 0.0);
  const std::size_t mirror = (kMnistSide - row) % kMnistSide;
  for (std::size_t image = 0; image < images; ++image) {
    const std::uint8_t* const square = pixels.data() + image * kMnistSide * kMnistSide;
    for (std::size_t col = 0; col < kMnistSide; ++col)
      *out++ = square[row * kMnistSide + col] + sign * square[mirror * kMnistSide + col];
  }
}

}  // namespace

RealRows::RealRows(std::size_t rows, std::size_t length) {
  constexpr std::size_t kCacheLine = 8;  // doubles
  stride_ = (length + 2 + kCacheLine - 1) / kCacheLine * kCacheLine;
  values_.reset(fftw().alloc_real(rows * stride_));
  if (!values_) throw std::bad_alloc();
}

TrigSpectrum::TrigSpectrum(std::span<const std::uint8_t> pixels, Index images, Index side)
    : phases_(side / 4),
      line_length_(std::size_t{4} * images),
      nyquist_(kFolds * line_length_ / 2),
      spectrum_(FoldedRows::kCount, kFolds * line_length_) {
  // FFTW_ESTIMATE makes no trial runs, so that a machine has the same plan and the same values every time.
  const int columns = narrow<int>(kFolds * line_length_);
  const std::unique_ptr<fftw_plan_s, DestroyPlan> forward(
      fftw().plan_dft_r2c_1d(columns, spectrum_.row(0), as_fftw(spectrum_.complex_row(0)), FFTW_ESTIMATE));
  inverse_.reset(fftw().plan_dft_c2r_1d(narrow<int>(line_length_), as_fftw(spectrum_.complex_row(0)), spectrum_.row(0),
                                        FFTW_ESTIMATE));
  parallel_for(FoldedRows::kCount, [&](std::size_t i) {
    folded_row(pixels, images, i, spectrum_.row(i));
    fftw().execute_dft_r2c(forward.get(), spectrum_.row(i), as_fftw(spectrum_.complex_row(i)));
  });
}

void TrigSpectrum::interpolate(Index phase, RealRows& lines) const {
  const std::uint64_t columns = std::uint64_t{phases_} * line_length_;
  std::vector<Complex> twiddles(line_length_ / 2 + 1);
  parallel_ranges(twiddles.size(), static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    for (std::size_t w = begin; w < end; ++w) twiddles[w] = root_of_unity(w * phase, columns);
  });
  parallel_for(FoldedRows::kCount, [&](std::size_t i) {
    fold(i, phase, twiddles, lines.complex_row(i));
    fftw().execute_dft_c2r(inverse_.get(), as_fftw(lines.complex_row(i)), lines.row(i));
  });
}

// The Nyquist term of column c is F(n/2) exp(-pi i n c / M). With c = P k + p its angle is pi (7 k + 7 p / P).
double TrigSpectrum::nyquist_sine(Index phase) const {
  return root_of_unity(kFolds * std::uint64_t{phase}, std::uint64_t{2} * phases_).imag();
}

/// Bin w of K is the sum of the terms v = w + t K, t = -3..3, of the spectrum F(v) exp(2 pi i v p / M). The factor is
/// twiddles[w] = exp(2 pi i w p / M) times turns[t] = exp(2 pi i t p / P), and F(-v) is conj F(v).
void TrigSpectrum::fold(std::size_t i, Index phase, std::span<const Complex> twiddles, Complex* bins) const {
  const Complex* const f = spectrum_.complex_row(i);
  const std::size_t k = line_length_;
  constexpr std::size_t kTurns = kFolds / 2 + 1;
  std::array<Complex, kTurns> turns;
  for (std::size_t t = 0; t < kTurns; ++t) turns[t] = root_of_unity(t * phase, phases_);
  for (std::size_t w = 0; w < k / 2; ++w) {
    Complex sum = f[w];
    for (std::size_t t = 1; t < kTurns; ++t)
      sum += product(turns[t], f[w + t * k]) + std::conj(product(turns[t], f[t * k - w]));
    bins[w] = product(twiddles[w], sum);
  }
  // The middle bin takes the terms v = K/2 + t K, t = 0..2, with their mirrors, and the Nyquist term v = -n/2.
  Complex sum = 0.0;
  for (std::size_t t = 0; t + 1 < kTurns; ++t) sum += product(turns[t], f[k / 2 + t * k]);
  const double nyquist_cosine = root_of_unity(kFolds * std::uint64_t{phase}, std::uint64_t{2} * phases_).real();
  bins[k / 2] = 2.0 * product(twiddles[k / 2], sum).real() + f[nyquist_].real() * nyquist_cosine;
}

}  // namespace spdnn
