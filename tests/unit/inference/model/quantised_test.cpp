// Verdicts on models with quantised values, some of which lie between two steps so that rounding decides.

#include "model/graph/quantised.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engines/model_engine.hpp"
#include "inference/model/verify.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/model_inference.hpp"
#include "support/quantised.hpp"

namespace spdnn {
namespace {

using testing::kN;

/// A random network of convolutions, sums, joined values and mean pools, each with quantised inputs and results. Scales
/// are powers of two apart, so that many sums and means of two steps lie halfway between two others.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint32_t seed) : rng_(seed) {}

  /// `shift`: of the zero point of the last value but one.
  testing::ModelCase made(int layers, int shift = 0) {
    values_ = {quantised(builder_.input({kN, kChannels, kSize, kSize}), shift)};
    for (int layer = 0; layer < layers; ++layer) values_.push_back(quantised(layer_of_any(), shift));
    ValueId y = values_.back();
    if (rng_.below(2) == 0) {
      y = builder_.add(Reshape{{kN, kChannels * kSize * kSize}}, {y});
      y = builder_.add(Linear{weights(10, kChannels * kSize * kSize, 0.1), {}}, {y});
      if (rng_.below(2) == 0) y = quantised(y, 0);
    }
    testing::ModelCase one{"", builder_.finish({y}), {}};
    one.inputs.push_back(testing::random_tensor(rng_, {4, kChannels, kSize, kSize}));
    return one;
  }

 private:
  static constexpr Index kChannels = 8;
  static constexpr Extent kSize = 8;

  ValueId layer_of_any() {
    const auto kind = rng_.below(4);
    if (kind == 0) return builder_.add(Elementwise{}, {any(), any()});
    if (kind == 1) return convolution(quantised(builder_.add(Concat{1}, {any(), any()}), 0), 2 * kChannels, 1);
    if (kind == 2) {
      Window window;
      window.kernel = {2, 2};
      window.pad_end = {1, 1};
      return builder_.add(Pool{.kind = Pool::Kind::average, .window = window}, {any()});
    }
    const ValueId y = convolution(any(), kChannels, 3);
    return rng_.below(2) == 0 ? builder_.add(testing::make_activation(Activation::Kind::relu), {y}) : y;
  }
  ValueId any() { return values_[values_.size() - 1 - rng_.below(values_.size() < 2 ? 1 : 2)]; }
  ValueId convolution(ValueId x, Index channels, Index kernel) {
    const CsrMatrix filters = weights(kChannels, channels * kernel * kernel, 0.2);
    return builder_.add(Convolution{.weights = filters, .bias = {}, .window = testing::same_window(kernel, kernel)},
                        {x});
  }
  CsrMatrix weights(Index rows, Index columns, double density) {
    testing::Rows all(rows);
    for (auto& row : all) {
      const auto scale = static_cast<float>(rng_.real(0.2, 1) / 127 / std::sqrt(columns * density));
      for (Index column = 0; column < columns; ++column)
        if (const auto number = static_cast<float>(rng_.below(255)) - 127; number != 0 && rng_.real(0, 1) < density)
          row.emplace_back(column, number * scale);
    }
    return testing::make_matrix(columns, all);
  }
  ValueId quantised(ValueId x, int shift) {
    ByteForm form{rng_.below(2) == 0, 0, base_ * std::ldexp(1.F, static_cast<int>(rng_.below(3)) - 1)};
    if (!form.is_signed) form.zero = rng_.below(2) == 0 ? 0 : 128;
    const ValueId y = testing::quantised(builder_, x, form);
    if (shift == 0) return y;
    const float by = form.scale * static_cast<float>(shift);
    return builder_.add(Elementwise{}, {y, builder_.constant(testing::make_tensor({}, {by}))});
  }

