#include "cli/options.hpp"

#include <gtest/gtest.h>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::cli {
namespace {

/// The error for these arguments, or "taken".
std::string option_refusal(const Arguments& arguments) {
  OptionGroup group;
  group.options.add_options()("neurons", takes("N"), "")("compare", "");
  po::variables_map values;
  try {
    parse(arguments,
          {.name = "test", .summary = "", .usage = "spdnn test [IN]", .groups = {group}, .positional = {"[IN]"}},
          values);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Options, NamesThatLookLikePlaceholdersOfMessagesAreUnknown) {
  EXPECT_EQ(option_refusal({"--%canonical_option%"}),
            "unrecognised option '--%canonical_option%'; usage: spdnn test [IN]");
  EXPECT_EQ(option_refusal({"--x%original_token%=3"}),
            "unrecognised option '--x%original_token%'; usage: spdnn test [IN]");
}

TEST(Options, TwoDashesThatAreAValueEndNoOptions) {
  EXPECT_EQ(option_refusal({"--neurons", "--", "--x%option%="}),
            "unrecognised option '--x%option%'; usage: spdnn test [IN]");
}

TEST(Options, PercentSignsInValuesAndFileNamesMeanNothing) {
  EXPECT_EQ(option_refusal({"--neurons=%value%", "100%.tsv"}), "taken");
  EXPECT_EQ(option_refusal({"--", "--100%.tsv"}), "taken");
}

TEST(Options, NumbersOfThingsAreThoseThatAnIndexHolds) {
  const auto taken = [](const char* text) { return parse_count("images", text); };
  EXPECT_EQ(taken("2147483647"), kMaxIndex);
  for (const char* beyond : {"0", "2147483648", "4294967297", "18446744073709551615"})
    EXPECT_EQ(testing::message_of<UsageError>([&] { taken(beyond); }),
              "--images: " + std::string(beyond) + " is outside 1..2147483647");
  EXPECT_EQ(testing::message_of<UsageError>([&] { taken("4x"); }), "--images: '4x' is not a positive whole number");
}

TEST(Options, SizesAreBytesOrHaveAUnit) {
  const auto bytes = [](const char* text) { return parse_bytes("host-memory", text); };
  EXPECT_EQ(bytes("auto"), 0U);
  EXPECT_EQ(bytes("1"), 1U);
  EXPECT_EQ(bytes("4096b"), 4096U);
  EXPECT_EQ(bytes("3k"), 3072U);
  EXPECT_EQ(bytes("500M"), 500U << 20U);
  EXPECT_EQ(bytes("4G"), std::size_t{4} << 30U);
  EXPECT_EQ(bytes("4GiB"), std::size_t{4} << 30U);
  EXPECT_EQ(bytes("4gb"), 4'000'000'000U);
  EXPECT_EQ(bytes("2TB"), 2'000'000'000'000U);
  EXPECT_EQ(bytes("7kB"), 7000U);
  for (const char* wrong : {"", "0", "0G", "-1", "1.5G", "G", "4X", "4Gi", "4GG", "4 G", "4iB", "1e9", "auto1",
                            "17000000T", "99999999999999999999"}) {
    try {
      bytes(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "--host-memory: '" + std::string(wrong) + "' is not a size, such as 500M, 4G, 8GB or auto");
    }
  }
}

TEST(Options, TimesAreSecondsOrHaveAUnit) {
  const auto seconds = [](const char* text) { return parse_seconds("max-time", text); };
  EXPECT_EQ(seconds("90"), 90);
  EXPECT_EQ(seconds("30s"), 30);
  EXPECT_EQ(seconds("15m"), 900);
  EXPECT_EQ(seconds("4h"), 14400);
  EXPECT_EQ(seconds("0.5h"), 1800);
  for (const char* wrong :
       {"", "0", "0m", "-1", "h", "4d", "15 m", "15min", "1h30m", "inf", "nan", "1e308h", "never"}) {
    try {
      seconds(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "--max-time: '" + std::string(wrong) + "' is not a time above 0, such as 30s, 15m or 4h");
    }
  }
}

}  // namespace
}  // namespace spdnn::cli
