#include "core/text/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace spdnn {
namespace {

const std::vector<std::string> kNames{"inputs", "images", "model", "mnist", "trials", "json", "host-memory"};

TEST(NearestName, IsThatOfTheFewestSlips) {
  EXPECT_EQ(nearest_name("input", kNames), "inputs");
  EXPECT_EQ(nearest_name("modle", kNames), "model");
  EXPECT_EQ(nearest_name("tirals", kNames), "trials");
  EXPECT_EQ(nearest_name("imagse", kNames), "images");
  EXPECT_EQ(nearest_name("host-mem", kNames), "host-memory");
  EXPECT_EQ(nearest_name("mdeol", kNames), "model");
  const std::vector<std::string> devices{"cuda", "cpu"};
  EXPECT_EQ(nearest_name("cup", devices), "cpu");  // of three letters, a swap is the one slip
}

TEST(NearestName, IsNoneWhereNothingIsNear) {
  for (const char* const far : {"", "x", "js", "colour", "verify", "mo"})
    EXPECT_EQ(nearest_name(far, kNames), "") << far;
  EXPECT_EQ(nearest_name(std::string(1000000, 'x'), kNames), "");
  EXPECT_EQ(did_you_mean("colour", kNames, "--"), "");
  EXPECT_EQ(did_you_mean("jsn", kNames, "--"), "; did you mean --json?");
}

}  // namespace
}  // namespace spdnn
