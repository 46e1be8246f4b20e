// Slice, Split and Gather of values, and ConstantOfShape: the elements that they take, and refusals.

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <utility>

#include "model/oracle/evaluate.hpp"
#include "support/onnx_file.hpp"

namespace spdnn {
namespace {

using onnx_test::expect_part;
using onnx_test::File;
using onnx_test::refusal;
using onnx_test::set;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// The outputs for one image of 2 x 6: 0 to 11.
std::vector<std::vector<double>> parts(const File& file) {
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  const Tensor images{{1, 2, 6}, std::move(numbers)};
  std::vector<std::vector<double>> found;
  for (const Bounded& output : evaluate(file.read(), {images})) found.push_back(output.values);
  return found;
}
File file_with_x(int opset = 17) {
  File file(opset);
  file.input("x", {-1, 2, 6});
  return file;
}
using PartValues = std::vector<std::vector<double>>;

TEST(OnnxParts, SlicesOfValues) {
  const auto sliced = [](const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& ends,
                         const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& steps) {
    File file = file_with_x();
    file.output("y").integers("s", starts).integers("e", ends).integers("a", axes).integers("t", steps);
    file.node("Slice", {"x", "s", "e", "a", "t"}, "y");
    return file;
  };
  EXPECT_EQ(parts(sliced({1}, {3}, {2}, {1})), (PartValues{{1, 2, 7, 8}}));
  EXPECT_EQ(parts(sliced({-1, 1}, {kEnd, -3}, {1, -1}, {1, 1})), (PartValues{{7, 8}}));
  EXPECT_EQ(parts(sliced({0}, {kEnd}, {2}, {2})), (PartValues{{0, 2, 4, 6, 8, 10}}));
  EXPECT_EQ(parts(sliced({1}, {6}, {2}, {3})), (PartValues{{1, 4, 7, 10}}));
  EXPECT_EQ(parts(sliced({2}, {6}, {2}, {3})), (PartValues{{2, 5, 8, 11}}));
  EXPECT_EQ(parts(sliced({5}, {6}, {2}, {kEnd})), (PartValues{{5, 11}}));
  EXPECT_EQ(parts(sliced({0, 1}, {kEnd, 2}, {0, 1}, {1, 1})), (PartValues{{6, 7, 8, 9, 10, 11}}));
  expect_part(refusal(sliced({1}, {kEnd}, {0}, {1})),
              "node 'y' (Slice): input 1 'x': the batch axis has no fixed size");
  EXPECT_EQ(parts(sliced({5}, {0}, {2}, {-2})), (PartValues{{5, 3, 1, 11, 9, 7}}));
  expect_part(refusal(sliced({3}, {3}, {2}, {1})), "nothing is left of axis 2 of N x 2 x 6");
}

TEST(OnnxParts, SplitsOfValuesAndConstants) {
  File file = file_with_x();
  file.integers("lengths", {1, 5}).output("a").output("b").output("d");
  file.node("Split", {"x", "lengths"}, "a").add_output("b");
  set(*file.graph().mutable_node(0), "axis", std::int64_t{-1});
  file.floats("w", {2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  onnx::NodeProto& halves = file.node("Split", {"w"}, "c");
  halves.add_output("half");
  file.node("Add", {"a", "half"}, "d");
  EXPECT_EQ(parts(file),
            (PartValues{{0, 6}, {1, 2, 3, 4, 5, 7, 8, 9, 10, 11}, {6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}));
}

TEST(OnnxParts, LengthsOfSplitsThatDoNotFitAreRefused) {
  const auto split = [](int opset, const std::vector<std::int64_t>& lengths, std::int64_t axis) {
    File file = file_with_x(opset);
    file.output("a").output("b");
    onnx::NodeProto& node = file.node("Split", {"x"}, "a");
    node.add_output("b");
    set(node, "axis", axis);
    if (!lengths.empty()) set(node, "split", lengths);
    return file;
  };
  EXPECT_EQ(parts(split(11, {2, 4}, 2)), (PartValues{{0, 1, 6, 7}, {2, 3, 4, 5, 8, 9, 10, 11}}));
  EXPECT_EQ(parts(split(11, {}, 1)), (PartValues{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}));
  expect_part(refusal(split(11, {2, 3}, 2)), "node 'a' (Split): 2 parts with 5 of 6 elements for 2 outputs");
  expect_part(refusal(split(11, {2, 2, 2}, 2)), "3 parts with 6 of 6 elements for 2 outputs");
  expect_part(refusal(split(11, {2, 5}, 2)), "a part of length 5, but 4 of 6 are left");
  expect_part(refusal(split(11, {0, 6}, 2)), "a part of length 0, but 6 of 6 are left");
  expect_part(refusal(split(11, {}, 0)), "the batch axis has no fixed size");
  expect_part(refusal(split(13, {2, 4}, 2)), "attribute split: not supported");
}

TEST(OnnxParts, GathersOfValues) {
  const auto gathered = [](const std::vector<std::int64_t>& indices, std::int64_t axis, bool scalar = false) {
    File file = file_with_x();
    file.output("y").integers("i", indices);
    if (scalar) file.graph().mutable_initializer(0)->clear_dims();
    set(file.node("Gather", {"x", "i"}, "y"), "axis", axis);
    return file;
  };
  EXPECT_EQ(parts(gathered({4, 5, 0, -1}, 2)), (PartValues{{4, 5, 0, 5, 10, 11, 6, 11}}));
  EXPECT_EQ(parts(gathered({1, 1}, 1)), (PartValues{{6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11}}));
  const Model one = gathered({1}, 1, true).read();
  EXPECT_EQ(one.values[one.outputs[0]].shape, (Shape{kBatchExtent, 6}));
  expect_part(refusal(gathered({6}, 2)), "node 'y' (Gather): input 2 'i': index 6 of an axis of length 6");
  expect_part(refusal(gathered({0}, 0)), "the batch axis has no fixed size");
  expect_part(refusal(gathered({}, 1)), "no elements are gathered");
}

TEST(OnnxParts, ConstantsOfAShape) {
  const auto filled = [](const std::vector<std::int64_t>& lengths, const std::vector<float>& value) {
    File file = file_with_x();
    file.output("y").integers("lengths", lengths);
    onnx::NodeProto& node = file.node("ConstantOfShape", {"lengths"}, "c");
    if (!value.empty()) {
      onnx::TensorProto& tensor = *onnx_test::attribute(node, "value", onnx::AttributeProto::TENSOR).mutable_t();
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_dims(static_cast<std::int64_t>(value.size()));
      for (const float number : value) tensor.add_float_data(number);
    }
    file.node("Add", {"x", "c"}, "y");
    return file;
  };
  EXPECT_EQ(parts(filled({2, 1}, {0.5F})), (PartValues{{.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5}}));
  EXPECT_EQ(parts(filled({1}, {})), (PartValues{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}));
  expect_part(refusal(filled({2, 1}, {1, 2})), "node 'c' (ConstantOfShape): attribute value: 2 numbers, expected one");
  expect_part(refusal(filled({-2}, {})), "an axis of negative length");
  expect_part(refusal(filled({kEnd, kEnd}, {})), "elements exceed the address space");
  expect_part(refusal(filled({1LL << 40}, {})), "the constants take far more memory than the file has bytes");
}

}  // namespace
}  // namespace spdnn