  testing::Rng rng_;
  testing::ModelBuilder builder_;
  float base_ = static_cast<float>(rng_.real(0.5, 1) / 127);
  std::vector<ValueId> values_;
};

ModelReport verified(const testing::ModelCase& one, const char* variant) {
  ModelSpec spec;
  spec.variant = variant;
  spec.truth.everything = true;
  ModelInference inference(spec);
  inference.load(one.model, one.inputs[0]);
  inference.plan();
  inference.run();
  inference.verify();
  return inference.report();
}

/// The outputs of another model, compared with the reference's of this one.
LogitCheck check_of(const testing::ModelCase& one, const testing::ModelCase& other) {
  const Bounded outputs = evaluate(other.model, one.inputs).front();
  const Tensor found = testing::make_tensor(outputs.shape, {outputs.values.begin(), outputs.values.end()});
  return *check_logits(one.model, one.inputs[0], {{"y", found.shape, found}}, 0, {{}, "", 4}, {}, {}).recomputed;
}

/// Seeds and layers of which fp32 rounds ties to the other side: before, the outputs moved beyond their tolerance.
constexpr std::pair<std::uint32_t, int> kWithTies[] = {{97, 1}, {99, 2}, {7, 3}, {95, 5}, {92, 5}};

TEST(QuantisedVerdict, TiesThatAreRoundedOtherwiseAreRight) {
  int beyond_the_usual = 0;
  for (const auto& [seed, layers] : kWithTies)
    for (const char* const variant : {"sparse", "conv_dense"}) {
      const testing::ModelCase one = RandomNetwork(seed).made(layers);
      const ModelReport report = verified(one, variant);
      EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << seed << ": " << report.verdict.against;
      const OutputCheck& worst = report.recomputed->worst();
      if (worst.largest_excess * worst.widened > OutputCheck::kMostWidened) ++beyond_the_usual;
    }
  EXPECT_EQ(beyond_the_usual, 10);
}

/// A convolution of quantised values, whose result is quantised, or goes through a ReLU.
testing::ModelCase quantised_convolution(bool result_too = true) {
  testing::Rng rng(1);
  testing::ModelBuilder builder;
  ValueId x = testing::quantised(builder, builder.input({kN, 8, 8, 8}), {true, 0, 0.01F});
  x = builder.add(testing::random_convolution(rng, 8, 8, testing::same_window(3, 3), 0.3), {x});
  x = result_too ? testing::quantised(builder, x, {false, 3, 0.02F})
                 : builder.add(testing::make_activation(Activation::Kind::relu), {x});
  return {"", builder.finish({x}), {testing::random_tensor(rng, {2, 8, 8, 8})}};
}

TEST(QuantisedVerdict, NodesAreComparedAsInt8KernelsComputeThem) {
  const ModelReport report = verified(quantised_convolution(), "sparse");
  EXPECT_EQ(report.nodes_run, 11U);
  EXPECT_EQ(report.nodes_checked->nodes, 3U);
}

// ---- Wrong engines ----

const ModelVariant& sparse() { return find_model_variant("sparse"); }

/// The comparison node by node of "sparse" if it is made otherwise.
NodeCheck nodes_of(const testing::ModelCase& one, decltype(ModelVariant::make) make) {
  ModelVariant variant = sparse();
  variant.make = make;
  return check_nodes(variant, one.model, one.inputs[0], static_cast<Index>(one.inputs[0].shape[0]), {}, {}, {});
}

/// Moves the last output by one step of quantised_convolution() where no sum of a convolution is an output, so that the
/// kernel that makes it quantises it, too.
class WrongWhereFused : public ModelEngine {
 public:
  WrongWhereFused(std::shared_ptr<const Model> model, const ModelEngineOptions& options, const Support& support)
      : model_(model), engine_(sparse().make(std::move(model), options, support)) {}
  void load(const Tensor& images) override { engine_->load(images); }
  void reset() override { engine_->reset(); }
  Index advance(Index first, Index until) override { return engine_->advance(first, until); }
  std::optional<Index> overflow() const override { return engine_->overflow(); }
  std::vector<Tensor> outputs() override {
    std::vector<Tensor> outputs = engine_->outputs();
    if (model_->outputs.back() != model_->nodes.back().output) return outputs;
    for (const Node& node : model_->nodes)
      if (std::holds_alternative<Convolution>(node.operation) &&
          std::find(model_->outputs.begin(), model_->outputs.end(), node.output) != model_->outputs.end())
        return outputs;
    std::vector<float> values(outputs.back().values.begin(), outputs.back().values.end());
    for (float& value : values) value += 0.02F;
    outputs.back() = testing::make_tensor(outputs.back().shape, values);
    return outputs;
  }

