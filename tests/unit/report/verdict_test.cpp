#include "spdnn/verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "spdnn/report.hpp"

namespace spdnn {
namespace {

using Status = Verdict::Status;

struct ScoringCase {
  const char* name;
  Categories categories;
  Categories truth;
  std::size_t missing;
  std::size_t extra;
};

const std::vector<ScoringCase>& scoring_cases() {
  static const std::vector<ScoringCase> cases{
      {"equal", {1, 4, 7}, {1, 4, 7}, 0, 0},
      {"both empty", {}, {}, 0, 0},
      {"one missing at the end", {1, 4}, {1, 4, 7}, 1, 0},
      {"one extra at the front", {0, 1, 4}, {1, 4}, 0, 1},
      {"same number, last differs", {1, 4, 8}, {1, 4, 7}, 1, 1},
      {"same number and sum, others", {1, 5, 6}, {2, 4, 6}, 2, 2},
      {"nothing found", {}, {3}, 1, 0},
      {"nothing true", {3}, {}, 0, 1},
  };
  return cases;
}

TEST(Verdict, ScoresEveryCase) {
  for (const ScoringCase& c : scoring_cases()) {
    SCOPED_TRACE(c.name);
    const Verdict verdict = judge(c.categories, c.truth, "truth");
    EXPECT_EQ(verdict.status, c.missing + c.extra == 0 ? Status::passed : Status::failed);
    EXPECT_EQ(verdict.missing, c.missing);
    EXPECT_EQ(verdict.extra, c.extra);
    EXPECT_EQ(verdict.categories, c.categories.size());
    const Verdict by_digest = judge(c.categories, c.truth.size(), digest(c.truth), "digest");
    EXPECT_EQ(by_digest.status, verdict.status);
    const bool right = c.missing + c.extra == 0;  // a digest does not say which are
    EXPECT_EQ(by_digest.missing, right ? std::optional<std::size_t>(0) : std::nullopt);
    EXPECT_EQ(by_digest.extra, right ? std::optional<std::size_t>(0) : std::nullopt);
  }
}

/// Scorers of published programs: for each of them, some case above must show a difference from ours.
TEST(Verdict, CasesCatchWeakScorers) {
  using Scorer = std::function<bool(const Categories&, const Categories&)>;
  const std::vector<std::pair<const char*, Scorer>> weak{
      {"always right", [](auto&, auto&) { return true; }},
      {"always wrong", [](auto&, auto&) { return false; }},
      {"count only", [](auto& a, auto& b) { return a.size() == b.size(); }},
      {"prefix only",
       [](auto& a, auto& b) { return std::equal(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()); }},
      {"missing only", [](auto& a, auto& b) { return std::includes(a.begin(), a.end(), b.begin(), b.end()); }},
      {"extra only", [](auto& a, auto& b) { return std::includes(b.begin(), b.end(), a.begin(), a.end()); }},
  };
  for (const auto& [name, scorer] : weak) {
    const bool caught =
        std::any_of(scoring_cases().begin(), scoring_cases().end(), [&scorer = scorer](const ScoringCase& c) {
          return scorer(c.categories, c.truth) != (c.missing + c.extra == 0);
        });
    EXPECT_TRUE(caught) << name;
  }
}

TEST(Verdict, SampleFailsButNeverPasses) {
  EXPECT_EQ(judge_sample({1, 4}, {1, 2, 3}, {1}, "sample").status, Status::unverified);
  EXPECT_EQ(judge_sample({1, 4}, {1, 2, 3}, {1, 2}, "sample").status, Status::failed);
  EXPECT_EQ(unverified({1}, "a reason").status, Status::unverified);
  EXPECT_EQ(unverified({1}, "a reason").against, "nothing: a reason");
  EXPECT_EQ(unverified({1, 4}, "a reason").categories, 2U);
  EXPECT_EQ(judge_sample({1, 4, 6}, {1, 2, 3}, {1}, "sample").categories, 3U);
}

TEST(Verdict, OneFailureAmongSeveralComparisonsDecides) {
  const Categories categories{1, 4};
  const Verdict right = judge(categories, {1, 4}, "list");
  const Verdict wrong = judge(categories, {1, 4, 6}, "reference");
  const Verdict by_digest = judge(categories, 1, digest(Categories{4}), "digest");
  const Verdict sample = judge_sample(categories, {1, 2}, {1}, "sample");
  for (const auto& checks : {std::vector{right, wrong}, std::vector{wrong, right}, std::vector{sample, wrong, right}}) {
    const Verdict verdict = combine(checks);
    EXPECT_EQ(verdict.status, Status::failed);
    EXPECT_EQ(verdict.missing, 1U);
    EXPECT_EQ(verdict.first_ids, std::vector<Index>{7});
    EXPECT_EQ(verdict.against.find("reference, though not against "), 0U) << verdict.against;
  }
  EXPECT_EQ(combine({right, by_digest}).status, Status::failed);
  EXPECT_EQ(combine({right, by_digest}).against, "digest, though not against list");
  EXPECT_EQ(combine({wrong, by_digest}).against, "reference and digest");
  EXPECT_EQ(combine({wrong, by_digest}).missing, 1U);
}

TEST(Verdict, PassesWhereOneComparisonDoesAndNoneFails) {
  const Categories categories{1, 4};
  const Verdict list = judge(categories, {1, 4}, "list");
  const Verdict sample = judge_sample(categories, {1, 2}, {1}, "sample");
  EXPECT_EQ(combine({list, sample}).status, Status::passed);
  EXPECT_EQ(combine({sample, list}).status, Status::passed) << "whichever comes first";
  EXPECT_EQ(combine({sample, list}).against, "sample and list");
  EXPECT_EQ(combine({sample, list}).missing, 0U);
  EXPECT_EQ(combine({sample}).status, Status::unverified);
  EXPECT_EQ(combine({list}).against, "list");
}

TEST(Verdict, ASecondRunMayFailButNeverPass) {
  const Categories categories{1, 4};
  const Verdict list = judge(categories, {1, 4}, "list");
  const Verdict unknown = unverified(categories, "no truth was given");
  const Verdict agrees = judge(categories, {1, 4}, "second run");
  const Verdict differs = judge(categories, {1, 4, 6}, "second run");
  EXPECT_EQ(downgrade_if_contradicted(list, agrees).against, "list");
  EXPECT_EQ(downgrade_if_contradicted(unknown, agrees).status, Status::unverified);
  EXPECT_EQ(downgrade_if_contradicted(unknown, differs).status, Status::failed);
  EXPECT_EQ(downgrade_if_contradicted(unknown, differs).against, "second run");
  EXPECT_EQ(downgrade_if_contradicted(list, differs).status, Status::failed);
  EXPECT_EQ(downgrade_if_contradicted(list, differs).against, "second run, though not against list");
  EXPECT_EQ(downgrade_if_contradicted(list, differs).first_ids, std::vector<Index>{7});
  const Verdict wrong = judge(categories, {1}, "list");
  EXPECT_EQ(downgrade_if_contradicted(wrong, agrees).against, "list");
  EXPECT_EQ(downgrade_if_contradicted(wrong, differs).against, "list and second run");
  EXPECT_EQ(downgrade_if_contradicted(wrong, differs).extra, 1U);
}

TEST(Verdict, ListsWhatWasCheckedWhateverCameOfIt) {
  using Names = std::vector<std::string>;
  const Categories categories{1, 4};
  const Verdict second = judge(categories, {1, 4}, "second run");
  for (const Categories& truth : {Categories{1, 4}, Categories{1}}) {
    const Verdict list = judge(categories, truth, "list");
    const Verdict by_digest = judge(categories, truth.size(), digest(truth), "digest");
    const Verdict sample = judge_sample(categories, {1, 2}, {1}, "sample");
    EXPECT_EQ(combine({list, by_digest, sample}).checks, (Names{"list", "digest", "sample"}));
    EXPECT_EQ(downgrade_if_contradicted(list, second).checks, (Names{"list", "second run"}));
    EXPECT_EQ(downgrade_if_contradicted(second, list).checks, (Names{"second run", "list"}));
    EXPECT_EQ(downgrade_if_contradicted(unverified(categories, "why"), list).checks, Names{"list"});
    EXPECT_EQ(downgrade_overflowed(list).checks, Names{"list"});
  }
  EXPECT_EQ(unverified(categories, "why").checks, Names{});
  Report report;
  report.verdict = combine({second, judge(categories, {}, "list")});
  EXPECT_NE(to_json(report).find(R"("checks":["second run","list"])"), std::string::npos);
}

TEST(Verdict, FirstWrongIdsAreOneBasedAndAscend) {
  EXPECT_EQ(judge({1, 9}, {4, 9}, "truth").first_ids, (std::vector<Index>{2, 5}));
  Categories many(1000);
  std::iota(many.begin(), many.end(), Index{0});
  EXPECT_EQ(judge(many, {}, "truth").first_ids, (std::vector<Index>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(Report, SpreadTakesTheMedian) {
  EXPECT_EQ(spread({3, 1, 2}).median, 2);
  EXPECT_EQ(spread({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(spread({3, 1, 2}).min, 1);
  EXPECT_EQ(spread({3, 1, 2}).max, 3);
}

TEST(Report, RateCountsGivenEdgesOfAllImages) {
  Report report;
  report.images = 60000;
  report.edges = 4026531840;  // 65536 x 32 x 1920: times 60000 it needs 64 bits
  report.seconds.infer = {1, 2, 3};
  report.seconds.total = 4;
  EXPECT_DOUBLE_EQ(report.rate(), 60000.0 * 4026531840.0 / 2);
  EXPECT_DOUBLE_EQ(report.rate_end_to_end(), 60000.0 * 4026531840.0 / 4);
}

TEST(Report, RateLeavesOutEmptyImages) {
  Report report;
  report.images = 100000000;
  report.edges = 1000;
  report.seconds.infer = {1, 2, 3};
  report.seconds.total = 4;
  report.compared.emplace().infer.median = 4;
  EXPECT_EQ(to_text(report).find("empty"), std::string::npos);
  report.empty_images = 99999900;
  EXPECT_DOUBLE_EQ(report.rate(), 100.0 * 1000 / 2);
  EXPECT_DOUBLE_EQ(report.rate_end_to_end(), 100.0 * 1000 / 4);
  EXPECT_NE(to_text(report).find("100000000 images (99999900 of them empty)"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"empty_images\":99999900"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"rate\":25000.0,\"same_categories\""), std::string::npos);
  report.empty_images = 1;
  EXPECT_NE(to_text(report).find("100000000 images (1 of them empty)"), std::string::npos);
}

TEST(Report, JsonIsKeptWhereAPathIsNotUtf8) {
  Report report;
  report.verdict = judge({}, {}, "t\xff.tsv");
  report.notes = {"\xc3"};
  EXPECT_NE(to_json(report).find("\"against\":\"t\uFFFD.tsv\""), std::string::npos);
  EXPECT_NE(to_json(report).find("\"notes\":[\"\uFFFD\"]"), std::string::npos);
}

TEST(Report, SaysHowFp16DiffersFromFp32) {
  Report report;
  EXPECT_EQ(to_text(report).find("fp16 against"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"against_fp32\":null"), std::string::npos);
  report.precision = Precision::fp16;
  report.against_fp32 = judge({1, 4, 8, 9}, {1, 4, 7}, "fp32");
  EXPECT_NE(to_text(report).find("fp16 against fp32: 3 categories differ: 1 missing, 2 extra"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"against_fp32\":{\"differ\":3,\"missing\":1,\"extra\":2,\"first_ids\":[8,9,10]}"),
            std::string::npos);
  report.against_fp32 = judge({1, 4}, {1, 4, 7}, "fp32");
  EXPECT_NE(to_text(report).find("fp16 against fp32: 1 category differs: 1 missing, 0 extra"), std::string::npos);
}

TEST(Verdict, WhatPassedInSpiteOfOverflowIsUnverified) {
  const Verdict passed = downgrade_overflowed(judge({1, 2}, {1, 2}, "list"));
  EXPECT_EQ(passed.status, Verdict::Status::unverified);
  EXPECT_EQ(passed.against, "list, but sums overflowed");
  EXPECT_EQ(passed.missing, 0U);
  EXPECT_EQ(downgrade_overflowed(judge({1, 2}, {1}, "list")).status, Verdict::Status::failed);
  EXPECT_EQ(downgrade_overflowed(unverified({1, 2}, "why")).against, unverified({1, 2}, "why").against);
}

}  // namespace
}  // namespace spdnn
