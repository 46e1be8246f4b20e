// cublas_dense on tensor cores. Where tf32 or halves hold all factors and sums, it must agree with cpu_reference to the
// last bit; elsewhere its activations must lie within what rounding allows, and not all within fp32's.

#include <gtest/gtest.h>

#include <cmath>

#include "gpu/exact_halves.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {
namespace {

using testing::Truth;

EngineOptions in(Precision precision) { return {.precision = precision}; }
const Variant& dense() { return find_variant("cublas_dense"); }

TEST(DensePrecisionTest, AgreesWithFp64WhereEverythingIsHeld) {
  for (const Index width : {1U, 31U, 250U, 1000U}) {
    for (const bool uniform : {true, false}) {
      for (const Precision precision : {Precision::tf32, Precision::fp16}) {
        SCOPED_TRACE(std::to_string(width) + (uniform ? ", one weight, " : ", weights, ") +
                     std::string(to_string(precision)));
        testing::Case c = exact_case(width, 75, uniform, true);
        // Sums are stored as halves before the bias; without one they are exact up to the cap.
        for (Layer& layer : c.network.layers) layer.bias = {};
        const Plan plan = testing::unreduced_plan(c.network, parse_passes("dead,saturated,identical"));
        const Truth truth = trace_of(*testing::oracle_engine(plan), plan.depth(), c.images);
        const Truth mine =
            trace_of(*testing::engine_for(dense(), plan, c.images, in(precision)), plan.depth(), c.images);
        for (Index k = 0; k < plan.depth(); ++k)
          ASSERT_EQ(mine.activations[k], truth.activations[k]) << "after layer " << k + 1;
        EXPECT_EQ(mine.outcome.categories, truth.outcome.categories);
        EXPECT_EQ(mine.outcome.alive, truth.outcome.alive);
      }
    }
  }
}

TEST(DensePrecisionTest, RoundsFactorsAndNoMore) {
  constexpr Index kWidth = 300;
  constexpr Index kDegree = 20;
  testing::Rng rng(7);
  testing::Case c;
  c.network.layers.push_back(testing::random_layer(rng, kWidth, kWidth, kDegree, -1.0, 1.0, -0.1));
  c.images = testing::valued_images(rng, 64, kWidth, 0.5);
  const Plan plan = testing::unreduced_plan(c.network);
  const Truth truth = trace_of(*testing::oracle_engine(plan), 1, c.images);
  for (const auto& [precision, unit] : {std::pair{Precision::tf32, 0x1p-11}, std::pair{Precision::fp16, 0x1p-11}}) {
    SCOPED_TRACE(to_string(precision));
    const Truth mine = trace_of(*testing::engine_for(dense(), plan, c.images, in(precision)), 1, c.images);
    double worst = 0;
    for (std::size_t i = 0; i < truth.activations[0].size(); ++i)
      worst = std::max(worst, std::abs(mine.activations[0][i] - truth.activations[0][i]));
    // Both factors of each term are rounded (tensor cores may cut them off instead, twice the unit), then the sum.
    EXPECT_LT(worst, 6 * unit * kDegree * 4.0);
    EXPECT_GT(worst, unit / 16) << "as exact as fp32";
  }
}

TEST(DensePrecisionTest, RefusesWhatHalvesDoNotHold) {
  testing::Case c = exact_case(31, 10, true, false);
  const auto why_not = [&](const Network& network, Precision precision, const Passes& passes = {}) {
    return support_of(dense(), testing::unreduced_plan(network, passes), batch_info(c.images), in(precision)).why_not;
  };
  EXPECT_EQ(why_not(c.network, Precision::fp16), "");
  EXPECT_NE(why_not(c.network, Precision::fp16, parse_passes("merge")), "");
  EXPECT_NE(why_not(c.network, Precision::tf32, parse_passes("merge")), "");
  Network network = c.network;
  network.layers[1].weights.value = 70000.0F;
  EXPECT_NE(why_not(network, Precision::fp16).find("beyond 65504"), std::string::npos);
  EXPECT_EQ(why_not(network, Precision::tf32), "");
  network = c.network;
  network.cap.reset();
  EXPECT_NE(why_not(network, Precision::fp16).find("needs a cap"), std::string::npos);

  CsrMatrix large = c.images.to_csr();
  large.value = 70000.0F;
  const Plan plan = testing::unreduced_plan(c.network);
  const auto engine = testing::engine_for(dense(), plan, ImageSet{large}, in(Precision::fp16));
  EXPECT_THROW(engine->load(ImageSet{large}), UsageError);
}

}  // namespace
}  // namespace spdnn::cuda
