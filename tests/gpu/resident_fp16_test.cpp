// The `resident` engine with fp16 storage. The oracle here does on the host what the engine does: it computes sums in
// fp32, in the given order and with fused multiply-add, and rounds activations to halves. Every shape must agree with
// it to the last bit. Where halves represent all activations exactly, the engine must agree with its own fp32 form.

#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engines/cuda/resident/engine.hpp"
#include "gpu/exact_halves.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda {
namespace {

using testing::Rng;
using testing::Truth;

const EngineOptions fp16_options{.precision = Precision::fp16};

using Rounding = float (*)(float);
float to_half(float value) { return __half2float(__float2half_rn(value)); }
float unrounded(float value) { return value; }

float neuron(const Network& network, const Layer& layer, Index row, const std::vector<float>& inputs, Rounding round) {
  float sum = 0;
  for (Offset k = layer.weights.offsets[row]; k < layer.weights.offsets[row + 1]; ++k)
    sum = std::fmaf(inputs[layer.weights.indices[k]], layer.weights.entry_value(k), sum);
  if (network.bias_rule == BiasRule::everywhere || sum != 0.0F) sum += static_cast<float>(layer.bias[row]);
  return round(std::min(std::max(sum, 0.0F), static_cast<float>(*network.cap)));
}

/// The expected outcome for a network with a cap.
Truth computed(const testing::Case& c, Rounding round = to_half) {
  const CsrMatrix images = c.images.to_csr();
  Truth truth;
  truth.activations.resize(c.network.layers.size());
  truth.outcome.alive.assign(c.network.layers.size(), 0);
  for (Index image = 0; image < images.rows; ++image) {
    std::vector<float> row(images.cols, 0.0F);
    for (Offset k = images.offsets[image]; k < images.offsets[image + 1]; ++k)
      row[images.indices[k]] = round(images.entry_value(k));
    bool alive = false;
    for (std::size_t k = 0; k < c.network.layers.size(); ++k) {
      const Layer& layer = c.network.layers[k];
      std::vector<float> next(layer.outputs());
      for (Index j = 0; j < layer.outputs(); ++j) next[j] = neuron(c.network, layer, j, row, round);
      row = std::move(next);
      truth.activations[k].insert(truth.activations[k].end(), row.begin(), row.end());
      alive = std::any_of(row.begin(), row.end(), [](float y) { return y != 0.0F; });
      truth.outcome.alive[k] += alive ? 1 : 0;
    }
    if (alive) truth.outcome.categories.push_back(image);
  }
  return truth;
}

/// Sums about half of the smallest half, 2^-24: just there, a tie, is the end of what is stored as zero. `bias` is of
/// the last neuron.
testing::Case edge_of_zero(double bias) {
  const float tie = 0x1p-25F;
  testing::Rows rows;
  for (const float weight : {tie / 2, tie, std::nextafter(tie, 1.0F), 2 * tie}) {
    const auto input = static_cast<Index>(rows.size());
    rows.push_back({{input, weight}});
  }
  testing::Case c{"edge_of_zero", testing::network_of({testing::make_layer(4, rows, 0.0)}), {}};
  c.network.layers[0].bias.values = Array<double>(std::vector<double>{0, 0, 0, bias});
  c.images = {testing::make_matrix(4, {{{0, 1.0F}}, {{1, 1.0F}}, {{2, 1.0F}}, {{3, 1.0F}}}, true)};
  return c;
}

/// The shared battery, as far as fp16 takes it, and activations about the smallest halves.
std::vector<testing::Case> cases() {
  std::vector<testing::Case> all = testing::battery();
  std::erase_if(all, [](const testing::Case& c) { return !c.network.cap; });
  all.push_back(edge_of_zero(-0x1p-30));
  all.push_back(edge_of_zero(0x1p-30));
  return all;
}

class ResidentFp16Test : public ::testing::Test {
 protected:
  /// Calls `check_engine(make)` for the engine as it chooses its shapes and for every shape that a plan fits.
  template <class Check>
  static void for_each_shape(const Plan& plan, const Check& check_engine) {
    check_engine(testing::MakeEngine(find_variant("resident").make));
    for (std::size_t shape = 0; shape < resident_shapes(Precision::fp16).size(); ++shape) {
      if (!fits(plan, shape, fp16_options)) continue;
      SCOPED_TRACE("shape " + std::to_string(shape));
      check_engine([shape](std::shared_ptr<const Plan> p, const BatchInfo& batch, const EngineOptions& o) {
        return make_resident(std::move(p), batch, o, shape);
      });
    }
  }
};

TEST_F(ResidentFp16Test, EveryShapeRoundsAsTheOracleDoes) {
  for (const testing::Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Truth truth = computed(c);
    for (const char* passes : {"none", "dead,saturated"})
      for_each_shape(testing::unreduced_plan(c.network), [&](const testing::MakeEngine& make) {
        EXPECT_EQ(testing::difference(truth, c, make, parse_passes(passes), fp16_options, 0.0), "") << passes;
      });
  }
}

TEST_F(ResidentFp16Test, AgreesWithFp32WhereHalvesHoldEverything) {
  constexpr Index kImages = 75;  // several tiles of every shape, the last not full
  for (const Index width : {60U, 250U, 1000U, 2000U, 4096U, 8000U, 16000U}) {
    for (const bool uniform : {true, false}) {
      for (const bool values : {true, false}) {
        SCOPED_TRACE(std::to_string(width) + (uniform ? ", one weight" : ", weights") +
                     (values ? ", values" : ", bits"));
        const testing::Case c = exact_case(width, kImages, uniform, values);
        const Plan plan = testing::unreduced_plan(c.network, parse_passes("dead,saturated"));
        const Truth fp32 =
            trace_of(*testing::engine_for(find_variant("resident"), plan, c.images), plan.depth(), c.images);
        EXPECT_FALSE(fp32.outcome.categories.empty());
        for_each_shape(plan, [&](const testing::MakeEngine& make) {
          const auto engine = testing::engine_by(make, plan, c.images, fp16_options);
          const Truth fp16 = trace_of(*engine, plan.depth(), c.images);
          for (Index k = 0; k < plan.depth(); ++k)
            ASSERT_EQ(fp16.activations[k], fp32.activations[k]) << "after layer " << k + 1;
          EXPECT_EQ(fp16.outcome.categories, fp32.outcome.categories);
          EXPECT_EQ(fp16.outcome.alive, fp32.outcome.alive);
          EXPECT_EQ(testing::run_through(*engine, plan.depth()).categories, fp32.outcome.categories);
        });
      }
    }
  }
}

/// 1 + 2^-12 is stored as 1 and falls to the bias, 1 - 2^-12 is stored as 1 and does not.
TEST_F(ResidentFp16Test, DiffersFromFp32WhereHalvesRound) {
  Network network = testing::network_of({testing::make_layer(2, {{{0, 1 + 0x1p-12F}}, {{1, 1 - 0x1p-12F}}}, 0.0),
                                         testing::make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, 0.0)});
  network.layers[1].bias.values = Array<double>(std::vector<double>{-1.0001, -0.9999});
  const testing::Case c{"rounded", network, {testing::make_matrix(2, {{{0, 1.0F}}, {{1, 1.0F}}}, true)}};
  EXPECT_EQ(computed(c).outcome.categories, Categories{1});
  EXPECT_EQ(computed(c, unrounded).outcome.categories, Categories{0});
  const Plan plan = testing::unreduced_plan(network, parse_passes("dead"));
  const Variant& resident = find_variant("resident");
  EXPECT_EQ(trace_of(*testing::engine_for(resident, plan, c.images), 2, c.images).outcome.categories, Categories{0});
  for_each_shape(plan, [&](const testing::MakeEngine& make) {
    EXPECT_EQ(trace_of(*testing::engine_by(make, plan, c.images, fp16_options), 2, c.images).outcome.categories,
              Categories{1});
  });
}

