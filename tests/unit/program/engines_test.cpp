// The contract of src/engines/model_engine.hpp, for every variant of models: the outputs are within the oracle's bound,
// whatever the batch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "engines/cpu/plain/loops.hpp"
#include "engines/devices.hpp"
#include "engines/model_engine.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/recorded.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;
using testing::ModelCase;

std::unique_ptr<ModelEngine> engine_for(const ModelVariant& variant, const Model& model, ModelEngineOptions options) {
  options.precision = variant.precisions.front();
  options.threads = 2;
  return make_engine(variant, std::make_shared<const Model>(model), options);
}

std::vector<Tensor> run(ModelEngine& engine, const Model& model, const Tensor& images) {
  const auto depth = static_cast<Index>(model.nodes.size());
  engine.load(images);
  for (Index next = 0; next < depth;) next = engine.advance(next, depth);
  return engine.outputs();
}

/// The largest ratio to the bound, over the model's outputs.
double ratio(const ModelCase& one, const std::vector<Tensor>& found) {
  const std::vector<Bounded> expected = evaluate(one.model, one.inputs);
  EXPECT_EQ(found.size(), expected.size()) << one.name;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].shape, expected[i].shape) << one.name;
    largest = std::max(largest, largest_ratio(expected[i], found[i].values));
  }
  return largest;
}

Index batch_of(const ModelCase& one) { return static_cast<Index>(one.inputs.front().shape.front()); }

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.shape == y.shape && std::memcmp(x.values.data(), y.values.data(), x.values.bytes()) == 0;
  });
}

/// The largest ratio to the bound of batches that follow a batch of NaN. Their values lie in its memory, also where
/// layouts of oneDNN fill up the last block of the 20 channels.
double ratio_after_no_numbers(const ModelVariant& variant) {
  testing::Rng rng(37);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 16, 9, 9});
  const ValueId narrow = builder.add(testing::random_convolution(rng, 16, 20, testing::same_window(3, 3), 0.6), {x});
  const ValueId factors = builder.constant(testing::random_tensor(rng, {1, 20, 1, 1}));
  const ValueId scaled = builder.add(Elementwise{Elementwise::Kind::multiply}, {narrow, factors});
  const Model model = builder.finish(
      {builder.add(testing::random_convolution(rng, 20, 48, testing::same_window(3, 3), 0.6), {scaled})});
  const auto engine = engine_for(variant, model, {.batch = 8});
  const Shape all{8, 16, 9, 9};
  run(*engine, model, testing::make_tensor(all, std::vector<float>(elements(all).value(), NAN)));
  double largest = 0;
  for (const Extent batch : {1, 8, 3}) {
    const ModelCase one{"later", model, {testing::random_tensor(rng, {batch, 16, 9, 9})}};
    largest = std::max(largest, ratio(one, run(*engine, model, one.inputs.front())));
  }
  return largest;
}

class ModelEngines : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why_not = why_unusable(variant().device, 0); !why_not.empty()) GTEST_SKIP() << why_not;
    const ModelEngineOptions options{.precision = variant().precisions.front()};
    const Support support = support_of(variant(), testing::small_network(1, 0.4).model, options);
    EXPECT_TRUE(support.takes()) << support.why_not;
  }
  const ModelVariant& variant() const { return find_model_variant(GetParam()); }
  double ratio_of(const ModelCase& one) const {
    const auto engine = engine_for(variant(), one.model, {.batch = batch_of(one)});
    const std::vector<Tensor> outputs = run(*engine, one.model, one.inputs.front());
    for (const Tensor& output : outputs) testing::record(output.values);
    const double found = ratio(one, outputs);
    EXPECT_LE(found, 1) << one.name;
    return found;
  }
  /// Records the results of a test, for the log.
  void report(double largest) { RecordProperty("largest_ratio_to_bound", std::to_string(largest)); }
};

