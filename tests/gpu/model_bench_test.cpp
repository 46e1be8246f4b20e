// Lines of times of models name the device that was timed.

#include "bench/model_bench.hpp"

#include <gtest/gtest.h>

namespace spdnn::bench {
namespace {

TEST(ModelBench, LinesNameTheDeviceOfTheirVariant) {
  const auto device_of = [](const char* variant) {
    ModelTiming timing;
    timing.variant = variant;
    timing.batch = 1;
    timing.times.seconds = {1};
    return timing_json({}, timing)["machine"]["device"];
  };
  EXPECT_TRUE(device_of("conv_direct").is_string());
  EXPECT_TRUE(device_of("conv_dense").is_null());
}

}  // namespace
}  // namespace spdnn::bench
