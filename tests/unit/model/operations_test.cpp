// Each number of each operation: the digest of a model depends on it, and validate() refuses what it cannot be.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/graph/model_digest.hpp"
#include "spdnn/model.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

/// Changes the number of an operation at a place, counted over all of its fields.
class Changer {
 public:
  explicit Changer(std::size_t place) : left_(place) {}
  bool changed() const { return changed_; }

#define SPDNN_OPERATION(Type, ...)   \
  void operator()(Type& operation) { \
    auto& [__VA_ARGS__] = operation; \
    each(__VA_ARGS__);               \
  }
#include "spdnn/operations.def"
#undef SPDNN_OPERATION

 private:
  template <class... T>
  void each(T&... fields) {
    (change(fields), ...);
  }
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void change(T& number) {
    if (changed_ || left_-- != 0) return;
    changed_ = true;
    if constexpr (std::is_same_v<T, bool>)
      number = !number;
    else if constexpr (std::is_enum_v<T>)
      number = static_cast<T>(static_cast<int>(number) == 0 ? 1 : 0);
    else
      number += 1;
  }
  template <class T>
  void change(std::vector<T>& numbers) {
    for (T& number : numbers) change(number);
  }
  template <class T, std::size_t N>
  void change(std::array<T, N>& numbers) {
    for (T& number : numbers) change(number);
  }
  void change(Window& w) { each(w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end); }
  void change(Weights& /*weights*/) {}

  std::size_t left_;
  bool changed_ = false;
};

/// A model of one node, which nobody validates.
Model model_of(const Operation& operation) {
  Model model;
  model.values.resize(4);
  model.values[0].shape = {2, 3};
  model.values[1].constant = Tensor{{2}, std::vector<float>{1, 2}};
  model.nodes = {{.name = "node", .operation = operation, .inputs = {0, 1}, .output = 2}};
  model.inputs = {0};
  model.outputs = {2};
  return model;
}

TEST(ModelDigests, DependOnEachNumberOfEachOperation) {
  const Weights weights = testing::make_matrix(2, {{{0, 1.F}}, {{1, 2.F}}});
  const Window window{{2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}};
  const Operation all[] = {Convolution{weights, {1, 2}, 3, window},
                           Linear{weights, {1, 2}},
                           BatchNorm{{1, 2}, {3, 4}, {5, 6}, {7, 8}},
                           Pool{.window = window},
                           GlobalPool{},
                           Activation{.alphas = {1, 2}},
                           Elementwise{},
                           MatMul{},
                           Reduce{.axes = {1, 2}},
                           Concat{},
                           Softmax{},
                           Reshape{{2, 3}},
                           Transpose{{1, 0}},
                           Pad{{1, 2}, {3, 4}},
                           Resize{}};
  std::size_t numbers = 0;
  for (const Operation& operation : all) {
    const std::uint64_t digest = model_digest(model_of(operation));
    for (std::size_t place = 0;; ++place, ++numbers) {
      Changer changer(place);
      Operation other = operation;
      std::visit(changer, other);
      if (!changer.changed()) break;
      EXPECT_NE(model_digest(model_of(other)), digest) << operation_name(operation) << ", number " << place;
    }
  }
  EXPECT_EQ(numbers, 68U);
}

TEST(ModelDigests, DependOnTheKindOfANodeWhereItsNumbersAreTheSame) {
  EXPECT_NE(model_digest(model_of(Concat{1})), model_digest(model_of(Softmax{1})));
  EXPECT_NE(model_digest(model_of(Reshape{{2, 3}})), model_digest(model_of(Transpose{{2, 3}})));
}