TEST_F(ResidentFp16Test, RefusesImagesThatHalvesDoNotHold) {
  const Network network = testing::network_of({testing::make_layer(1, {{{0, 1.0F}}}, 0.0)});
  const ImageSet large{testing::make_matrix(1, {{{0, 65504.0F}}})};
  const auto engine =
      testing::engine_for(find_variant("resident"), testing::unreduced_plan(network), large, fp16_options);
  EXPECT_NO_THROW(engine->load(large));
  EXPECT_THROW(engine->load({testing::make_matrix(1, {{{0, -65536.0F}}})}), UsageError);
}

TEST(ResidentFp16, RefusesPlansThatHalvesDoNotHold) {
  const auto takes = [](const Plan& plan, Precision precision) {
    return support_of(find_variant("resident"), plan, {}, {.precision = precision}).takes();
  };
  Plan plan = testing::unreduced_plan(testing::network_of({testing::make_layer(1, {{{0, 1.0F}}}, 0.0)}));
  EXPECT_TRUE(takes(plan, Precision::fp16));
  for (const std::optional<double> cap : {std::optional<double>(), std::optional(0.1), std::optional(65536.0)}) {
    plan.cap = cap;
    EXPECT_FALSE(takes(plan, Precision::fp16));
    EXPECT_TRUE(takes(plan, Precision::fp32));
  }
  plan.cap = 65504;
  EXPECT_TRUE(takes(plan, Precision::fp16));
  plan.passes.merge = true;
  EXPECT_FALSE(takes(plan, Precision::fp16));
}

/// The references of the tests above must differ between fp16 and fp32.
TEST(ResidentFp16, TheBatteryShowsRounding) {
  int categories = 0;
  for (const testing::Case& c : cases()) {
    const Truth rounded = computed(c);
    const Truth exact = computed(c, unrounded);
    categories += rounded.outcome.categories != exact.outcome.categories ? 1 : 0;
    if (c.name == "edge_of_zero") {
      EXPECT_EQ(rounded.outcome.categories, (Categories{2, 3}));
      EXPECT_EQ(exact.outcome.categories.size(), 4U);
    }
  }
  EXPECT_GT(categories, 0);
}

}  // namespace
}  // namespace spdnn::cuda
