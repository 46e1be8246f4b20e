// A table of small TensorFlow Lite graphs, each as one line, and below it what it computes, or why it is refused: each
// option of each operator away from its default, and each guard of their readers.

#include "support/tflite_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <tuple>

namespace spdnn {
namespace {

TEST(TfliteRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  testing::expect_rows(std::filesystem::path(__FILE__).parent_path() / "tflite_rows.txt", 300,
                       tflite_test::outcome_of_row);
}

TEST(TfliteRows, EachOperatorHasItsNumbersOfInputs) {
  const std::tuple<int, int, const char*> operators[] = {
      {1, 1, "ABS AVERAGE_POOL_2D DENSIFY DEPTH_TO_SPACE DEQUANTIZE ELU EXP HARD_SWISH LEAKY_RELU LOG LOGISTIC RSQRT"},
      {1, 1, "MAX_POOL_2D NEG RELU RELU6 RELU_N1_TO_1 SOFTMAX SPACE_TO_DEPTH SQRT SQUARE SQUEEZE TANH"},
      {2, 2, "ADD DIV EXPAND_DIMS MAXIMUM MEAN MINIMUM MIRROR_PAD MUL PAD POW PRELU RESIZE_BILINEAR SPLIT SUB"},
      {2, 2, "RESIZE_NEAREST_NEIGHBOR"},
      {1, 2, "RESHAPE"},
      {2, 3, "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED"},
      {3, 3, "SLICE"},
      {3, 4, "TRANSPOSE_CONV"},
      {4, 4, "STRIDED_SLICE"}};
  for (const auto& [least, most, names] : operators) {
    std::istringstream each(names);
    for (std::string name; each >> name;)
      for (const int inputs : {least - 1, most + 1}) {
        if (inputs == 0) continue;
        std::string row = name + "(x[1,1,1,2]";
        for (int i = 1; i < inputs; ++i) row += ", x";
        EXPECT_EQ(tflite_test::outcome_of_row(row + ")"),
                  fmt::format("operator 0 ({}): {} inputs, expected {}..{}", name, inputs, least, most));
      }
  }
}

}  // namespace
}  // namespace spdnn