/// An operation alone, or between two convolutions, which write and read oneDNN's own layouts.
std::vector<ModelCase> operations_battery() {
  testing::Rng rng(23);
  std::vector<ModelCase> cases;
  const auto add = [&](const std::string& name, const Operation& operation, Shape shape = {kBatchExtent, 7, 9, 8}) {
    for (const bool between : {false, true}) {
      if (between && shape.size() != 4) continue;
      ModelBuilder builder;
      ValueId x = builder.input(shape);
      if (between) x = builder.add(testing::random_convolution(rng, static_cast<Index>(shape[1]), 7, {}, 0.7), {x});
      const ValueId y = builder.add(operation, {x});
      std::vector<ValueId> outputs{y};
      if (between) outputs.push_back(builder.add(testing::make_activation(Activation::Kind::identity), {y}));
      cases.push_back({name + (between ? "_between" : ""),
                       builder.finish(outputs),
                       {testing::random_tensor(rng, with_batch(shape, 2))}});
    }
  };
  using Kind = Activation::Kind;
  for (const Kind kind : {Kind::relu, Kind::leaky_relu, Kind::sigmoid, Kind::tanh, Kind::hard_sigmoid, Kind::hard_swish,
                          Kind::identity}) {
    const std::string number = std::to_string(static_cast<int>(kind));
    add("activation_" + number, testing::make_activation(kind, 0.3F, 0.4F));
    add("activation_rows_" + number, testing::make_activation(kind, 0.3F, 0.4F), {kBatchExtent, 13});
  }
  for (const Kind kind :
       {Kind::elu, Kind::softplus, Kind::exp, Kind::abs, Kind::sign, Kind::floor, Kind::ceil, Kind::round, Kind::erf,
        Kind::sin, Kind::cos, Kind::tan, Kind::atan, Kind::sinh, Kind::cosh, Kind::asinh})
    add("function_" + std::to_string(static_cast<int>(kind)), testing::make_activation(kind, 0.3F));
  for (const auto kind : {Reduce::Kind::sum, Reduce::Kind::product, Reduce::Kind::maximum, Reduce::Kind::minimum})
    for (const auto& axes : {std::vector<Index>{1}, {2, 3}, {1, 3}, {1, 2, 3}}) add("reduce", Reduce{kind, axes});
  add("clip", testing::make_clip(-0.25F, 0.5F));
  Activation prelu = testing::make_activation(Kind::prelu);
  prelu.alphas = testing::random_values(rng, 7, -1, 1);
  add("prelu", prelu);
  for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average})
    for (const bool up : {false, true})
      for (const bool count : {false, true}) {
        const std::string name =
            "pool_" + std::to_string(static_cast<int>(kind)) + (up ? "_up" : "") + (count ? "_pads" : "");
        add(name, Pool{kind, {.kernel = {3, 2}, .stride = {2, 2}, .pad_begin = {1, 0}, .pad_end = {0, 1}}, up, count});
        add(name + "_5",
            Pool{kind, {.kernel = {5, 5}, .stride = {3, 3}, .pad_begin = {2, 2}, .pad_end = {2, 2}}, up, count});
        add(name + "_quads", Pool{kind, {.kernel = {2, 2}, .stride = {2, 2}}, up, count});
        add(name + "_quads_padded", Pool{kind, {.kernel = {2, 2}, .stride = {2, 2}, .pad_end = {1, 1}}, up, count});
        add(name + "_sequence", Pool{kind, {.kernel = {1, 3}, .stride = {1, 2}}, up, count}, {kBatchExtent, 3, 14});
      }
  add("pool_dilated", Pool{Pool::Kind::max, {.kernel = {2, 3}, .dilation = {3, 2}, .pad_end = {1, 0}}});
  add("global_max", GlobalPool{Pool::Kind::max});
  add("global_mean", GlobalPool{});
  add("norm", testing::random_norm(rng, 7));
  add("norm_rows", testing::random_norm(rng, 7), {kBatchExtent, 7});
  for (const Index axis : {1U, 2U})
    add("softmax_sequence_" + std::to_string(axis), Softmax{axis}, {kBatchExtent, 5, 6});
  add("softmax", Softmax{});
  add("linear_sequence", testing::random_linear(rng, 6, 5, 0.4), {kBatchExtent, 5, 6});
  add("linear_images", testing::random_linear(rng, 8, 5, 0.4));
  add("reshape", Reshape{{kBatchExtent, 9 * 8 * 7}});
  add("transpose", Transpose{{0, 2, 3, 1}});
  add("transpose_sequence", Transpose{{0, 2, 1}}, {kBatchExtent, 5, 6});
  add("pad", Pad{{0, 1, 2, 0}, {0, 0, 1, 3}, -0.5F});
  add("crop", Pad{{0, -1, 0, -2}, {0, 0, -3, -1}, -0.5F});
  add("pad_and_crop", Pad{{0, 0, -2, 1}, {0, 1, 1, -3}, -0.5F});
  add("pad_column", Pad{{0, 1, 0, 0}, {0, 0, 1, 0}, -0.5F}, {kBatchExtent, 7, 9, 1});
  add("crop_to_a_column", Pad{{0, 0, 0, -3}, {0, 1, 0, -4}, -0.5F});
  add("transpose_column", Transpose{{0, 2, 3, 1}}, {kBatchExtent, 7, 9, 1});
  for (const auto kind : {Resize::Kind::nearest, Resize::Kind::linear})
    for (const auto place : {Resize::Place::half_pixel, Resize::Place::align_corners, Resize::Place::asymmetric})
      for (const auto& size : {std::array<Extent, 2>{18, 24}, std::array<Extent, 2>{5, 11}}) {
        Resize resize{.kind = kind, .place = place, .size = size};
        resize.scale = {static_cast<float>(size[0]) / 9, static_cast<float>(size[1]) / 8};
        add("resize", resize);
      }
  return cases;
}

