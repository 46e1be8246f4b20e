// A table of small ONNX graphs, each as one line, and below it what it computes, or why it is refused: the guards of
// each operator's reader, and constants that are computed when the file is read.

#include "support/onnx_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace spdnn {
namespace {

TEST(OnnxRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  testing::expect_rows(std::filesystem::path(__FILE__).parent_path() / "onnx_rows.txt", 500, onnx_test::outcome_of_row);
}

}  // namespace
}  // namespace spdnn
