#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

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

TEST(Options, NumbersAreFiniteAndSharesBelowOne) {
  const auto refused = [](const auto& parse_text, const char* text) {
    return testing::message_of<UsageError>([&] { parse_text("x", text); });
  };
  EXPECT_EQ(parse_real("x", "-1.5e2"), -150);
  EXPECT_EQ(refused(parse_real, "inf"), "--x: 'inf' is not a finite number");
  EXPECT_EQ(refused(parse_real, "nan"), "--x: 'nan' is not a finite number");
  for (const char* const wrong : {"", "x", "1x", "1,5", " 1"})
    EXPECT_EQ(refused(parse_real, wrong), "--x: '" + std::string(wrong) + "' is not a number");
  EXPECT_EQ(parse_share("x", "0"), 0);
  EXPECT_EQ(parse_share("x", "0.999"), 0.999);
  for (const char* const wrong : {"1", "-0.001", "1.5"})
    EXPECT_EQ(refused(parse_share, wrong), "--x: " + std::string(wrong) + " is outside [0, 1)");
  EXPECT_EQ(parse_whole("x", "0"), 0U);
  EXPECT_EQ(refused(parse_whole, "-1"), "--x: '-1' is not 0 or a positive whole number");
  EXPECT_EQ(refused(parse_whole, "2147483648"), "--x: 2147483648 is outside 0..2147483647");
  EXPECT_EQ(parse_counts("x", "3,1,2"), (std::vector<Index>{3, 1, 2}));
  EXPECT_THROW(parse_counts("x", "3,0"), UsageError);
  EXPECT_THROW(parse_counts("x", "3,"), UsageError);
  EXPECT_EQ(parse_seconds_or_0("x", "0"), 0);
  EXPECT_EQ(parse_seconds_or_0("x", "2m"), 120);
  EXPECT_THROW(parse_seconds_or_0("x", "0s"), UsageError);
}

TEST(Options, WordsAreThoseThatAreKnown) {
  EXPECT_EQ(parse_bias_rule("non-zeros"), BiasRule::non_zeros);
  EXPECT_EQ(parse_bias_rule("everywhere"), BiasRule::everywhere);
  const auto refused = [](const auto& parse_text, const char* text) {
    return testing::message_of<UsageError>([&] { parse_text(text); });
  };
  EXPECT_EQ(refused(parse_bias_rule, "x"), "--bias-rule: 'x' is neither non-zeros nor everywhere");
  EXPECT_EQ(parse_cap("none"), std::nullopt);
  EXPECT_EQ(parse_cap("0.5"), 0.5);
  for (const char* const wrong : {"0", "-1"})
    EXPECT_EQ(refused(parse_cap, wrong), "--cap: " + std::string(wrong) + " is not positive");
  for (const Precision precision :
       {Precision::bf16, Precision::fp16, Precision::fp16_sums, Precision::tf32, Precision::fp32, Precision::fp64})
    EXPECT_EQ(parse_precision(std::string(to_string(precision))), precision);
  EXPECT_EQ(refused(parse_precision, "fp8"),
            "--precision: 'fp8' is not one of bf16, fp16, fp16-sums, tf32, fp32, fp64");
  EXPECT_STREQ(unknown_word("x", "y", {"a"}).what(), "--x: 'y' is none of a");
  EXPECT_STREQ(unknown_word("x", "y", {"a", "b", "c"}).what(), "--x: 'y' is none of a, b, c");
}

/// The values that a form takes, and what it says of others.
TEST(Options, AFormTakesItsOptionsAndNames) {
  OptionGroup group;
  group.options.add_options()("count", takes("N", "7"), "")("flag", "")(
      "files", po::value<std::vector<std::string>>()->value_name("PATH")->multitoken()->composing(), "");
  const auto parsed = [&](const Arguments& arguments, const std::vector<std::string>& positional) {
    po::variables_map values;
    EXPECT_TRUE(parse(
        arguments, {.name = "test", .summary = "", .usage = "spdnn test", .groups = {group}, .positional = positional},
        values));
    return values;
  };
  const auto refused = [&](const Arguments& arguments, const std::vector<std::string>& positional) {
    return testing::message_of<UsageError>([&] { parsed(arguments, positional); });
  };
  using Texts = std::vector<std::string>;
  const po::variables_map all = parsed({"a", "--flag", "b", "--count=3", "c"}, {"IN", "REST..."});
  EXPECT_EQ(text_of(all, "in"), "a");
  EXPECT_EQ(texts_of(all, "rest"), (Texts{"b", "c"}));
  EXPECT_EQ(text_of(all, "count"), "3");
  EXPECT_EQ(all.count("flag"), 1U);
  EXPECT_EQ(text_of(parsed({}, {"[IN]"}), "in"), std::nullopt);
  EXPECT_EQ(text_of(parsed({}, {"[IN]"}), "count"), "7");
  EXPECT_EQ(texts_of(parsed({"--files", "a", "b", "--files", "c"}, {}), "files"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(texts_of(parsed({"--count", "5"}, {}), "count"), Texts{"5"});
  EXPECT_TRUE(texts_of(parsed({}, {}), "files").empty());
  EXPECT_EQ(refused({}, {"IN"}), "IN is missing; usage: spdnn test");
  EXPECT_EQ(refused({"a"}, {"IN", "OUT"}), "OUT is missing; usage: spdnn test");
  EXPECT_EQ(refused({}, {"REST..."}), "REST is missing; usage: spdnn test");
  EXPECT_EQ(refused({"a"}, {}), "'a' is not an option; usage: spdnn test");
  EXPECT_EQ(refused({"--flag", "a"}, {}), "'a' is not an option; usage: spdnn test");
  EXPECT_EQ(refused({"--flag=1"}, {}), "option '--flag' does not take any arguments; usage: spdnn test");
  EXPECT_EQ(refused({"--cuont", "3"}, {}), "unrecognised option '--cuont'; did you mean --count?; usage: spdnn test");
  EXPECT_EQ(refused({"--count", ""}, {}), "--count: the value is empty");
  EXPECT_EQ(refused({"--files", "a", ""}, {}), "--files: the value is empty");
  EXPECT_NE(refused({"a", "b"}, {"IN"}), "no error");
  EXPECT_NE(refused({"--count"}, {}), "no error");
  EXPECT_NE(refused({"--count", "1", "--count", "2"}, {}), "no error");
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              refuse(all, {"in", "count"}, "that");
            }),
            "--in cannot be used with that");
  EXPECT_EQ(testing::message_of<UsageError>([&] { refuse(all, {"files"}, "that"); }), "no error");
}

}  // namespace
}  // namespace spdnn::cli