 private:
  std::shared_ptr<const Model> model_;
  std::unique_ptr<ModelEngine> engine_;
};

TEST(QuantisedVerdict, AnInt8KernelThatIsOffByOneStepFailsNodeByNode) {
  const testing::ModelCase one = quantised_convolution();
  EXPECT_TRUE(nodes_of(one, sparse().make).right());
  const NodeCheck wrong = nodes_of(one, [](auto model, const auto& options, const auto& support) {
    return std::unique_ptr<ModelEngine>(new WrongWhereFused(std::move(model), options, support));
  });
  EXPECT_GT(wrong.largest_ratio, 1);
  EXPECT_NE(wrong.worst.find("(multiply)"), std::string::npos) << wrong.worst;
}

/// The ReLU ends no quantised value, but makes an output.
TEST(QuantisedVerdict, AWrongOutputBehindQuantisedValuesFailsWhereAllIsFusedBeforeIt) {
  const testing::ModelCase one = quantised_convolution(false);
  EXPECT_TRUE(nodes_of(one, sparse().make).right());
  const NodeCheck wrong = nodes_of(one, [](auto model, const auto& options, const auto& support) {
    return std::unique_ptr<ModelEngine>(new WrongWhereFused(std::move(model), options, support));
  });
  EXPECT_GT(wrong.largest_ratio, 1);
  EXPECT_NE(wrong.worst.find("(relu)"), std::string::npos) << wrong.worst;
}

/// Changes the zero point that is subtracted of the first value that has one by two steps; false if none has.
bool shifted(Model& model) {
  for (const QuantisedValue& value : quantised_values(model)) {
    if (value.zeros.empty()) continue;
    Tensor& zero = *model.values[value.zeros.back()].constant;
    zero = testing::make_tensor(zero.shape, {zero.values[0] - 2});
    return true;
  }
  return false;
}

TEST(QuantisedVerdict, AShiftOfTwoStepsFailsNodeByNode) {
  int found = 0;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const testing::ModelCase one = RandomNetwork(seed).made(3);
    Model wrong = one.model;
    if (!shifted(wrong)) continue;
    ++found;
    EXPECT_TRUE(nodes_of(one, sparse().make).right()) << seed;
    const NodeCheck check = nodes_of(one, [](auto model, const auto& options, const auto& /*support*/) {
      auto other = std::make_shared<Model>(*model);
      shifted(*other);
      return make_engine(sparse(), other, options);
    });
    EXPECT_GT(check.largest_ratio, 1) << seed;
  }
  EXPECT_GT(found, 3);
}

// ---- Outputs that ties move far ----

/// What is found for a value of four numbers, the first of which is a tie, compared with the reference's.
LogitCheck check_of_tie(float largest, float found) {
  testing::ModelBuilder builder;
  const Model model = builder.finish({testing::quantised(builder, builder.input({kN, 4}), {false, 0, 1})});
  const Tensor y = testing::make_tensor({1, 4}, {found, 1, 2, largest});
  return *check_logits(model, testing::make_tensor({1, 4}, {0.5F, 1, 2, largest}), {{"y", y.shape, y}}, 0, {{}, "", 1},
                       {}, {})
              .recomputed;
}

TEST(QuantisedVerdict, TheToleranceIsAtMostATenthOfTheLargestNumber) {
  const LogitCheck within = check_of_tie(25, 1);  // a tie moves the output by 4 %
  EXPECT_TRUE(within.right());
  EXPECT_EQ(within.undecided, 0U);
  EXPECT_DOUBLE_EQ(within.worst().tolerance, 2);
  const LogitCheck beyond = check_of_tie(8, 1);
  EXPECT_TRUE(beyond.right());
  EXPECT_EQ(beyond.undecided, 1U);
  EXPECT_EQ(beyond.worst().widened, OutputCheck::kMostDecided);
  EXPECT_DOUBLE_EQ(beyond.worst().tolerance, 0.8);
  EXPECT_EQ(check_of_tie(8, 0).undecided, 0U);
  EXPECT_EQ(check_of_tie(8, 3).outside, 1U);
}

