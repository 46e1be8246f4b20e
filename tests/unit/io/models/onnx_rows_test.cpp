// A table of small ONNX graphs, each as one line, and below it what it computes, or why it is refused: the guards of
// each operator's reader, and constants that are computed when the file is read.

#include "support/onnx_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace spdnn {
namespace {

const std::filesystem::path onnx_row_table = std::filesystem::path(__FILE__).parent_path() / "onnx_rows.txt";

TEST(OnnxRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  testing::expect_rows(onnx_row_table, 700, [](const std::string& row) { return onnx_test::outcome_of_row(row); });
}

TEST(OnnxRows, EachComputesTheSameWhenItIsWrittenAndReadAgain) {
  testing::expect_rows(onnx_row_table, 700,
                       [](const std::string& row) { return onnx_test::outcome_of_row(row, true); });
}

}  // namespace
}  // namespace spdnn