/// Additions, products and joins of values in several forms, and what is fused with convolutions.
std::vector<ModelCase> joins_battery() {
  testing::Rng rng(29);
  std::vector<ModelCase> cases;
  const auto add = [&](const std::string& name, const auto& build) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 5, 6, 7});
    const ValueId a = builder.add(testing::random_convolution(rng, 5, 24, testing::same_window(3, 3), 0.4), {x});
    std::vector<ValueId> outputs = build(builder, x, a);
    cases.push_back({name, builder.finish(outputs), {testing::random_tensor(rng, {2, 5, 6, 7})}});
  };
  const auto convolve = [&](ModelBuilder& builder, ValueId x) {
    return builder.add(testing::random_convolution(rng, 5, 24, testing::same_window(1, 3), 0.4), {x});
  };
  using Both = Elementwise;
  for (const Both::Kind kind :
       {Both::Kind::add, Both::Kind::subtract, Both::Kind::multiply, Both::Kind::maximum, Both::Kind::minimum}) {
    const std::string number = std::to_string(static_cast<int>(kind));
    add("both_" + number, [&](auto& builder, ValueId x, ValueId a) -> std::vector<ValueId> {
      const ValueId sum = builder.add(Both{kind}, {a, convolve(builder, x)});
      return {builder.add(Activation{}, {sum})};
    });
    add("constant_" + number, [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
      return {builder.add(Both{kind}, {a, builder.constant(testing::random_tensor(rng, {24, 1, 1}))}),
              builder.add(Both{kind}, {builder.constant(testing::random_tensor(rng, {7})), a})};
    });
    for (const Shape& factors :
         {Shape{}, Shape{1}, Shape{1, 1, 1, 1}, Shape{1, 24, 1, 1}, Shape{1, 1, 6, 7}, Shape{1, 24, 6, 7}})
      add("factors_" + number, [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
        return {builder.add(Both{kind}, {a, builder.constant(testing::random_tensor(rng, factors))})};
      });
  }
  add("factors_of_each_image_of_a_constant", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    const ValueId of_each = builder.add(GlobalPool{}, {a});
    const ValueId of_all = builder.constant(testing::random_tensor(rng, {1, 24, 6, 7}));
    return {builder.add(Both{Both::Kind::multiply}, {of_all, of_each}),
            builder.add(Both{Both::Kind::subtract}, {a, of_each})};
  });
  // As many rows as channels: numbers of rows, of three axes, are none of channels.
  add("factors_of_rows", [&](auto& builder, ValueId x, ValueId) -> std::vector<ValueId> {
    const ValueId six = builder.add(testing::random_convolution(rng, 5, 6, testing::same_window(3, 3), 0.4), {x});
    return {builder.add(Both{Both::Kind::multiply}, {six, builder.constant(testing::random_tensor(rng, {1, 6, 1}))})};
  });
  add("divide", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    Tensor divisors = testing::make_tensor({24, 1, 1}, testing::random_values(rng, 24, 1, 2));
    return {builder.add(Both{Both::Kind::divide}, {a, builder.constant(divisors)})};
  });
  // Functions that are not defined everywhere, on numbers between 0 and 1, or 1 and 2.
  using Kind = Activation::Kind;
  for (const Kind kind : {Kind::log, Kind::sqrt, Kind::asin, Kind::acos, Kind::atanh, Kind::acosh})
    add("function_within_" + std::to_string(static_cast<int>(kind)),
        [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
          ValueId inside = builder.add(testing::make_activation(Kind::sigmoid), {a});
          if (kind == Kind::acosh)
            inside = builder.add(Both{}, {inside, builder.constant(testing::make_tensor({}, {1}))});
          return {inside, builder.add(testing::make_activation(kind), {inside})};
        });
  add("power", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    const ValueId positive = builder.add(testing::make_activation(Activation::Kind::softplus), {a});
    const Tensor exponents = testing::make_tensor({24, 1, 1}, testing::random_values(rng, 24, -2, 2));
    return {builder.add(Both{Both::Kind::power}, {positive, builder.constant(exponents)})};
  });
  for (const bool transposed : {false, true})
    add("matrices_" + std::to_string(transposed), [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
      const Shape right = transposed ? Shape{24, 3, 7} : Shape{24, 7, 3};
      return {builder.add(MatMul{transposed}, {a, builder.constant(testing::random_tensor(rng, right))}),
              builder.add(MatMul{true}, {a, a})};
    });
  add("matrices_of_sequences", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    const ValueId rows = builder.add(Reshape{{kBatchExtent, 24, 42}}, {a});
    const ValueId left = builder.constant(testing::random_tensor(rng, {5, 24}));
    const ValueId scores = builder.add(Softmax{2}, {builder.add(MatMul{true}, {rows, rows})});
    return {builder.add(MatMul{}, {left, rows}), builder.add(MatMul{}, {scores, rows})};
  });
  add("matrices_of_several_axes", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    const ValueId five = builder.add(Reshape{{kBatchExtent, 4, 6, 6, 7}}, {a});
    const ValueId of_all = builder.add(Reshape{{kBatchExtent, 1, 6, 7, 24}}, {a});
    const ValueId numbers = builder.constant(testing::random_tensor(rng, {1, 4, 1, 7, 2}));
    return {builder.add(MatMul{}, {five, of_all}), builder.add(MatMul{}, {five, numbers})};
  });
  for (const Shape& shape : {Shape{kBatchExtent, 24, 42}, Shape{kBatchExtent, 4, 6, 42}})
    add("linear_of_rows_and_shortcut", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
      const ValueId rows = builder.add(Reshape{shape}, {a});
      const ValueId one = builder.add(testing::random_linear(rng, 42, 42, 0.3), {rows});
      return {builder.add(Activation{}, {builder.add(Both{}, {one, rows})})};
    });
  add("shortcut_read_again", [&](auto& builder, ValueId x, ValueId a) -> std::vector<ValueId> {
    const ValueId b = convolve(builder, x);
    const ValueId sum = builder.add(Both{}, {b, a});
    const ValueId relu = builder.add(Activation{}, {sum});
    return {relu, builder.add(Both{Both::Kind::subtract}, {a, relu})};
  });
  add("output_within_a_chain", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    return {builder.add(Activation{}, {a}), a};
  });
  add("chain", [&](auto& builder, ValueId, ValueId a) -> std::vector<ValueId> {
    ValueId y = builder.add(testing::make_clip(-1, 1), {a});
    y = builder.add(testing::make_activation(Activation::Kind::hard_swish), {y});
    return {builder.add(testing::make_activation(Activation::Kind::leaky_relu, 0.5F), {y})};
  });
  add("functions_of_one_kind", [&](auto& builder, ValueId x, ValueId a) -> std::vector<ValueId> {
    const ValueId leaky = builder.add(testing::make_activation(Activation::Kind::leaky_relu, 0.5F), {a});
    const ValueId clipped = builder.add(testing::make_clip(-1, 1), {convolve(builder, x)});
    return {builder.add(testing::make_activation(Activation::Kind::leaky_relu, 0.25F), {leaky}),
            builder.add(testing::make_clip(-0.5F, 0.25F), {clipped})};
  });
  for (const auto& [kernel, groups] : {std::pair{3U, 1U}, {1U, 1U}, {3U, 24U}})
    add("lines_" + std::to_string(kernel) + "_" + std::to_string(groups),
        [&, kernel = kernel, groups = groups](auto& builder, ValueId, ValueId a) {
          const auto number = [&](float value) { return builder.constant(testing::make_tensor({}, {value})); };
          ValueId y = builder.add(
              testing::random_convolution(rng, 24, 24, testing::same_window(kernel, kernel), 0.6, groups), {a});
          y = builder.add(testing::make_activation(Activation::Kind::hard_swish), {y});
          y = builder.add(Both{Both::Kind::multiply}, {number(0.75F), y});
          y = builder.add(Both{Both::Kind::add}, {y, number(-0.125F)});
          y = builder.add(Both{Both::Kind::subtract}, {number(0.5F), y});
          y = builder.add(testing::make_clip(-1, 0.25F), {y});
          return std::vector<ValueId>{builder.add(Both{Both::Kind::subtract}, {y, number(0.25F)})};
        });
  for (const auto& [kernel, groups] : {std::pair{3U, 1U}, {1U, 1U}, {3U, 24U}})
    add("sums_in_a_row_" + std::to_string(kernel) + "_" + std::to_string(groups),
        [&, kernel = kernel, groups = groups](auto& builder, ValueId, ValueId a) {
          const auto number = [&](float value) { return builder.constant(testing::make_tensor({}, {value})); };
          const ValueId y = builder.add(
              testing::random_convolution(rng, 24, 24, testing::same_window(kernel, kernel), 0.6, groups), {a});
          std::vector<ValueId> outputs;
          for (const bool product : {false, true}) {
            ValueId z = builder.add(testing::random_convolution(rng, 24, 5, {}, 0.6), {y});
            if (product) z = builder.add(Both{Both::Kind::multiply}, {z, number(0.75F)});
            z = builder.add(Both{Both::Kind::add}, {z, number(2)});
            z = builder.add(Both{Both::Kind::add}, {number(0.5F), z});
            outputs.push_back(builder.add(Both{Both::Kind::subtract}, {z, number(-0.25F)}));
          }
          return outputs;
        });
  for (const bool first : {false, true}) {  // which input of the addition is the activation's
    const auto sum_of = [first](auto& builder, ValueId activated, ValueId other) {
      return builder.add(Both{}, first ? std::vector{activated, other} : std::vector{other, activated});
    };
    for (const auto& [kernel, groups] : {std::pair{3U, 1U}, {1U, 1U}, {3U, 24U}})
      add("activation_then_shortcut_" + std::to_string(kernel) + "_" + std::to_string(groups),
          [&, kernel = kernel, groups = groups](auto& builder, ValueId, ValueId a) {
            const ValueId b = builder.add(
                testing::random_convolution(rng, 24, 24, testing::same_window(kernel, kernel), 0.6, groups), {a});
            const ValueId clipped = builder.add(testing::make_clip(-0.5F, 0.5F), {b});
            return std::vector<ValueId>{builder.add(Activation{}, {sum_of(builder, clipped, a)}), a};
          });
    add("linear_activation_then_shortcut", [&](auto& builder, ValueId x, ValueId) -> std::vector<ValueId> {
      const ValueId flat = builder.add(Reshape{{kBatchExtent, 210}}, {x});
      const ValueId one = builder.add(testing::random_linear(rng, 210, 33, 0.3), {flat});
      const ValueId two = builder.add(testing::random_linear(rng, 210, 33, 1), {flat});
      return {sum_of(builder, builder.add(Activation{}, {two}), one), one};
    });
  }
  for (const Index axis : {1U, 2U, 3U})
    add("concat_" + std::to_string(axis), [&](auto& builder, ValueId x, ValueId a) -> std::vector<ValueId> {
      if (axis == 1) return {builder.add(Concat{}, {x, a, x}), builder.add(Concat{}, {a, convolve(builder, x)})};
      return {builder.add(Concat{axis}, {a, convolve(builder, x)})};
    });
  add("linear_and_shortcut", [&](auto& builder, ValueId x, ValueId) -> std::vector<ValueId> {
    const ValueId flat = builder.add(Reshape{{kBatchExtent, 210}}, {x});
    const ValueId one = builder.add(testing::random_linear(rng, 210, 33, 0.3), {flat});
    const ValueId two = builder.add(testing::random_linear(rng, 210, 33, 1), {flat});
    return {builder.add(Activation{}, {builder.add(Both{}, {one, two})}), flat};
  });
  return cases;
}

