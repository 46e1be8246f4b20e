// The small forms of text that files, options and messages share.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/system/shared_library.hpp"
#include "core/text/amounts.hpp"
#include "core/text/comma_list.hpp"
#include "core/text/csv.hpp"
#include "core/text/flag_names.hpp"
#include "core/text/lower_case.hpp"
#include "core/text/nearest_name.hpp"
#include "core/threads/deadline.hpp"
#include "core/types/shape.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn {
namespace {

using ListedNames = std::vector<std::string>;

TEST(Text, ListsHaveAPartBeforeBetweenAndAfterCommas) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split_at_commas(""), (Parts{""}));
  EXPECT_EQ(split_at_commas("a"), (Parts{"a"}));
  EXPECT_EQ(split_at_commas("a,bc,d"), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(split_at_commas(",a,,b,"), (Parts{"", "a", "", "b", ""}));
}

TEST(Text, CapitalsOfAsciiAloneBecomeSmall) {
  EXPECT_EQ(lower_case("@ABYZ[`abyz{09_"), "@abyz[`abyz{09_");
  EXPECT_EQ(lower_case("\u00c4\u00d6"), "\u00c4\u00d6");
}

TEST(Text, AmountsAreSingularForOneAloneAndTimesHaveThreeDigits) {
  EXPECT_EQ(counted(0, "image", "images"), "0 images");
  EXPECT_EQ(counted(1, "image", "images"), "1 image");
  EXPECT_EQ(counted(2, "image", "images"), "2 images");
  for (const auto& [seconds, text] : std::vector<std::pair<double, std::string>>{{0, "0 s"},
                                                                                 {0.012345, "0.0123 s"},
                                                                                 {4.5, "4.5 s"},
                                                                                 {99.94, "99.9 s"},
                                                                                 {100.4, "100 s"},
                                                                                 {1234.5678, "1235 s"}})
    EXPECT_EQ(seconds_text(seconds), text);
  for (const auto& [bytes, text] : std::vector<std::pair<std::size_t, std::string>>{
           {999'949, "999.9 kB"}, {1'000'000, "1.0 MB"}, {999'900'000, "999.9 MB"}, {1'000'000'000, "1.0 GB"}})
    EXPECT_EQ(bytes_text(bytes), text);
}

/// Fields as files have them, and what they say.
TEST(Text, FieldsOfCsvAreReadAsTheyWereWrittenFormulasQuoted) {
  const std::vector<std::pair<std::string, std::string>> written{{"", ""},
                                                                 {"cat", "cat"},
                                                                 {"a b", "a b"},
                                                                 {"a,b", "\"a,b\""},
                                                                 {"a\"b", "\"a\"\"b\""},
                                                                 {"\"", "\"\"\"\""},
                                                                 {"a\nb", "\"a\nb\""},
                                                                 {"a\r", "\"a\r\""},
                                                                 {"-1.5e3", "-1.5e3"},
                                                                 {"+1", "\"'+1\""},
                                                                 {"-1x", "\"'-1x\""},
                                                                 {"=1+1", "\"'=1+1\""},
                                                                 {"@a", "\"'@a\""},
                                                                 {"  =1", "\"'  =1\""},
                                                                 {"\ta", "\"'\ta\""},
                                                                 {"a=1", "a=1"},
                                                                 {"   ", "   "}};
  std::string file;
  for (const auto& [text, field] : written) {
    EXPECT_EQ(csv_field(text), field);
    file.append(field).append(",").append(field).append("\r\n");
  }
  const std::vector<CsvRecord> records = read_csv("f", file);
  ASSERT_EQ(records.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    ASSERT_EQ(records[i].size(), 2U);
    const bool formula = written[i].second.starts_with("\"'");
    for (const CsvField& field : records[i]) EXPECT_EQ(field.text, (formula ? "'" : "") + written[i].first);
  }
}

TEST(Text, FieldsOfCsvKnowWhereTheyBegin) {
  const std::vector<CsvRecord> records = read_csv("f", "ab,\"c\nd\",e\n\nf,g\r\n");
  std::string places;
  for (const CsvRecord& record : records) {
    for (const CsvField& field : record)
      places += std::to_string(field.line) + ":" + std::to_string(field.column) + " ";
    places += "| ";
  }
  EXPECT_EQ(places, "1:1 1:4 2:4 | 3:1 | 4:1 4:3 | ");
  const auto problem = [](std::string_view text) {
    return testing::message_of<DataError>([&] { read_csv("f", text); });
  };
  EXPECT_EQ(problem({"a\nb\0", 4}), "f:2:2: a byte 0, expected text");
  EXPECT_EQ(problem("a\n\"b\nc\"d"), "f:3:3: expected a comma or the end of the line");
  EXPECT_EQ(problem("a\rb"), "f:1:3: expected a comma or the end of the line");
  EXPECT_EQ(problem("a\n\"b\nc,d\n"), "f:2:1: a quotation that does not end");
  EXPECT_TRUE(read_csv("f", "").empty());
}

