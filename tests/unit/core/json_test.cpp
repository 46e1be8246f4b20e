#include "core/text/json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "support/message_of.hpp"
#include "support/printed_json.hpp"

namespace spdnn {
namespace {

/// The problem of a text, with its position.
std::string problem_of(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const JsonProblem& problem) {
    return fmt::format("{}: {}", problem.at, problem.message);
  }
  return "none";
}

TEST(Json, OfEachTypeIsWrittenAsThatType) {
  const Json json{{"null", nullptr},
                  {"truth", true},
                  {"least", std::numeric_limits<std::int64_t>::min()},
                  {"most", std::numeric_limits<std::uint64_t>::max()},
                  {"int", -1},
                  {"unsigned", 1U},
                  {"float", 0.5F},
                  {"double", 0.1},
                  {"whole", 2.0},
                  {"infinite", std::numeric_limits<double>::infinity()},
                  {"large", 1e22},
                  {"text", "a\"\n\u00e9"},
                  {"list", std::vector<int>{1, -2}},
                  {"pair", std::array<double, 2>{1, 2}},
                  {"mixed", Json::array({1, "a", nullptr, Json{{"b", false}}})},
                  {"empty", Json::array()},
                  {"none", Json::object()}};
  const std::string text =
      R"({"null":null,"truth":true,"least":-9223372036854775808,"most":18446744073709551615,"int":-1,"unsigned":1,)"
      R"("float":0.5,"double":0.1,"whole":2.0,"infinite":null,"large":1e+22,"text":"a\"\né",)"
      R"("list":[1,-2],"pair":[1.0,2.0],"mixed":[1,"a",null,{"b":false}],"empty":[],"none":{}})";
  EXPECT_EQ(json_text(json), text);
  EXPECT_EQ(json_line(json), text + "\n");
  EXPECT_EQ(json_text(parse_json(text)), text);
  EXPECT_EQ(ascii_json("\u00e9"), R"("\u00e9")");
  EXPECT_EQ(json_text(Json{{"a", Json::array({1})}}, 1), "{\n \"a\": [\n  1\n ]\n}");
  EXPECT_EQ(json_or_null(std::optional<int>(2)), 2);
  EXPECT_EQ(json_or_null(std::optional<int>()), nullptr);
  EXPECT_EQ(json_or_null(std::string()), nullptr);
}

TEST(Json, BytesThatAreNotUtf8AreReplacedInLinesAlone) {
  EXPECT_EQ(json_line("\xff"), "\"\uFFFD\"\n");
  EXPECT_EQ(shown("\xff"), "\"\\ufffd\"");
  EXPECT_THROW(json_text("\xff"), UnexpectedJson);
  EXPECT_EQ(shown(std::string(100, 'a')), "\"" + std::string(59, 'a') + "...");
}

TEST(Json, NumbersAreEqualByValueAndObjectsInAnyOrder) {
  EXPECT_EQ(Json(1), 1.0);
  EXPECT_EQ(Json(-1), -1.0);
  EXPECT_EQ(Json(std::int64_t{7}), std::uint64_t{7});
  EXPECT_NE(Json(1), true);
  EXPECT_NE(Json(1), "1");
  EXPECT_NE(Json(0), nullptr);
  EXPECT_NE(Json(std::numeric_limits<std::uint64_t>::max()), Json(std::numeric_limits<std::uint64_t>::max() - 1));
  EXPECT_EQ(parse_json(R"({"a": 1, "b": [2, {"c": 3, "d": 4}]})"),
            parse_json(R"({"b": [2, {"d": 4, "c": 3}], "a": 1})"));
  EXPECT_NE(parse_json(R"({"a": 1, "b": 2})"), parse_json(R"({"a": 1, "b": 3})"));
  EXPECT_NE(parse_json(R"({"a": 1, "b": 2})"), parse_json(R"({"a": 1, "c": 2})"));
  EXPECT_NE(parse_json(R"({"a": 1})"), parse_json(R"({"a": 1, "b": 2})"));
  EXPECT_NE(parse_json("[1, 2]"), parse_json("[2, 1]"));
  EXPECT_NE(Json::object(), Json::array());
}

TEST(Json, MembersAreFoundSetAndErased) {
  Json json;
  json["a"]["b"] = 1;
  json["c"].push_back("x");
  json["c"].push_back(2);
  json["a"]["b"] = 3;
  EXPECT_EQ(json_text(json), R"({"a":{"b":3},"c":["x",2]})");
  json.update({{"d", 4}, {"a", 5}});
  json["c"][0] = nullptr;
  EXPECT_EQ(json_text(json), R"({"a":5,"c":[null,2],"d":4})");
  json.erase("a");
  json.erase("missing");
  const Json& same = json;
  EXPECT_EQ(same.size(), 2U);
  EXPECT_EQ(same.find("a"), nullptr);
  EXPECT_EQ(same["a"]["b"], nullptr);
  EXPECT_EQ(same.at("c").back(), 2);
  EXPECT_EQ(same.items().front().name, "c");
  EXPECT_TRUE(same["c"].items().empty());
}