TEST_P(ModelEngines, StayWithinTheBoundOnEachOperation) {
  double largest = 0;
  for (const auto& battery : {testing::convolution_battery(), operations_battery(), joins_battery()})
    for (const ModelCase& one : battery) largest = std::max(largest, ratio_of(one));
  report(largest);
}

/// The kernels of a program without libraries. Other policies leave most operations to oneDNN.
TEST(PlainKernels, StayWithinTheBoundOnEachOperation) {
  const program::Kernels plain = testing::kernels_of("plain");
  for (const auto& battery : {operations_battery(), joins_battery()})
    for (const ModelCase& one : battery) EXPECT_LE(testing::ratio_by_kernels(plain, one), 1) << one.name;
}

TEST(PlainKernels, CombineTwoNumbersWithoutAxes) {
  const float first = 3;
  const float second = -5;
  float sum = 0;
  plain::elementwise(Elementwise::Kind::add, {}, &first, &second, &sum);
  EXPECT_EQ(sum, -2);
}

TEST_P(ModelEngines, StayWithinTheBoundOnRandomModels) {
  double largest = 0;
  for (std::uint32_t seed = 0; seed < testing::sampled(12U, 30U); ++seed) {
    SCOPED_TRACE(seed);
    ModelCase one = testing::RandomModel(seed).make(5 + seed, 2);
    largest = std::max(largest, ratio_of(one));
    one.model.outputs.clear();  // then each node's, which also keeps nodes from being fused
    for (const Node& node : one.model.nodes) one.model.outputs.push_back(node.output);
    largest = std::max(largest, ratio_of(one));
  }
  for (const Extent batch : {1, 7, 8, 33})
    largest = std::max(largest, ratio_of(testing::small_network(static_cast<std::uint32_t>(batch), 0.4, batch)));
  report(largest);
}

