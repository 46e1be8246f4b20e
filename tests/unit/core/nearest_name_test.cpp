#include "core/text/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace spdnn {
namespace {

const std::vector<std::string> option_names{"inputs", "images", "model", "mnist", "trials", "json", "host-memory"};

TEST(NearestName, IsThatOfTheFewestSlips) {
  EXPECT_EQ(nearest_name("input", option_names), "inputs");
  EXPECT_EQ(nearest_name("modle", option_names), "model");
  EXPECT_EQ(nearest_name("tirals", option_names), "trials");
  EXPECT_EQ(nearest_name("imagse", option_names), "images");
  EXPECT_EQ(nearest_name("host-mem", option_names), "host-memory");
  EXPECT_EQ(nearest_name("mdeol", option_names), "model");
  const std::vector<std::string> devices{"cuda", "cpu"};
  EXPECT_EQ(nearest_name("cup", devices), "cpu");  // of three letters, a swap is the one slip
}

TEST(NearestName, IsNoneWhereNothingIsNear) {
  for (const char* const far : {"", "x", "js", "colour", "verify", "mo"})
    EXPECT_EQ(nearest_name(far, option_names), "") << far;
  EXPECT_EQ(nearest_name(std::string(1000000, 'x'), option_names), "");
  EXPECT_EQ(did_you_mean("colour", option_names, "--"), "");
  EXPECT_EQ(did_you_mean("jsn", option_names, "--"), "; did you mean --json?");
}

}  // namespace
}  // namespace spdnn
