// Plans in the form that vendor libraries need.

#include "engines/cuda/layers/library_plan.hpp"

#include <gtest/gtest.h>

namespace spdnn {
namespace {

CsrMatrix matrix_of(Index cols, std::vector<Offset> offsets, std::vector<Index> indices, std::vector<float> values) {
  CsrMatrix matrix;
  matrix.rows = static_cast<Index>(offsets.size() - 1);
  matrix.cols = cols;
  matrix.offsets = Array<Offset>(std::move(offsets));
  matrix.indices = Array<Index>(std::move(indices));
  matrix.values = Array<float>(std::move(values));
  matrix.value = 0.5F;
  return matrix;
}

template <class T>
std::vector<T> vector_of(const Array<T>& array) {
  return {array.begin(), array.end()};
}

TEST(LibraryPlan, RepeatedColumnsAreAddedUpAndAscend) {
  const CsrMatrix distinct =
      with_distinct_columns(matrix_of(5, {0, 4, 4, 6}, {3, 1, 3, 3, 0, 4}, {1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(vector_of(distinct.offsets), (std::vector<Offset>{0, 2, 2, 4}));
  EXPECT_EQ(vector_of(distinct.indices), (std::vector<Index>{1, 3, 0, 4}));
  EXPECT_EQ(vector_of(distinct.values), (std::vector<float>{2, 13, 16, 32}));
}

TEST(LibraryPlan, RepeatedColumnsOfOneValueGetValues) {
  const CsrMatrix distinct = with_distinct_columns(matrix_of(5, {0, 3}, {2, 2, 1}, {}));
  EXPECT_EQ(vector_of(distinct.indices), (std::vector<Index>{1, 2}));
  EXPECT_EQ(vector_of(distinct.values), (std::vector<float>{0.5F, 1.0F}));
}

TEST(LibraryPlan, DistinctRowsShareTheirStorage) {
  const CsrMatrix matrix = matrix_of(5, {0, 2, 4}, {0, 4, 1, 2}, {});
  EXPECT_EQ(with_distinct_columns(matrix).indices.data(), matrix.indices.data());
}

TEST(LibraryPlan, ByInputTransposesEveryLayerAndKeepsItsBias) {
  Plan plan;
  plan.layers.resize(1);
  plan.layers[0].weights = matrix_of(3, {0, 2, 3}, {0, 2, 2}, {1, 2, 3});
  plan.layers[0].bias.uniform = -0.5;
  const Plan turned = by_input(plan);
  EXPECT_EQ(vector_of(turned.layers[0].weights.offsets), (std::vector<Offset>{0, 1, 1, 3}));
  EXPECT_EQ(vector_of(turned.layers[0].weights.indices), (std::vector<Index>{0, 0, 1}));
  EXPECT_EQ(vector_of(turned.layers[0].weights.values), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(turned.layers[0].bias.uniform, -0.5);
}

TEST(LibraryPlan, PositiveBiasesBecomeAnInput) {
  Layer layer;  // two inputs that feed three outputs
  layer.weights = matrix_of(3, {0, 2, 3}, {0, 2, 1}, {});
  layer.bias.values = Array<double>({0.25, -1.0, 0.5});
  ASSERT_TRUE(lift_positive_biases(layer));
  EXPECT_NO_THROW(layer.weights.validate());
  EXPECT_EQ(vector_of(layer.weights.offsets), (std::vector<Offset>{0, 2, 3, 5}));
  EXPECT_EQ(vector_of(layer.weights.indices), (std::vector<Index>{0, 2, 1, 0, 2}));
  EXPECT_EQ(vector_of(layer.weights.values), (std::vector<float>{0.5F, 0.5F, 0.5F, 0.25F, 0.5F}));
  EXPECT_EQ(vector_of(layer.bias.values), (std::vector<double>{0, -1, 0}));
  EXPECT_FALSE(lift_positive_biases(layer));
}

}  // namespace
}  // namespace spdnn