TEST_P(ModelEngines, TakeBatchesOfAnySizeOneAfterAnother) {
  const Model model = testing::small_network(3, 0.4).model;
  const auto engine = engine_for(variant(), model, {.batch = 33});
  std::vector<std::vector<Tensor>> first;
  for (int round = 0; round < 2; ++round)
    for (const Extent batch : {7, 33, 1, 8, 2, 3}) {
      testing::Rng rng(static_cast<std::uint32_t>(batch));
      const ModelCase one{"batch", model, {testing::random_tensor(rng, {batch, 3, 12, 10})}};
      const std::vector<Tensor> found = run(*engine, model, one.inputs.front());
      EXPECT_LE(ratio(one, found), 1) << batch;
      if (round == 0) first.push_back(found);
    }
  testing::Rng rng(7);
  EXPECT_TRUE(same_bits(run(*engine, model, testing::random_tensor(rng, {7, 3, 12, 10})), first.front()));
}

/// Images so large that engines of the host compute a batch in parts, one after another or one for each of two threads.
void expect_parts_to_be_as_alone(const ModelVariant& variant, int threads) {
  testing::Rng rng(44);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 512, 256});
  const ValueId y = builder.add(testing::random_convolution(rng, 4, 8, testing::same_window(3, 3), 0.1), {x});
  const ValueId pooled = builder.add(GlobalPool{}, {y});
  const ValueId positive = builder.add(Activation{}, {y});
  const ValueId square = builder.add(Elementwise{Elementwise::Kind::multiply}, {y, y});
  const Model model = builder.finish({pooled, positive, square});
  const Extent of_image = 4 * 512 * 256;
  constexpr Extent kImages = 5;
  const Tensor images = testing::random_tensor(rng, {kImages, 4, 512, 256});
  const auto image = [&](Extent first, Extent count) {
    const auto values = images.values.span().subspan(static_cast<std::size_t>(first * of_image),
                                                     static_cast<std::size_t>(count * of_image));
    return testing::make_tensor({count, 4, 512, 256}, {values.begin(), values.end()});
  };
  const auto engine = engine_for(variant, model, {.batch = kImages, .threads = threads});
  const std::vector<Tensor> together = run(*engine, model, images);
  const std::vector<Tensor> two = run(*engine, model, image(1, 2));
  EXPECT_FALSE(engine->overflow().has_value());
  for (Extent i = 0; i < kImages; ++i) {
    const std::vector<Tensor> alone = run(*engine, model, image(i, 1));
    for (std::size_t output = 0; output < 3; ++output) {
      const std::span<const float> one = alone[output].values.span();
      const auto at = [&](const std::vector<Tensor>& batch, Extent place) {
        return batch[output].values.span().subspan(static_cast<std::size_t>(place) * one.size(), one.size());
      };
      EXPECT_TRUE(std::equal(one.begin(), one.end(), at(together, i).begin())) << i << " of all";
      if (i != 1 && i != 2) continue;
      EXPECT_TRUE(std::equal(one.begin(), one.end(), at(two, i - 1).begin())) << i << " of two";
    }
  }
  std::vector<float> large(images.values.begin(), images.values.end());
  large[static_cast<std::size_t>((kImages - 1) * of_image + 5)] = 1e20F;  // of the last image
  run(*engine, model, testing::make_tensor(images.shape, large));
  EXPECT_TRUE(engine->overflow().has_value());
  run(*engine, model, images);
  EXPECT_FALSE(engine->overflow().has_value());
}

