#include "prune/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kBlock = 64;    ///< columns of a block of X'X, which stays in the first cache
constexpr std::size_t kTogether = 4;  ///< samples that are added to a sum before it is stored
constexpr double kDamping = 0.01;
constexpr int kMostSteps = 100;
constexpr double kSmallResidual = 1e-4;

/// Rows of samples, `width` numbers each.
struct SampleRows {
  const float* numbers;
  std::size_t width;
};

/// One block: sums(i, j) += the products of column i of a and column j of b. Samples in which the columns of a are
/// zero, which about half of all activations are, cost nothing.
void add_block(SampleRows a, SampleRows b, std::size_t count, std::size_t i0, std::size_t j0, float* sums) {
  std::array<std::array<float, kBlock>, kBlock> block{};
  const std::size_t height = std::min(kBlock, a.width - i0);
  const std::size_t width = std::min(kBlock, b.width - j0);
  for (std::size_t p = 0; p < count; p += kTogether) {
    const std::size_t together = std::min(kTogether, count - p);
    std::array<std::array<float, kBlock>, kTogether> y{};
    for (std::size_t t = 0; t < together; ++t) std::copy_n(b.numbers + (p + t) * b.width + j0, width, y[t].begin());
    for (std::size_t i = 0; i < height; ++i) {
      std::array<float, kTogether> x{};
      for (std::size_t t = 0; t < together; ++t) x[t] = a.numbers[(p + t) * a.width + i0 + i];
      if (x[0] == 0 && x[1] == 0 && x[2] == 0 && x[3] == 0) continue;
      for (std::size_t j = 0; j < kBlock; ++j)
        block[i][j] += x[0] * y[0][j] + x[1] * y[1][j] + x[2] * y[2][j] + x[3] * y[3][j];
    }
  }
  for (std::size_t i = 0; i < height; ++i)
    for (std::size_t j = 0; j < width; ++j) sums[(i0 + i) * b.width + j0 + j] += block[i][j];
}

/// sums += a'b; of a symmetric product, whose blocks below the diagonal are left alone, those above it.
void add_products(SampleRows a, SampleRows b, std::size_t count, bool symmetric, float* sums) {
  const std::size_t across = (b.width + kBlock - 1) / kBlock;
  const std::size_t down = (a.width + kBlock - 1) / kBlock;
  parallel_for(across * down, [&](std::size_t block) {
    const std::size_t i = block / across;
    const std::size_t j = block % across;
    if (!symmetric || j >= i) add_block(a, b, count, i * kBlock, j * kBlock, sums);
  });
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// product = (matrix + damping) vector, for a symmetric matrix. Rows are added to the product, several at a time: sums
/// of single rows, each term of which waits for the one before, would take five times as long. Sums of a few rows are
/// fp32, as the matrix is, and the product is fp64.
void multiply(const std::vector<float>& matrix, double damping, const std::vector<double>& vector,
              std::vector<double>& product) {
  const std::size_t n = vector.size();
  for (std::size_t j = 0; j < n; ++j) product[j] = damping * vector[j];
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    const float* const row = matrix.data() + i * n;
    std::array<float, kTogether> x{};
    for (std::size_t t = 0; t < kTogether; ++t) x[t] = static_cast<float>(vector[i + t]);
    for (std::size_t j = 0; j < n; ++j)
      product[j] += double{x[0] * row[j] + x[1] * row[n + j] + x[2] * row[2 * n + j] + x[3] * row[3 * n + j]};
  }
  for (; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) product[j] += vector[i] * matrix[i * n + j];
}

/// The solution of (matrix + damping) x = right, from x = 0, preconditioned by the diagonal. The matrix is symmetric.
std::vector<double> conjugate_gradients(const std::vector<float>& matrix, double damping, std::vector<double> right) {
  const std::size_t n = right.size();
  std::vector<double> x(n);
  std::vector<double> z(n);
  const auto precondition = [&] {
    for (std::size_t i = 0; i < n; ++i) z[i] = right[i] / (matrix[i * n + i] + damping);
    return dot(right, z);
  };
  double rz = precondition();
  const double first = rz;
  std::vector<double> direction = z;
  std::vector<double> product(n);
  for (int step = 0; step < kMostSteps && rz > kSmallResidual * kSmallResidual * first; ++step) {
    multiply(matrix, damping, direction, product);
    const double length = rz / dot(direction, product);
    for (std::size_t i = 0; i < n; ++i) x[i] += length * direction[i];
    for (std::size_t i = 0; i < n; ++i) right[i] -= length * product[i];
    const double next = precondition();
    for (std::size_t i = 0; i < n; ++i) direction[i] = z[i] + next / rz * direction[i];
    rz = next;
  }
  return x;
}

NormalEquations::Filter filter_of(const CsrMatrix& weights, const std::vector<float>& bias, Index row) {
  NormalEquations::Filter filter;
  for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
    filter.columns.push_back(weights.indices[k]);
    filter.values.push_back(weights.entry_value(k));
  }
  if (bias.empty()) return filter;
  filter.columns.push_back(weights.cols);
  filter.values.push_back(bias[row]);
  return filter;
}

