#include "program/epilogue.hpp"

#include <gtest/gtest.h>

#include "program/predict.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using program::Epilogue;
using program::Request;

/// A convolution, a relu, an addition, a clip and a product with one number.
Model functions_after_a_convolution() {
  testing::Rng rng(91);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 3, 3});
  ValueId y = builder.add(testing::random_convolution(rng, 4, 4, {}, 0.5), {x});
  y = builder.add(Activation{}, {y});
  y = builder.add(Elementwise{}, {y, x});
  y = builder.add(testing::make_clip(-1, 1), {y});
  const ValueId half = builder.constant(testing::make_tensor({}, {0.5F}));
  return builder.finish({builder.add(Elementwise{Elementwise::Kind::multiply}, {y, half})});
}

TEST(Epilogue, PredictsAPassForEachFunctionThatAKernelDoesNotDoWithItsSums) {
  const Model model = functions_after_a_convolution();
  const auto passes = [&](Index fused, bool adds, int threads) {
    Step step{0, {}};
    for (Index node = 1; node <= fused; ++node) step.fused.push_back(node);
    const Epilogue epilogue(Request{.model = model, .step = step, .inputs = {}});
    return epilogue.finish_seconds(adds, 1000, threads) * program::kBytesPerSecond / 8000;
  };
  EXPECT_EQ(passes(1, false, 1), 0);
  EXPECT_DOUBLE_EQ(passes(2, false, 1), 1);
  EXPECT_DOUBLE_EQ(passes(4, false, 1), 3);
  EXPECT_DOUBLE_EQ(passes(3, true, 1), 0);
  EXPECT_DOUBLE_EQ(passes(4, true, 1), 1);
  EXPECT_DOUBLE_EQ(passes(4, true, 2), 0.5);
}

}  // namespace
}  // namespace spdnn
