#pragma once

#include <cstddef>
#include <vector>

namespace spdnn {

/// A number that a codebook is to stand for, and the weight of its squared error.
struct Sample {
  float value = 0;
  double weight = 1;
};

/// `size` numbers, ascending, that lose little when each sample becomes the nearest of them; all different numbers if
/// they are no more than `size`. Found by k-means in one dimension (S. P. Lloyd 1982), which ends in the optimum next
/// to its start: the start is as dense as the cube root of the samples' density, which is best for many numbers (P. F.
/// Panter & W. Dite 1951). Cost: a sort, then a round takes size x log(samples).
std::vector<float> codebook_of(std::vector<Sample> samples, std::size_t size);

/// The index of the nearest number of an ascending codebook that is not empty; of two, the smaller one.
std::size_t nearest_of(const std::vector<float>& codebook, float value);

}  // namespace spdnn
