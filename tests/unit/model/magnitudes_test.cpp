// The bounds of a node's numbers, by which engines leave out looking for overflow: no result may exceed them.

#include "model/graph/magnitudes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using Kind = Activation::Kind;
using testing::kN;
using testing::make_tensor;
using testing::ModelBuilder;

constexpr Extent kChannels = 19;  // two whole groups of eight, and some more

/// A tensor of which each row along axis 1 has other signs, all elements of that size or a share of it.
Tensor tensor_of_size(testing::Rng& rng, const Shape& shape, float size) {
  Tensor x = testing::random_tensor(rng, shape);
  std::vector<float> values(x.values.begin(), x.values.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 3 == 0 ? values[i] * size : values[i] < 0 ? -size : size;
  return make_tensor(shape, std::move(values));
}

double largest_result(const Operation& operation, const std::vector<Tensor>& inputs) {
  std::vector<Bounded> exact;
  for (const Tensor& input : inputs) exact.push_back(exactly(input));
  std::vector<const Bounded*> read;
  for (const Bounded& one : exact) read.push_back(&one);
  double largest = 0;
  for (const double value : evaluate(operation, read).values)
    if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

std::vector<Operation> operations_of_one() {
  testing::Rng rng(3);
  testing::Rows one_weight(2);
  for (Index column = 0; column < kChannels; ++column) one_weight[1].emplace_back(column, -0.75F);
  Convolution uniform;
  uniform.weights = testing::make_matrix(kChannels, one_weight, true);
  std::vector<Operation> all{
      uniform,
      testing::random_convolution(rng, kChannels, 4, testing::same_window(3, 3), 1),
      testing::random_norm(rng, kChannels),
      Pool{.window = {.kernel = {2, 2}}},
      Pool{.kind = Pool::Kind::average, .window = {.kernel = {2, 2}}},
      GlobalPool{},
      Softmax{1},
      Transpose{{0, 2, 3, 1}},
      Pad{{0, 0, 1, 0}, {0, 0, 0, 2}, -7},
      Reduce{Reduce::Kind::sum, {1, 3}},
      Reduce{Reduce::Kind::maximum, {2}},
      Reduce{Reduce::Kind::product, {2}},
      Resize{Resize::Kind::linear, Resize::Place::half_pixel, Resize::Rounding::half_down, {7, 3}, {1.75F, 0.75F}},
      testing::make_clip(-6, 1),
      testing::make_clip(-1, 6)};
  Activation slopes{.kind = Kind::prelu, .alphas = std::vector<float>(kChannels, 0.5F)};
  slopes.alphas[5] = -4;
  all.emplace_back(slopes);
  for (int kind = 0; kind <= static_cast<int>(Kind::atanh); ++kind)
    if (const auto function = static_cast<Kind>(kind); function != Kind::prelu && function != Kind::clip)
      for (const float alpha : {0.75F, -3.F}) all.emplace_back(testing::make_activation(function, alpha, 0.5F));
  return all;
}

TEST(Magnitudes, CoverTheResultsOfEveryOperationWhateverItsArguments) {
  testing::Rng rng(5);
  for (const Operation& operation : operations_of_one()) {
    ModelBuilder builder;
    const Model model = builder.finish({builder.add(operation, {builder.input({kN, kChannels, 4, 4})})});
    const Magnitudes magnitudes(model);
    for (const float size : {0.25F, 1.F, 7.F, 90.F}) {
      const double largest = largest_result(operation, {tensor_of_size(rng, {2, kChannels, 4, 4}, size)});
      const Magnitude found = magnitudes.of(0, std::array{double{size}});
      EXPECT_LE(largest, found.result * (1 + 1e-12)) << operation_name(operation) << " of " << size;
      EXPECT_LE(std::min(largest, found.result), std::max(found.inside, found.result) * (1 + 1e-12));
    }
  }
}

TEST(Magnitudes, CoverTheResultsOfTwoArguments) {
  testing::Rng rng(7);
  std::vector<Operation> operations{MatMul{}, MatMul{true}, Concat{1}};
  using Both = Elementwise::Kind;
  for (const Both kind :
       {Both::add, Both::subtract, Both::multiply, Both::divide, Both::maximum, Both::minimum, Both::power})
    operations.emplace_back(Elementwise{kind});
  for (const Operation& operation : operations)
    for (const auto& [a, b] : {std::pair{0.25F, 9.F}, {9.F, 0.25F}, {1.F, 1.F}}) {
      const Shape shape{2, 3, 5, 5};
      const Tensor second = tensor_of_size(rng, shape, b);
      ModelBuilder builder;
      const ValueId x = builder.input(shape);
      const Model model = builder.finish({builder.add(operation, {x, builder.constant(second)})});
      const double largest = largest_result(operation, {tensor_of_size(rng, shape, a), second});
      EXPECT_LE(largest, Magnitudes(model).of(0, std::array{double{a}, double{b}}).result * (1 + 1e-12))
          << operation_name(operation) << " of " << a << " and " << b;
    }
}

/// A bound that is too large would have every batch looked through.
TEST(Magnitudes, AreNotIdle) {
  testing::Rng rng(9);
  for (const auto& [operation, most] :
       std::vector<std::pair<Operation, double>>{{testing::make_clip(-1, 6), 6},
                                                 {testing::make_activation(Kind::tanh), 1},
                                                 {testing::make_activation(Kind::elu, 0.5F), 90},
                                                 {testing::make_activation(Kind::asinh), 90},
                                                 {testing::make_activation(Kind::softplus), 91},
                                                 {Softmax{1}, 1},
                                                 {Reduce{Reduce::Kind::sum, {1}}, 90.0 * kChannels},
                                                 {Pad{{0, 0, 1, 0}, {0, 0, 0, 0}, 2}, 90}}) {
    ModelBuilder builder;
    const Model model = builder.finish({builder.add(operation, {builder.input({kN, kChannels, 4, 4})})});
    EXPECT_LE(Magnitudes(model).of(0, std::array{90.0}).result, most) << operation_name(operation);
  }
}

}  // namespace
}  // namespace spdnn