TEST_P(ModelEngines, GiveTheSameForLargeImagesInABatchAndAlone) {
  if (GetParam() == "conv_reference") return;  // it has no parts, and takes seconds for images of this size
  for (const int threads : testing::sampled({2}, {1, 2})) expect_parts_to_be_as_alone(variant(), threads);
}

TEST_P(ModelEngines, GiveOutputsThatAreTheSameForAllImagesOnce) {
  testing::Rng rng(46);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 512, 256});
  const ValueId y = builder.add(testing::random_convolution(rng, 4, 8, testing::same_window(3, 3), 0.1), {x});
  const ValueId pooled = builder.add(GlobalPool{}, {y});
  const Tensor constant = testing::random_tensor(rng, {1, 10});
  const Model model = builder.finish({pooled, builder.constant(constant)});
  for (const int threads : testing::sampled({2}, {1, 2})) {
    const auto engine = engine_for(variant(), model, {.batch = 5, .threads = threads});
    const std::vector<Tensor> found = run(*engine, model, testing::random_tensor(rng, {5, 4, 512, 256}));
    ASSERT_EQ(found[1].values.size(), 10U);
    EXPECT_TRUE(std::equal(constant.values.begin(), constant.values.end(), found[1].values.begin()));
  }
}

TEST_P(ModelEngines, EndWhenTheyAreCancelledAmongParts) {
  testing::Rng rng(45);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 512, 256});
  const Model model =
      builder.finish({builder.add(testing::random_convolution(rng, 4, 4, testing::same_window(1, 1), 0.5), {x})});
  bool cancelled = true;
  const auto engine = engine_for(variant(), model, {.batch = 5, .threads = 2, .cancelled = [&] { return cancelled; }});
  engine->load(testing::random_tensor(rng, {5, 4, 512, 256}));
  EXPECT_THROW(engine->advance(0, 1), Cancelled);
  cancelled = false;
  engine->reset();
  EXPECT_EQ(engine->advance(0, 1), 1U);
}