TEST(ModelDigests, DependOnValuesAndOnWhatNodesRead) {
  const Model model = model_of(Elementwise{});
  const auto changed = [&](const auto& change) {
    Model other = model;
    change(other);
    EXPECT_NE(model_digest(other), model_digest(model));
  };
  changed([](Model& m) { m.values[0].shape[1] = 4; });
  changed([](Model& m) { m.values[1].constant->values = std::vector<float>{1, 3}; });
  changed([](Model& m) { m.values[1].constant->shape = {1, 2}; });
  changed([](Model& m) { m.values[1].constant.reset(); });
  changed([](Model& m) { m.values.emplace_back(); });
  changed([](Model& m) { m.nodes[0].inputs = {1, 0}; });
  changed([](Model& m) { m.nodes[0].output = 3; });
  changed([](Model& m) { m.nodes[0].operation = MatMul{}; });
  changed([](Model& m) { m.inputs = {3}; });
  changed([](Model& m) { m.outputs = {3}; });
}

/// Why validate() refuses a node of this operation.
std::string operation_refusal(const Operation& operation) {
  Model model = model_of(operation);
  try {
    model.validate();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    const std::string where = "node 1 \"node\" (" + std::string(operation_name(operation)) + "): ";
    return text.starts_with(where) ? text.substr(where.size()) : text;
  }
  return "";
}

TEST(ModelValidate, EachFieldIsChecked) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Kind = Activation::Kind;
  const BatchNorm norm{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const auto with = [&](std::vector<float> BatchNorm::*field, const std::vector<float>& numbers) {
    BatchNorm other = norm;
    other.*field = numbers;
    return operation_refusal(other);
  };
  for (const auto field : {&BatchNorm::scale, &BatchNorm::shift, &BatchNorm::mean, &BatchNorm::variance}) {
    EXPECT_EQ(with(field, {1}), "its scale, shift, mean and variance differ in length");
    EXPECT_EQ(with(field, {1, 2, 3}), "its scale, shift, mean and variance differ in length");
  }
  EXPECT_EQ(with(&BatchNorm::scale, {1, kNan}), "its scale is not finite");
  EXPECT_EQ(with(&BatchNorm::shift, {kInfinity, 1}), "its shift is not finite");
  EXPECT_EQ(with(&BatchNorm::mean, {1, -kInfinity}), "its mean is not finite");
  EXPECT_EQ(with(&BatchNorm::variance, {1, kNan}), "its variance is not finite");
  EXPECT_EQ(with(&BatchNorm::variance, {1, -1e-5F}), "its variance and epsilon must add up to more than zero");
  EXPECT_EQ(operation_refusal(BatchNorm{{1}, {1}, {1}, {1}, kInfinity}),
            "its variance and epsilon must add up to more than zero");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::leaky_relu, .alpha = kNan}), "its parameter is not finite");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::hard_sigmoid, .beta = kInfinity}),
            "its parameter is not finite");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::prelu, .alphas = {1, kNan}}), "its slope is not finite");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::prelu}), "it has no slopes");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::clip, .low = 1, .high = 0}),
            "its lower limit exceeds its upper one");
  EXPECT_EQ(operation_refusal(Activation{.kind = Kind::clip, .low = kNan, .high = 0}),
            "its lower limit exceeds its upper one");
  EXPECT_EQ(operation_refusal(Resize{.scale = {1, 0}}), "its scale must be a positive number");
  EXPECT_EQ(operation_refusal(Resize{.scale = {-1, 1}}), "its scale must be a positive number");
  EXPECT_EQ(operation_refusal(Resize{.scale = {kInfinity, 1}}), "its scale must be a positive number");
  EXPECT_EQ(operation_refusal(Reduce{.axes = {1, 1}}), "its axes do not ascend");
  EXPECT_EQ(operation_refusal(Reduce{.axes = {1, 0}}), "its axes do not ascend");
  EXPECT_EQ(operation_refusal(Pad{{0, 0}, {0, 0}, kNan}), "its value is not finite");
  EXPECT_EQ(operation_refusal(BatchNorm{{1}, {1}, {1}, {1e-5F}, -1e-5F}),
            "its variance and epsilon must add up to more than zero");
}

}  // namespace
}  // namespace spdnn