TEST(Json, OfAnotherKindIsRefused) {
  const Json list = Json::array({1, "a"});
  EXPECT_EQ(testing::message_of<UnexpectedJson>([&] { list[0].get<std::string>(); }), "expected a text");
  EXPECT_EQ(testing::message_of<UnexpectedJson>([&] { list[1].get<double>(); }), "expected a number");
  EXPECT_EQ(testing::message_of<UnexpectedJson>([&] { list[0].get<bool>(); }), "expected true or false");
  EXPECT_THROW(Json(true).get<double>(), UnexpectedJson);
  EXPECT_THROW(list.get<std::vector<std::string>>(), UnexpectedJson);
  EXPECT_THROW(list[2], UnexpectedJson);
  EXPECT_THROW(list.at("a"), UnexpectedJson);
  EXPECT_THROW(Json::array().back(), UnexpectedJson);
  EXPECT_THROW(Json::object().begin(), UnexpectedJson);
  EXPECT_THROW(Json(1)["a"], UnexpectedJson);
  EXPECT_THROW(Json(1).push_back(1), UnexpectedJson);
  EXPECT_EQ(Json(3).get<float>(), 3.0F);
  EXPECT_EQ(Json::array({1, -2}).get<std::vector<std::int64_t>>(), (std::vector<std::int64_t>{1, -2}));
  EXPECT_TRUE(Json(1).is_number_unsigned());
  EXPECT_FALSE(Json(-1).is_number_unsigned() || Json(1.0).is_number_integer() || Json(true).is_number());
}

TEST(JsonText, ProblemsHaveTheirPosition) {
  EXPECT_EQ(problem_of([] { parse_json(R"({"a": x})"); }), "6: not JSON: last read: '\"a\": x'");
  EXPECT_EQ(problem_of([] { parse_json(R"({"a": 1e999})"); }).substr(0, 12), "0: not JSON:");
  EXPECT_EQ(problem_of([] { parse_json("1 2"); }), "2: not JSON: expected end of input");
  EXPECT_EQ(problem_of([] { parse_json(R"({"a" x})"); }), "5: not JSON: expected ':'");
  EXPECT_EQ(problem_of([] { parse_json(""); }).substr(0, 12), "0: not JSON:");
  const std::string levels(64, '[');
  const std::string ends(64, ']');
  EXPECT_EQ(problem_of([&] { parse_json(levels + ends); }), "none");
  EXPECT_EQ(problem_of([&] { parse_json(levels + "\"[[\\\"[\"" + ends); }), "none");
  EXPECT_EQ(problem_of([&] { parse_json(levels + "[]" + ends); }), "64: nested too deeply, expected at most 64 levels");
  EXPECT_TRUE(parse_json_or_null("{").is_null());
  EXPECT_EQ(parse_json_or_null("2"), 2);
}

TEST(JsonText, OfARepeatedKeyTheLastValueCounts) {
  EXPECT_EQ(json_text(parse_json(R"({"a": 1, "b": {"c": 1, "c": [2]}, "a": {"d": 3}, "e": 4})")),
            R"({"a":{"d":3},"b":{"c":[2]},"e":4})");
  std::string large;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    large += fmt::format("\"m{}\": [{}],", i, i);
    expected += fmt::format("{}\"m{}\":[{}]", i > 0 ? "," : "", i, i == 7 || i == 150 ? -i : i);
  }
  EXPECT_EQ(json_text(parse_json("{" + large + R"("m7": [-7], "m150": [-150]})")), "{" + expected + "}");
  EXPECT_EQ(problem_of([&] { parse_strict_json("{" + large + "\"m150\": 1}"); }),
            "0: an object has two keys \"m150\", expected each key once");
  EXPECT_EQ(problem_of([&] { parse_strict_json("{" + large + "\"m199\": 1}"); }),
            "0: an object has two keys \"m199\", expected each key once")
      << "of the member before";
}

TEST(JsonText, StrictlyMembersAreSortedAndKeysComeOnce) {
  EXPECT_EQ(json_text(parse_strict_json(R"({"b": {"d": 1, "c": [2]}, "a": 3})")), R"({"a":3,"b":{"c":[2],"d":1}})");
  EXPECT_EQ(problem_of([] { parse_strict_json(R"({"a": {"b": 1, "b": 2}, "a": x})"); }),
            "0: an object has two keys \"b\", expected each key once");
  EXPECT_EQ(problem_of([] { parse_strict_json(R"([{"b": 1}, {"b": 2}])"); }), "none");
  EXPECT_EQ(problem_of([] { parse_strict_json(R"({"b": 1, "a": {"b": 2}})"); }), "none");
}

}  // namespace
}  // namespace spdnn
