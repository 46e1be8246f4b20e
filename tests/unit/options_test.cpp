#include "cli/options.hpp"

#include <gtest/gtest.h>

#include "spdnn/error.hpp"

namespace spdnn::cli {
namespace {

/// The message with which these arguments are refused, or "taken".
std::string refusal(const Arguments& arguments) {
  po::options_description options("Options");
  options.add_options()("neurons", po::value<std::string>(), "")("compare", "");
  po::variables_map values;
  try {
    parse(arguments, "spdnn test [IN]", options, {"[IN]"}, values);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Options, NamesThatLookLikePlaceholdersOfMessagesAreUnknown) {
  EXPECT_EQ(refusal({"--%canonical_option%"}), "unrecognised option '--%canonical_option%'; usage: spdnn test [IN]");
  EXPECT_EQ(refusal({"--x%original_token%=3"}), "unrecognised option '--x%original_token%'; usage: spdnn test [IN]");
}

TEST(Options, TwoDashesThatAreAValueEndNoOptions) {
  EXPECT_EQ(refusal({"--neurons", "--", "--x%option%="}), "unrecognised option '--x%option%'; usage: spdnn test [IN]");
}

TEST(Options, PercentSignsInValuesAndFileNamesMeanNothing) {
  EXPECT_EQ(refusal({"--neurons=%value%", "100%.tsv"}), "taken");
  EXPECT_EQ(refusal({"--", "--100%.tsv"}), "taken");
}

}  // namespace
}  // namespace spdnn::cli