/// Whether a batch was announced, another was, or none.
TEST_P(ModelEngines, GiveTheSameForBatchesThatWereAnnounced) {
  const ModelCase one = testing::small_network(3, 0.5);
  const Shape& input = one.model.values[one.model.inputs.front()].shape;
  testing::Rng rng(41);
  std::vector<Tensor> batches;
  for (const Extent images : {5, 5, 3, 5}) batches.push_back(testing::random_tensor(rng, with_batch(input, images)));
  const auto engine = engine_for(variant(), one.model, {.batch = 5});
  std::vector<std::vector<Tensor>> alone;
  for (const Tensor& batch : batches) alone.push_back(run(*engine, one.model, batch));
  for (const std::size_t ahead : {1, 2}) {
    const auto depth = static_cast<Index>(one.model.nodes.size());
    for (std::size_t i = 0; i < batches.size(); ++i) {
      engine->load(batches[i]);
      for (Index next = 0; next < depth;) next = engine->advance(next, depth);
      engine->announce(batches[(i + ahead) % batches.size()]);
      EXPECT_TRUE(same_bits(engine->outputs(), alone[i])) << i << " " << ahead;
    }
  }
  engine->announce(batches[0]);  // and the engine is destroyed
}

TEST_P(ModelEngines, ForgetTheBatchBefore) { EXPECT_LE(ratio_after_no_numbers(variant()), 1); }

/// On processors with AVX-512, oneDNN chooses layouts without filling; in a process of its own, the test restricts it
/// to AVX2.
TEST_P(ModelEngines, ForgetTheBatchBeforeWithoutAvx512) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // the test begins anew in the other process
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  EXPECT_EXIT(std::exit(ratio_after_no_numbers(variant()) <= 1 ? 0 : 1), ::testing::ExitedWithCode(0), "");
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

TEST_P(ModelEngines, GiveTheSameAfterResetAndNodeByNode) {
  const ModelCase one = testing::RandomModel(11).make(20, 3);
  const auto depth = static_cast<Index>(one.model.nodes.size());
  const auto engine = engine_for(variant(), one.model, {.batch = 3});
  const std::vector<Tensor> first = run(*engine, one.model, one.inputs.front());
  engine->reset();
  for (Index next = 0; next < depth;) {
    const Index before = next;
    next = engine->advance(next, next + 1);
    EXPECT_EQ(next, before + 1);
  }
  EXPECT_TRUE(same_bits(engine->outputs(), first));
  const std::vector<Tensor> second = engine->outputs();
  Tensor zeros = testing::make_tensor(one.inputs.front().shape, std::vector<float>(one.inputs.front().values.size()));
  EXPECT_FALSE(same_bits(run(*engine, one.model, zeros), first));
  EXPECT_TRUE(same_bits(second, first)) << "outputs that were handed out have changed";
}

TEST_P(ModelEngines, RefuseImagesOfAnotherShape) {
  const Model model = testing::small_network(3, 0.4).model;
  const auto engine = engine_for(variant(), model, {.batch = 4});
  for (const Shape& shape : {Shape{5, 3, 12, 10}, Shape{0, 3, 12, 10}, Shape{2, 3, 10, 12}, Shape{2, 3, 12}, Shape{}})
    EXPECT_THROW(engine->load({shape, std::vector<float>(*elements(shape))}), UsageError) << shape_text(shape);
}

