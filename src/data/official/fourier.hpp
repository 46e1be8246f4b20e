#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace spdnn {

/// The discrete Fourier transform of `length` complex numbers without a scale factor: value k becomes the sum of
/// values v times exp(2 pi i v k / length). Each pass does one small prime factor of the length, or 4. A length with
/// other factors becomes a convolution (Bluestein) by transforms of a power of two. Cost: O(length log length).
class FourierTransform {
 public:
  using Complex = std::complex<double>;

  explicit FourierTransform(std::size_t length);
  /// In place. Several threads may call it at a time.
  void run(Complex* values) const;

 private:
  struct Pass {
    std::size_t radix = 0;
    std::size_t stride = 0;         ///< the product of the radices before
    std::vector<Complex> twiddles;  ///< radix - 1 for each butterfly of a stride
  };
  struct Convolution;

  void run_passes(Complex* values) const;
  void convolve(Complex* values) const;

  std::size_t length_;
  std::vector<Pass> passes_;
  std::shared_ptr<const Convolution> convolution_;  ///< null: passes do it
};

/// Transforms of an even number of doubles, in place: of a spectrum of length/2 + 1 complex numbers, and back. Neither
/// has a scale factor.
class RealFourierTransform {
 public:
  using Complex = std::complex<double>;

  explicit RealFourierTransform(std::size_t length);
  /// Value v of the spectrum is the sum of numbers c times exp(-2 pi i v c / length).
  void to_spectrum(Complex* values) const;
  /// Number c is the real sum of the whole spectrum's values v times exp(2 pi i v c / length).
  void to_numbers(Complex* values) const;

 private:
  std::size_t half_;
  FourierTransform transform_;
  std::vector<Complex> turns_;  ///< exp(2 pi i v / length), v = 0 .. length/4
};

/// exp(2 pi i numerator / denominator); the angle is reduced exactly before it is rounded.
std::complex<double> root_of_unity(std::size_t numerator, std::size_t denominator);

/// A product without the search for infinities that std::complex makes at every step.
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace spdnn
