// Verdicts on models with quantised values, some of which lie between two steps so that rounding decides.

#include "model/graph/quantised.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

struct Verified {
  ModelReport report;
  std::vector<std::string> tasks;
};
Verified verified(const testing::ModelCase& one, const char* variant) {
  Verified verified;
  ModelSpec spec;
  spec.variant = variant;
  spec.truth.everything = true;
  spec.progress = [&](const ProgressUpdate& update) {
    if (update.over) verified.tasks.emplace_back(update.work);
  };
  ModelInference inference(spec);
  inference.load(one.model, one.inputs[0]);
  inference.plan();
  inference.run();
  inference.verify();
  verified.report = inference.report();
  return verified;
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
      const auto [report, tasks] = verified(one, variant);
      EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << seed << ": " << report.verdict.against;
      const OutputCheck& worst = report.recomputed->worst();
      if (worst.largest_excess * worst.widened > OutputCheck::kMostWidened) ++beyond_the_usual;
    }
  EXPECT_EQ(beyond_the_usual, 10);
}

TEST(QuantisedVerdict, NodesAreComparedAsInt8KernelsComputeThem) {
  testing::Rng rng(1);
  testing::ModelBuilder builder;
  ValueId x = testing::quantised(builder, builder.input({kN, 8, 8, 8}), {true, 0, 0.01F});
  x = builder.add(testing::random_convolution(rng, 8, 8, testing::same_window(3, 3), 0.3), {x});
  x = testing::quantised(builder, x, {false, 3, 0.02F});
  const auto [report, tasks] =
      verified({"", builder.finish({x}), {testing::random_tensor(rng, {2, 8, 8, 8})}}, "sparse");
  EXPECT_EQ(report.nodes_run, 11U);
  EXPECT_EQ(report.nodes_checked->nodes, 3U);
  EXPECT_EQ(std::count(tasks.begin(), tasks.end(), "verify nodes"), 1);
  EXPECT_EQ(std::count(tasks.begin(), tasks.end(), "verify quantised values"), 1);
}

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
