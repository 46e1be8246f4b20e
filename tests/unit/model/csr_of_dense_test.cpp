#include "model/operations/csr_of_dense.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {
namespace {

TEST(CsrOfDense, AMatrixLiesByRowsOrByColumns) {
  for (const bool by_columns : {false, true}) {
    const std::vector<float> values =
        by_columns ? std::vector<float>{1, 0, 0, 2, 3, 0} : std::vector<float>{1, 0, 3, 0, 2, 0};
    const CsrMatrix matrix = csr_of_dense(values, 2, 3, by_columns);
    EXPECT_EQ(std::vector<Offset>(matrix.offsets.begin(), matrix.offsets.end()), (std::vector<Offset>{0, 2, 3}));
    EXPECT_EQ(std::vector<Index>(matrix.indices.begin(), matrix.indices.end()), (std::vector<Index>{0, 2, 1}));
    EXPECT_EQ(std::vector<float>(matrix.values.begin(), matrix.values.end()), (std::vector<float>{1, 3, 2}));
  }
}

TEST(CsrOfDense, DenseRowsAndFiltersHaveTheZerosAgain) {
  const std::vector<float> values{1, 0, 3, 0, 2, 0};
  EXPECT_EQ(dense_rows(csr_of_dense(values, 2, 3), 0, 2), values);
  EXPECT_EQ(dense_rows(csr_of_dense(values, 2, 3), 1, 2), (std::vector<float>{0, 2, 0}));
  EXPECT_EQ(dense_rows(make_csr(2, 2, {0, 1, 2}, {1, 0}), 0, 2), (std::vector<float>{0, 1, 1, 0}));
  Convolution convolution;
  std::vector<float> filters(48);
  for (std::size_t i = 0; i < filters.size(); i += 5) filters[i] = static_cast<float>(i);
  convolution.weights = csr_of_dense(filters, 4, 12);
  convolution.window.kernel = {3, 2};
  convolution.groups = 2;
  const Tensor dense = dense_filters(convolution);
  EXPECT_EQ(dense.shape, (Shape{4, 2, 3, 2}));
  EXPECT_EQ(std::vector<float>(dense.values.begin(), dense.values.end()), filters);
}

}  // namespace
}  // namespace spdnn
