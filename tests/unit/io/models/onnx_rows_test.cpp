// A table of small ONNX graphs, each as one line, and below it what it computes, or why it is refused: the guards of
// each operator's reader, and constants that are computed when the file is read.

#include "support/onnx_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace spdnn {
namespace {

TEST(OnnxRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  std::ifstream table(std::filesystem::path(__FILE__).parent_path() / "onnx_rows.txt");
  ASSERT_TRUE(table);
  int rows = 0;
  std::string outcome;
  for (std::string row; std::getline(table, row) && std::getline(table, outcome); ++rows)
    EXPECT_EQ("  " + onnx_test::outcome_of_row(row), outcome) << row;
  EXPECT_GT(rows, 300);
}

}  // namespace
}  // namespace spdnn
