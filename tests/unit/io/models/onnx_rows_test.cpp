// A table of small ONNX graphs, each as one line, and below it what it computes, or why it is refused: the guards of
// each operator's reader, and constants that are computed when the file is read.

#include "support/onnx_rows.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

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

// The operators by their first set of those that are read, and their least and greatest number of inputs.
constexpr const char* kOnnxOperators = R"(1 0 0 Constant
1 1 1 AveragePool DepthToSpace Flatten GlobalAveragePool GlobalMaxPool Identity LRN LogSoftmax MaxPool Shape Size Softmax
1 1 1 Softplus Softsign SpaceToDepth Transpose
1 1 2 ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
1 1 2 Squeeze Unsqueeze
1 1 5 Slice
1 2 2 Gather MatMul Pow
1 2 3 Conv ConvTranspose
2 1 2 Split
2 1 4 Pad
4 1 1048576 Concat
5 2 2 Reshape
6 1 1 Abs Cast Ceil Elu Exp Floor HardSigmoid LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid Sqrt Tanh
6 1 3 Clip Dropout
6 1 1048576 Max Mean Min Sum
6 2 2 Add Div Mul PRelu Sub Tile
6 2 3 Gemm
6 3 3 InstanceNormalization
6 5 5 BatchNormalization
7 1 1 Acos Asin Atan Cos Sin Tan
7 2 2 Equal Greater Less
8 2 2 Expand
9 1 1 Acosh Asinh Atanh ConstantOfShape Cosh Erf Shrink Sign Sinh
9 3 3 Where
10 1 1 ThresholdedRelu
10 1 4 Resize
10 2 3 DequantizeLinear QuantizeLinear
11 1 1 Round
11 3 3 Range
12 1 1 Celu
14 1 1 HardSwish
17 2 3 LayerNormalization
18 1 1 Mish
18 3 3 GroupNormalization
20 1 1 Gelu
)";

TEST(OnnxRows, EachOperatorIsReadFromItsFirstSetOnWithItsNumbersOfInputs) {
  std::istringstream table(kOnnxOperators);
  for (std::string line, got, expected; std::getline(table, line); got.clear(), expected.clear()) {
    std::istringstream fields(line);
    int first = 0;
    int least = 0;
    int most = 0;
    fields >> first >> least >> most;
    for (std::string name; fields >> name;) {
      const auto add = [&](int set, int inputs, const std::string& problem) {
        std::string row = fmt::format("@{} {}(x[2]", set, name);
        for (int i = 1; i < inputs; ++i) row += ", x";
        got += onnx_test::outcome_of_row(row + ")") + "\n";
        expected += fmt::format("node 'n0' ({}): {}\n", name, problem);
      };
      if (first > 1)
        add(first - 1, 1,
            fmt::format("the operator is supported in the sets {}..21, and the file has {}", first, first - 1));
      for (const int inputs : {least - 1, most + 1})
        if (inputs > 0 && inputs < 9)
          add(first, inputs, fmt::format("{} inputs, expected {}..{}", inputs, least, most));
    }
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace spdnn
