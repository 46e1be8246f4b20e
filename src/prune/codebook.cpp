#include "prune/codebook.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spdnn {

namespace {

constexpr int kMostRounds = 200;

/// Samples in order, with sums over the first ones: of their weights, and of weight x value.
struct Sums {
  explicit Sums(const std::vector<Sample>& samples) : weights(samples.size() + 1), moments(samples.size() + 1) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      weights[i + 1] = weights[i] + samples[i].weight;
      moments[i + 1] = moments[i] + samples[i].weight * samples[i].value;
    }
  }
  std::vector<double> weights;
  std::vector<double> moments;
};

std::vector<float> different_values(const std::vector<Sample>& samples) {
  std::vector<float> values;
  for (const Sample& sample : samples)
    if (values.empty() || values.back() != sample.value) values.push_back(sample.value);
  return values;
}

/// Where the density of samples is f, the step between neighbours is 1/f on average, and step^(2/3) is f^(1/3) x step:
/// numbers at equal steps of the sum of these are as dense as f^(1/3). A gap counts as the share of one number at most,
/// and all numbers are different, so that each has samples.
std::vector<float> start_of(const std::vector<float>& values, std::size_t size) {
  std::vector<double> steps(values.size());
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double root = std::cbrt(double{values[i]} - values[i - 1]);
    steps[i] = root * root;
  }
  double whole = std::accumulate(steps.begin(), steps.end(), 0.0);
  for (double before = HUGE_VAL; whole < 0.999 * before;) {
    before = whole;
    whole = 0;
    for (double& step : steps) {
      step = std::min(step, before / static_cast<double>(size));
      whole += step;
    }
  }
  std::vector<float> codebook(size);
  std::size_t next = 0;
  double reach = 0;  // to values[next]
  for (std::size_t i = 0; i < size; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(size) * whole;
    for (; reach < at && next < values.size() - (size - i); ++next) reach += steps[next + 1];
    codebook[i] = values[next];
    reach += next + 1 < values.size() ? steps[next + 1] : 0;
    ++next;
  }
  return codebook;
}

/// Moves each number to the mean of the samples nearest to it.
std::vector<float> means_of(const std::vector<Sample>& samples, const Sums& sums, std::vector<float> codebook) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < codebook.size(); ++i) {
    const double middle = i + 1 == codebook.size() ? HUGE_VAL : (double{codebook[i]} + codebook[i + 1]) / 2;
    const std::size_t end =
        std::upper_bound(samples.begin() + static_cast<std::ptrdiff_t>(begin), samples.end(), middle,
                         [](double bound, const Sample& sample) { return bound < sample.value; }) -
        samples.begin();
    if (const double weight = sums.weights[end] - sums.weights[begin]; weight > 0)
      codebook[i] = static_cast<float>((sums.moments[end] - sums.moments[begin]) / weight);
    begin = end;
  }
  std::sort(codebook.begin(), codebook.end());
  return codebook;
}

}  // namespace

std::vector<float> codebook_of(std::vector<Sample> samples, std::size_t size) {
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.value < b.value; });
  std::vector<float> different = different_values(samples);
  if (different.size() <= size) return different;
  const Sums sums(samples);
  std::vector<float> codebook = start_of(different, size);
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<float> next = means_of(samples, sums, codebook);
    if (next == codebook) break;
    codebook = std::move(next);
  }
  return codebook;
}

std::size_t nearest_of(const std::vector<float>& codebook, float value) {
  const std::size_t above = std::lower_bound(codebook.begin(), codebook.end(), value) - codebook.begin();
  if (above == 0) return 0;
  if (above == codebook.size()) return above - 1;
  return value - codebook[above - 1] <= codebook[above] - value ? above - 1 : above;
}

}  // namespace spdnn