/// Of a sum of values halfway between two steps, either all of which are rounded down, or all up, or all to the other
/// side, as the first, second or third images have it, the largest change counts.
TEST(QuantisedVerdict, TiesMayBeRoundedDownUpOrToTheOtherSide) {
  testing::ModelBuilder builder;
  ValueId y = testing::quantised(builder, builder.input({kN, 4}), {false, 0, 1});
  y = builder.add(Linear{testing::make_matrix(4, {{{0, 1.F}, {1, 1.F}, {2, 1.F}, {3, 1.F}}}), {}}, {y});
  const Model model = builder.finish({y});
  const auto widened = [&](const std::vector<float>& values, float off) {
    const Tensor images = testing::make_tensor({1, 4}, values);
    const double exact = evaluate(model, {images}).front().values[0];
    const Tensor found = testing::make_tensor({1, 1}, {static_cast<float>(exact) + off});
    const LogitCheck check =
        *check_logits(model, images, {{"y", found.shape, found}}, 0, {{}, "", 1}, {}, {}).recomputed;
    return check.worst().widened / OutputCheck::kDecisions * (OutputCheck::kTolerance * exact);
  };
  EXPECT_NEAR(widened({1.5F, 3.5F, 0.5F, 250}, -1), 2, 1e-6) << "down: 2 of 3; up and other: 1";
  EXPECT_NEAR(widened({0.5F, 2.5F, 1.5F, 250}, 1), 2, 1e-6) << "up: 2 of 3; down and other: 1";
}

TEST(QuantisedVerdict, UndecidedOutputsAreNeitherRightNorWrong) {
  ModelReport report;
  report.images = 1;
  report.expected = check_of_tie(8, 1);
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  report.nodes_checked = NodeCheck{.images = 1, .nodes = 1, .largest_ratio = 0.5, .worst = "q"};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified) << "the nodes are right, not what was expected";
  EXPECT_NE(verdict_of(report).against.find("proves nothing"), std::string::npos);
  report.recomputed = std::exchange(report.expected, {});
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed) << "node by node";
  report.nodes_checked->largest_ratio = 2;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
}

// ---- Wrong models ----

TEST(QuantisedVerdict, AWrongShiftOrWeightFails) {
  for (const auto& [seed, layers] : kWithTies) {
    const testing::ModelCase one = RandomNetwork(seed).made(layers);
    EXPECT_TRUE(check_of(one, one).right()) << seed;
    EXPECT_FALSE(check_of(one, RandomNetwork(seed).made(layers, 24)).right()) << seed;
    testing::ModelCase wrong = one;
    const auto changed = std::find_if(wrong.model.nodes.begin(), wrong.model.nodes.end(), [](const Node& node) {
      return std::holds_alternative<Convolution>(node.operation);
    });
    if (changed == wrong.model.nodes.end()) continue;
    auto& convolution = std::get<Convolution>(changed->operation);
    CsrMatrix weights = convolution.weights;
    std::vector<float> values(weights.values.begin(), weights.values.end());
    for (float& value : values) value = -value;
    weights.values = std::move(values);
    convolution.weights = std::move(weights);
    EXPECT_FALSE(check_of(one, wrong).right()) << seed;
  }
}

// ---- Ties ----

TEST(EvaluateDecided, OnlyNumbersThatRoundingMayMoveAreDecided) {
  testing::ModelBuilder builder;
  ValueId y = builder.add(Elementwise{}, {builder.input({kN, 4}), builder.constant(testing::make_tensor({}, {0.25F}))});
  y = builder.add(testing::make_activation(Activation::Kind::round), {y});
  y = builder.add(Elementwise{Elementwise::Kind::multiply}, {y, builder.constant(testing::make_tensor({}, {8}))});
  const Model model = builder.finish({y});
  const Tensor images = testing::make_tensor({1, 4}, {1.25F, 2.25F, 2.24F, 1000});  // halfway: 1.5 and 2.5
  const auto decided = [&](Undecided choice) {
    const Bounded found = evaluate_decided(model, {images}, choice).front();
    for (const double bound : found.bounds) EXPECT_LT(bound, 1);
    return found.values;
  };
  EXPECT_EQ(evaluate(model, {images}).front().values, (std::vector<double>{16, 16, 16, 8000}));
  EXPECT_EQ(decided(Undecided::below), (std::vector<double>{8, 16, 16, 8000}));
  EXPECT_EQ(decided(Undecided::above), (std::vector<double>{16, 24, 16, 8000}));
  EXPECT_EQ(decided(Undecided::other), (std::vector<double>{8, 24, 16, 8000}));
}

}  // namespace
}  // namespace spdnn
