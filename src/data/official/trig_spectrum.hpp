#pragma once

#include <fftw3.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "core/system/shared_library.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The functions used of FFTW, which is opened by the first run that makes official images of MNIST: no other run pays
/// for loading it, and no archive of the program holds it, as FFTW is under the GPL.
struct Fftw {
  SharedLibrary library{{"libfftw3.so.3"}, "it is needed to make the official images"};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define SPDNN_FFTW(name) decltype(&::fftw_##name) name = library.function<decltype(::fftw_##name)>("fftw_" #name)
  SPDNN_FFTW(alloc_real);
  SPDNN_FFTW(free);
  SPDNN_FFTW(plan_dft_r2c_1d);
  SPDNN_FFTW(plan_dft_c2r_1d);
  SPDNN_FFTW(execute_dft_r2c);
  SPDNN_FFTW(execute_dft_c2r);
  SPDNN_FFTW(destroy_plan);
#undef SPDNN_FFTW
};

/// DeviceError if the library is missing.
inline const Fftw& fftw() {
  static const Fftw functions;
  return functions;
}

/// Rows of doubles for FFTW's in-place real transforms. All rows begin at the same alignment, so that one FFTW plan
/// serves every row, and each row has room for length/2 + 1 complex numbers. The values are left uninitialised.
class RealRows {
 public:
  RealRows(std::size_t rows, std::size_t length);
  double* row(std::size_t i) { return values_.get() + i * stride_; }
  const double* row(std::size_t i) const { return values_.get() + i * stride_; }
  std::complex<double>* complex_row(std::size_t i) { return reinterpret_cast<std::complex<double>*>(row(i)); }
  const std::complex<double>* complex_row(std::size_t i) const {
    return reinterpret_cast<const std::complex<double>*>(row(i));
  }

 private:
  struct Free {
    void operator()(double* memory) const { fftw().free(memory); }
  };
  std::size_t stride_;
  std::unique_ptr<double[], Free> values_;
};

/// The strip's rows, folded by their mirror symmetry so that the product across the rows needs half the work:
/// kEven sums (row 0, row i + row 28-i for i = 1..13, row 14), then kOdd differences (row i - row 28-i for i = 1..13).
struct FoldedRows {
  static constexpr std::size_t kEven = 15;
  static constexpr std::size_t kOdd = 13;
  static constexpr std::size_t kCount = kEven + kOdd;
};

/// Trigonometric interpolation along the rows of the strip (see trig_upsample.hpp): the n = 28 I columns of I images
/// become M = side I columns. The output columns c = P k + p of one phase p, where P = side/4 and k < K = 4 I, are a
/// real inverse FFT of only K values: the spectrum times exp(2 pi i v p / M), folded modulo K (n = 7 K, so 7 terms per
/// bin). So no FFT is longer than n, and those of one phase fit into the cache. Memory: 28 n doubles. Scale factors of
/// the transforms are left out.
class TrigSpectrum {
 public:
  /// Computes 28 real FFTs of length n. `pixels` holds images x 28 x 28 values.
  TrigSpectrum(std::span<const std::uint8_t> pixels, Index images, Index side);

  Index phases() const { return phases_; }
  std::size_t line_length() const { return line_length_; }  ///< K
  /// Fills lines.row(i)[k] with the real part of folded row i at column P k + phase. `lines` has FoldedRows::kCount
  /// rows of line_length(). The imaginary part, which comes from the Nyquist term alone, is -nyquist_sine(phase) (-1)^k
  /// nyquist(i).
  void interpolate(Index phase, RealRows& lines) const;
  double nyquist(std::size_t i) const { return spectrum_.complex_row(i)[nyquist_].real(); }
  double nyquist_sine(Index phase) const;

 private:
  void fold(std::size_t i, Index phase, std::span<const std::complex<double>> twiddles,
            std::complex<double>* bins) const;

  struct DestroyPlan {
    void operator()(fftw_plan plan) const { fftw().destroy_plan(plan); }
  };
  Index phases_;
  std::size_t line_length_;
  std::size_t nyquist_;  ///< n/2, the last bin of a row's spectrum
  RealRows spectrum_;
  std::unique_ptr<fftw_plan_s, DestroyPlan> inverse_;
};

}  // namespace spdnn