TEST_P(ModelEngines, EndWhenTheyAreCancelled) {
  const ModelCase one = testing::small_network(3, 0.4);
  bool cancelled = false;
  const auto engine = engine_for(variant(), one.model, {.batch = 3, .cancelled = [&] { return cancelled; }});
  const std::vector<Tensor> first = run(*engine, one.model, one.inputs.front());
  engine->reset();
  cancelled = true;
  EXPECT_THROW(engine->advance(0, 1), Cancelled) << "an engine that computes all nodes with the last one, too";
  EXPECT_THROW(engine->advance(0, static_cast<Index>(one.model.nodes.size())), Cancelled);
  cancelled = false;
  EXPECT_TRUE(same_bits(run(*engine, one.model, one.inputs.front()), first));
}

TEST_P(ModelEngines, TellTheTimeOfNodesWhereTheyCan) {
  const ModelCase one = testing::small_network(3, 0.4);
  const auto engine = engine_for(variant(), one.model, {.batch = 3, .profile = true});
  run(*engine, one.model, one.inputs.front());
  const std::vector<double> seconds = engine->node_seconds();
  if (seconds.empty()) return;
  ASSERT_EQ(seconds.size(), one.model.nodes.size());
  EXPECT_GT(seconds[0], 0) << "the stem";
  EXPECT_TRUE(std::all_of(seconds.begin(), seconds.end(), [](double s) { return s >= 0; }));
  engine->reset();
  for (const double s : engine->node_seconds()) EXPECT_EQ(s, 0);
}

TEST_P(ModelEngines, SayWhatTheyDoNotTake) {
  Model model = testing::small_network(3, 0.4).model;
  EXPECT_FALSE(support_of(variant(), model, {.precision = Precision::fp16}).takes());
  EXPECT_FALSE(support_of(variant(), model, {.precision = variant().precisions.front(), .batch = 0}).takes());
  EXPECT_GT(support_of(variant(), model, {.precision = variant().precisions.front()}).working_bytes, 0);
  model.inputs.push_back(model.inputs.front());
  EXPECT_FALSE(support_of(variant(), model, {.precision = variant().precisions.front()}).takes());
}

TEST(ModelEngineMemory, CountsWeightsOnce) {
  constexpr Index kWidth = 512;
  testing::Rng rng(1);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, kWidth});
  const Model model = builder.finish({builder.add(testing::random_linear(rng, kWidth, kWidth, 1), {x})});
  const Support support = support_of(find_model_variant("conv_dense"), model, {.batch = 1, .threads = 1});
  EXPECT_GE(support.working_bytes, sizeof(float) * kWidth * kWidth);
  EXPECT_LT(support.working_bytes, sizeof(float) * kWidth * kWidth * 3 / 2);
}

/// The relative error of the outputs, in the 2-norm.
double relative_error(const std::vector<Bounded>& expected, const std::vector<Tensor>& found) {
  double off = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
      off += std::pow(expected[i].values[k] - static_cast<double>(found[i].values[k]), 2);
      size += std::pow(expected[i].values[k], 2);
    }
  return std::sqrt(off / size);
}

/// No bound is proved for bf16's eight bits: errors larger than the precision explains are mistakes.
TEST(ModelEnginesInBf16, AreOffByRoundingOnly) {
  const ModelVariant& variant = find_model_variant("conv_dense");
  ModelEngineOptions options{.precision = Precision::bf16, .batch = 4, .threads = 2};
  const Support support = support_of(variant, testing::small_network(1, 0.4).model, options);
  if (!support.takes()) GTEST_SKIP() << support.why_not;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const ModelCase one = seed % 2 == 0 ? testing::small_network(seed, 0.4, 4) : testing::RandomModel(seed).make(12, 4);
    const auto engine = make_engine(variant, std::make_shared<const Model>(one.model), options);
    const double error = relative_error(evaluate(one.model, one.inputs), run(*engine, one.model, one.inputs.front()));
    EXPECT_GT(error, 1e-5);
    EXPECT_LT(error, 0.03);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ModelVariant& variant : model_variants()) all.emplace_back(variant.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Each, ModelEngines, ::testing::ValuesIn(names()), [](const auto& one) { return one.param; });

TEST(ModelRegistry, NamesItsVariants) {
  try {
    find_model_variant("conv_absent");
    FAIL();
  } catch (const UsageError& error) {
    for (const std::string& name : names()) EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace spdnn
