#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/counter_random.hpp"
#include "data/official/fourier.hpp"

namespace spdnn {
namespace {

using Complex = std::complex<double>;

/// Radices of 2, 3, 4, 5, 7, 11 and 13, alone and together, and primes that no pass does.
class RealTransforms : public ::testing::TestWithParam<std::size_t> {
 protected:
  RealTransforms() {
    RandomStream random(1, 2, 3);
    for (double& number : numbers_) number = static_cast<double>(random.below(1001)) / 500.0 - 1.0;
  }
  std::size_t length_ = GetParam();
  std::vector<double> numbers_ = std::vector<double>(length_);
};

TEST_P(RealTransforms, IsTheSumDoneSlowlyAndComesBack) {
  std::vector<Complex> values(length_ / 2 + 1);
  auto* const numbers = reinterpret_cast<double*>(values.data());
  std::copy(numbers_.begin(), numbers_.end(), numbers);
  const RealFourierTransform transform(length_);
  transform.to_spectrum(values.data());
  const double most = 1e-15 * static_cast<double>(length_);
  for (std::size_t v = 0; v < values.size(); ++v) {
    Complex sum = 0;
    for (std::size_t c = 0; c < length_; ++c) sum += numbers_[c] * std::conj(root_of_unity(v * c, length_));
    ASSERT_LT(std::abs(values[v] - sum), 10 * most) << v;
  }
  transform.to_numbers(values.data());
  for (std::size_t c = 0; c < length_; ++c)
    ASSERT_LT(std::abs(numbers[c] / static_cast<double>(length_) - numbers_[c]), 1e-14) << c;
}

INSTANTIATE_TEST_SUITE_P(Lengths, RealTransforms,
                         ::testing::Values(2, 4, 6, 8, 10, 14, 16, 22, 26, 34, 56, 84, 240, 532, 858, 2002, 4 * 59));

}  // namespace
}  // namespace spdnn