/// A filter and its error before and after the fit.
struct Fit {
  NormalEquations::Filter filter;
  double before = 0;
  double after = 0;
};

/// The fitted filter as fp32 stores it, or the given one where that is not better.
Fit better_of(const NormalEquations& equations, Index filter, const NormalEquations::Filter& given) {
  Fit fit{equations.fitted(filter, given), equations.error(filter, given)};
  std::vector<double>& values = fit.filter.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto stored = static_cast<float>(values[i]);
    values[i] = std::isnormal(stored) ? stored : given.values[i];
  }
  fit.after = equations.error(filter, fit.filter);
  return fit.after < fit.before ? fit : Fit{given, fit.before, fit.before};
}

}  // namespace

NormalEquations::NormalEquations(Index columns, Index filters, bool has_bias)
    : width_(std::size_t{columns} + (has_bias ? 1 : 0)),
      has_bias_(has_bias),
      gram_(width_ * width_),
      cross_(width_ * filters),
      squares_(filters) {}

void NormalEquations::add(const Samples& samples) {
  const std::vector<float>* inputs = &samples.inputs;
  std::vector<float> with_ones;
  if (has_bias_) {
    with_ones.reserve(samples.count * width_);
    for (std::size_t p = 0; p < samples.count; ++p) {
      const auto row = samples.inputs.begin() + static_cast<std::ptrdiff_t>(p * (width_ - 1));
      with_ones.insert(with_ones.end(), row, row + static_cast<std::ptrdiff_t>(width_ - 1));
      with_ones.push_back(1);
    }
    inputs = &with_ones;
  }
  const SampleRows x{inputs->data(), width_};
  add_products(x, x, samples.count, true, gram_.data());
  for (std::size_t i = 0; i < width_; ++i)
    for (std::size_t j = (i / kBlock + 1) * kBlock; j < width_; ++j) gram_[j * width_ + i] = gram_[i * width_ + j];
  add_products(x, {samples.targets.data(), squares_.size()}, samples.count, false, cross_.data());
  for (std::size_t i = 0; i < samples.targets.size(); ++i)
    squares_[i % squares_.size()] += double{samples.targets[i]} * samples.targets[i];
}

double NormalEquations::error(Index filter, const Filter& weights) const {
  double error = squares_[filter];
  for (std::size_t i = 0; i < weights.columns.size(); ++i) {
    const std::size_t column = weights.columns[i];
    double product = 0;
    for (std::size_t j = 0; j < weights.columns.size(); ++j)
      product += double{gram_[column * width_ + weights.columns[j]]} * weights.values[j];
    error += weights.values[i] * (product - 2 * double{cross_[column * squares_.size() + filter]});
  }
  return std::max(error, 0.0);
}

NormalEquations::Filter NormalEquations::fitted(Index filter, const Filter& weights) const {
  const std::size_t n = weights.columns.size();
  std::vector<float> matrix(n * n);
  std::vector<double> right(n);
  double trace = 0;
  for (std::size_t column = 0; column < width_; ++column) trace += gram_[column * width_ + column];
  if (n == 0 || trace == 0) return weights;
  for (std::size_t i = 0; i < n; ++i) {
    const float* const row = gram_.data() + weights.columns[i] * width_;
    for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] = row[weights.columns[j]];
  }
  multiply(matrix, 0, weights.values, right);
  for (std::size_t i = 0; i < n; ++i) right[i] = cross_[weights.columns[i] * squares_.size() + filter] - right[i];
  const std::vector<double> change =
      conjugate_gradients(matrix, kDamping * trace / static_cast<double>(width_), std::move(right));
  Filter fitted = weights;
  for (std::size_t i = 0; i < n; ++i) fitted.values[i] += change[i];
  return fitted;
}

Repaired repaired(const CsrMatrix& weights, const std::vector<float>& bias, std::span<const NormalEquations> groups) {
  const auto filters = static_cast<Index>(weights.rows / groups.size());
  std::vector<Fit> fits(weights.rows);
  parallel_for(weights.rows, [&](std::size_t row) {
    fits[row] = better_of(groups[row / filters], static_cast<Index>(row % filters),
                          filter_of(weights, bias, static_cast<Index>(row)));
  });
  Repaired result;
  std::vector<float> values;
  double squares = 0;
  double before = 0;
  double after = 0;
  for (Index row = 0; row < weights.rows; ++row) {
    const std::vector<double>& found = fits[row].filter.values;
    const std::size_t own = weights.degree(row);
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(own), std::back_inserter(values),
                   [](double value) { return static_cast<float>(value); });
    if (!bias.empty()) result.bias.push_back(static_cast<float>(found[own]));
    squares += groups[row / filters].squares(row % filters);
    before += fits[row].before;
    after += fits[row].after;
  }
  const auto relative = [&](double error) { return squares == 0 ? 0 : std::sqrt(error / squares); };
  result.error_before = relative(before);
  result.error_after = relative(after);
  result.weights = {weights.rows, weights.cols, weights.offsets, weights.indices, std::move(values)};
  return result;
}

}  // namespace spdnn