struct Tastes {
  bool sweet = false;
  bool sour = false;
  bool salty = false;
};

TEST(Text, FlagsAreNamedAllNoneOrOneByOne) {
  constexpr FlagNames<Tastes, 3> kTastes{
      {{"sweet", &Tastes::sweet}, {"sour", &Tastes::sour}, {"salty", &Tastes::salty}}};
  const Tastes all{.sweet = true, .salty = true};
  const auto again = [&](std::string_view text) {
    return flags_text(kTastes, parse_flags(kTastes, text, all, "--taste", "taste"));
  };
  EXPECT_EQ(again("none"), "none");
  EXPECT_EQ(again("all"), "sweet,salty");
  EXPECT_EQ(again("salty"), "salty");
  EXPECT_EQ(again("salty,sour,sweet"), "sweet,sour,salty");
  EXPECT_EQ(again("sour,sour"), "sour");
  for (const std::string wrong : {"bitter", "", "Sweet"})
    for (const std::string& text : {wrong, "sour," + wrong}) try {
        again(text);
        ADD_FAILURE() << text;
      } catch (const UsageError& error) {
        EXPECT_EQ(std::string(error.what()), "--taste: '" + wrong +
                                                 "' is not a taste; expected all, none, or a list of sweet, sour, "
                                                 "salty");
      }
}

TEST(Text, NamesOfEqualDistanceAreThoseListedFirstAndBeginningsCountFromThreeLettersOn) {
  EXPECT_EQ(nearest_name("cat", ListedNames{"bat", "rat"}), "bat");
  EXPECT_EQ(nearest_name("cart", ListedNames{"bats", "cast", "card"}), "cast");
  EXPECT_EQ(nearest_name("sa", ListedNames{"saturated"}), "");
  EXPECT_EQ(nearest_name("sat", ListedNames{"saturated"}), "saturated");
  EXPECT_EQ(nearest_name("abc", ListedNames{"xbz"}), "") << "two slips of three letters";
  EXPECT_EQ(nearest_name("abcd", ListedNames{"xbcz"}), "xbcz");
  EXPECT_EQ(nearest_name("abcd", ListedNames{"xycz"}), "");
  EXPECT_EQ(nearest_name("", ListedNames{"a"}), "");
  EXPECT_EQ(nearest_name(std::string(40, 'a'), ListedNames{std::string(40, 'a') + "b"}), std::string(40, 'a') + "b");
  EXPECT_EQ(nearest_name(std::string(41, 'a'), ListedNames{std::string(41, 'a') + "b"}), "");
}

TEST(Shapes, HaveStridesInRowMajorOrder) {
  EXPECT_EQ(strides_of({2, 3, 5}), (std::vector<Extent>{15, 5, 1}));
  EXPECT_EQ(strides_of({}), std::vector<Extent>{});
  EXPECT_EQ(of_image({7, 3, 5}), (Shape{3, 5}));
  EXPECT_EQ(without_ones({1, 3, 1, 1, 5, 1}), (Shape{3, 5}));
}

TEST(Deadline, IsMissedOnlyByWhatLivesLonger) {
  std::atomic<int> missed = 0;
  {
    const Deadline far(std::chrono::seconds(1000), [&] { ++missed; });
  }
  EXPECT_EQ(missed, 0);
  const Deadline now(std::chrono::seconds(0), [&] { ++missed; });
  while (missed == 0) std::this_thread::yield();
  EXPECT_EQ(missed, 1);
}

TEST(SharedLibrary, IsTheFirstThatCanBeOpenedOrTheReasonIsSaid) {
  const SharedLibrary mathematics({"no-such-library.so", "libm.so.6"}, "advice");
  EXPECT_EQ(mathematics.function<double(double)>("floor")(2.5), 2);
  EXPECT_EQ(testing::message_of<DeviceError>([&] {
              mathematics.function<void()>("no_such_function");
            }).find("libm.so.6: cannot be used: "),
            0U);
  const std::string absent = testing::message_of<DeviceError>([] {
    const SharedLibrary library({"no-such-first.so", "no-such-last.so"}, "install it");
  });
  EXPECT_EQ(absent.find("no-such-last.so: cannot be used: no-such-last.so: "), 0U) << absent;
  EXPECT_TRUE(absent.ends_with("; install it")) << absent;
}

TEST(SharedLibrary, OfAPluginSaysWhyItIsNotUsedAfterOtherReasons) {
  std::string why_not = "first";
  EXPECT_EQ(plugin_function("/no/such.so", "f", 0, why_not), nullptr);
  EXPECT_EQ(why_not.find("first; /no/such.so: "), 0U) << why_not;
  EXPECT_NE(plugin_function("libm.so.6", "floor", 0, why_not), nullptr);
  EXPECT_EQ(why_not.find("; ", 7), std::string::npos) << why_not;
}

}  // namespace
}  // namespace spdnn
