#include "model/csr_of_dense.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace spdnn
