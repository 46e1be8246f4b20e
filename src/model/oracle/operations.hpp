#pragma once

#include <cmath>
#include <vector>

#include "model/oracle/evaluate.hpp"

// The oracle's operations, by what they do; see model.hpp for the bounds.
namespace spdnn::reference {

/// Half the distance of neighbouring fp32 numbers at 1.
inline constexpr double kUnit = 0x1p-24;
/// What an fp32 operation may lose where subnormals are flushed to zero.
inline constexpr double kUnderflow = 0x1p-126;

/// The relative error of n roundings together; infinite where there are so many that nothing is known.
inline double gamma(double n) { return n * kUnit < 1 ? n * kUnit / (1 - n * kUnit) : INFINITY; }

/// A sum as it grows, with what its bound is made of.
struct Sum {
  double value = 0;
  double magnitude = 0;  ///< sum |w| (|x| + e)
  double spread = 0;     ///< sum |w| e

  void add(double weight, double x, double bound) {
    value += weight * x;
    magnitude += std::abs(weight) * (std::abs(x) + bound);
    spread += std::abs(weight) * bound;
  }
  double bound(double roundings) const {
    return magnitude == 0 ? spread : gamma(roundings) * magnitude + spread + 2 * roundings * kUnderflow;
  }
};

/// A result of that shape, yet to be filled.
Bounded blank(Shape shape);

Bounded convolve(const Convolution& convolution, const Bounded& x);
Bounded multiply_rows(const Linear& linear, const Bounded& x);
Bounded pool(const Pool& pool, const Bounded& x);
Bounded pool_all(const GlobalPool& pool, const Bounded& x);

Bounded normalise(const BatchNorm& norm, const Bounded& x);
Bounded activate(const Activation& activation, const Bounded& x);
Bounded combine(const Elementwise& elementwise, const Bounded& a, const Bounded& b);
Bounded soften(const Softmax& softmax, const Bounded& x);

Bounded join(const Concat& concat, const std::vector<const Bounded*>& inputs);
Bounded reshape(const Reshape& reshape, const Bounded& x);
Bounded transpose(const Transpose& transpose, const Bounded& x);
Bounded pad(const Pad& pad, const Bounded& x);
Bounded resize(const Resize& resize, const Bounded& x);

}  // namespace spdnn::reference
