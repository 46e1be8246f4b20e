// A table of small TensorFlow Lite graphs, each as one line, and below it what it computes, or why it is refused: each
// option of each operator away from its default, and each guard of their readers.

#include "support/tflite_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace spdnn {
namespace {

TEST(TfliteRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  testing::expect_rows(std::filesystem::path(__FILE__).parent_path() / "tflite_rows.txt", 300,
                       tflite_test::outcome_of_row);
}

}  // namespace
}  // namespace spdnn
