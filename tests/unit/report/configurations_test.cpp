// Random lines, combined into configurations and compared with the rules of report/configurations.hpp taken literally:
// by comparing all pairs, where the report looks things up by keys.

#include "report/configurations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "support/sampled.hpp"

namespace spdnn {
namespace {

class LineMaker {
 public:
  explicit LineMaker(unsigned seed) : random_(seed) {}

  RunLine line() {
    RunLine r;
    r.neurons = rarely() ? "2048" : "1024";
    r.width = rarely() ? 7 : 1024;
    r.layers = rarely() ? 240 : 120;
    r.bias = rarely() ? "-0.4" : "-0.3";
    r.cap = rarely() ? "none" : "32";
    r.edges = rarely() ? 5000 : 4000;
    r.images = rarely() ? 900 : 1000;
    r.empty_images = rarely() ? 10 : 0;
    r.variant = rarely() ? "other" : "one";
    r.passes = rarely() ? "none" : "dead";
    r.precision = rarely() ? "fp16" : "fp32";
    r.trials = rarely() ? 9 : 5;
    r.ranks = rarely() ? 2 : 1;
    r.parts = rarely() ? 2 : 1;
    r.batch = rarely() ? 64 : 128;
    r.streamed = rarely();
    r.scaling = rarely() ? "strong" : "";
    r.categories = one_in(4) ? 41 : 40;
    r.status = one_in(3) ? "FAILED" : one_in(5) ? "UNVERIFIED" : "PASSED";
    r.against = fmt::format("truth {}", ++lines_);
    r.alive = {lines_};
    r.checks = one_in(3)   ? std::vector<std::string>{"list", "reference"}
               : one_in(3) ? std::vector<std::string>{"reference"}
                           : std::vector<std::string>{"list"};
    if (one_in(2)) r.official_images = !one_in(4);
    const double least = number();
    r.infer = {least, least + number(), least + 9 + number(), 0};
    r.total = number();
    r.rate_end_to_end = number();
    if (!rarely()) r.computed_edges = number();
    if (!rarely()) r.rate_with_setup = number();
    r.phases = {{"read", number()}, {"plan", number()}};
    if (rarely()) std::reverse(r.phases.begin(), r.phases.end());
    r.origin.host = one_in(6) ? "h2" : "h1";
    r.origin.commit = one_in(5) ? "unknown" : one_in(2) ? "abc" : "def";
    r.origin.dirty = rarely();
    return r;
  }

 private:
  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(random_) == 1; }
  bool rarely() { return one_in(40); }
  double number() { return std::uniform_int_distribution<int>(1, 9)(random_); }

  std::mt19937 random_;
  std::uint64_t lines_ = 0;
};

bool may_be_one_set_of_images(const RunLine& a, const RunLine& b) {
  if (a.images != b.images || a.empty_images != b.empty_images) return false;
  if (a.official_images && b.official_images && *a.official_images != *b.official_images) return false;
  return a.status == "FAILED" || b.status == "FAILED" || a.categories == b.categories;
}

bool share_a_check(const RunLine& a, const RunLine& b) {
  for (const std::string& check : a.checks)
    for (const std::string& other : b.checks)
      if (check == other) return true;
  return false;
}

bool of_one_network(const RunLine& a, const RunLine& b) {
  return a.neurons == b.neurons && a.layers == b.layers && a.bias == b.bias && a.cap == b.cap && a.edges == b.edges;
}

bool set_alike(const RunLine& a, const RunLine& b) {
  return of_one_network(a, b) && a.images == b.images && a.empty_images == b.empty_images && a.variant == b.variant &&
         a.passes == b.passes && a.precision == b.precision && a.trials == b.trials && a.ranks == b.ranks &&
         a.parts == b.parts && a.batch == b.batch && a.streamed == b.streamed && a.scaling == b.scaling;
}

/// Lines taken together, by their places.
struct Together {
  std::vector<std::size_t> places;
  RunLine line;  ///< the first, with the status of all
};

std::string reasons_of(const RunLine& line) {
  std::vector<std::string> all;
  if (line.status == "FAILED") all.emplace_back("wrong categories");
  if (line.status == "UNVERIFIED") all.emplace_back("not verified");
  if (line.parts > 1) all.push_back(fmt::format("stopped and continued: its times are sums over {} parts", line.parts));
  if (line.origin.dirty) all.emplace_back("the build had changes that are not committed");
  if (line.origin.commit == "unknown") all.emplace_back("the build's commit is unknown");
  return fmt::format("{}", fmt::join(all, "; "));
}

double middle_of_all(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

class Expected {
 public:
  Expected(const std::vector<RunLine>& lines, bool all) : lines_(lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) take_in(i);
    for (Together& one : groups_) take_status(one);
    spread();
    const std::vector<Together> before = groups_;
    if (!all)
      std::erase_if(groups_, [&](const Together& one) {
        const bool replaced =
            std::any_of(before.begin(), before.end(), [&](const Together& other) { return replaces(other, one); });
        superseded += replaced ? one.places.size() : 0;
        return replaced;
      });
    std::stable_sort(groups_.begin(), groups_.end(),
                     [&](const Together& a, const Together& b) { return key(a) < key(b); });
  }

  std::string rows(bool headline) const {
    std::string all;
    for (const Together& one : groups_)
      if (reasons_of(one.line).empty() == headline) all += text_of(one);
    return all;
  }

  std::size_t superseded = 0;

 private:
  std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t, std::string, std::uint64_t, double> key(
      const Together& one) const {
    const RunLine& r = one.line;
    return {r.width, r.neurons, r.layers, r.edges, r.bias, r.images, middle_of_all(each(one, [](const RunLine& line) {
              return line.infer.median;
            }))};
  }

  std::vector<double> each(const Together& one, auto value) const {
    std::vector<double> values;
    for (const std::size_t place : one.places) values.push_back(value(lines_[place]));
    return values;
  }

  bool fits(const Together& group, const RunLine& line) const {
    const RunLine& first = lines_[group.places.front()];
    if (!set_alike(first, line) || first.origin != line.origin || first.checks != line.checks) return false;
    bool right = false;
    bool stated = false;
    for (const std::size_t place : group.places) {
      const RunLine& one = lines_[place];
      if (!right && one.status != "FAILED") {
        right = true;
        if (!may_be_one_set_of_images(one, line)) return false;
      }
      if (!stated && one.official_images) {
        stated = true;
        if (!may_be_one_set_of_images(one, line)) return false;
      }
    }
    return true;
  }

  void take_in(std::size_t i) {
    for (Together& group : groups_)
      if (fits(group, lines_[i])) {
        group.places.push_back(i);
        return;
      }
    groups_.push_back({{i}, lines_[i]});
  }

  void take_status(Together& one) {
    for (const char* const status : {"PASSED", "UNVERIFIED", "FAILED"})
      for (auto place = one.places.rbegin(); place != one.places.rend(); ++place)
        if (lines_[*place].status == status) {
          one.line.status = status;
          one.line.against = lines_[*place].against;
        }
  }

  void spread() {
    const std::vector<Together> before = groups_;
    for (Together& one : groups_)
      for (const Together& other : before)
        if (one.line.status != "FAILED" && other.line.status == "FAILED" && set_alike(one.line, other.line) &&
            one.line.origin == other.line.origin && share_a_check(one.line, other.line) &&
            may_be_one_set_of_images(one.line, other.line)) {
          one.line.status = "FAILED";
          one.line.against = other.line.against;
        }
  }

  static bool replaces(const Together& other, const Together& one) {
    const RunLine& a = other.line;
    const RunLine& b = one.line;
    const bool wrong = a.status == "FAILED";
    const bool of_known_code = !a.origin.dirty && a.origin.commit != "unknown";
    return other.places.back() > one.places.back() && set_alike(a, b) && may_be_one_set_of_images(a, b) &&
           a.origin.host == b.origin.host && (a.origin.commit != b.origin.commit || a.origin.dirty != b.origin.dirty) &&
           (a.checks == b.checks || (wrong && share_a_check(a, b))) &&
           (reasons_of(a).empty() == reasons_of(b).empty() || (wrong && of_known_code));
  }

  std::string text_of(const Together& one) const {
    const auto median = [&](auto value) { return middle_of_all(each(one, value)); };
    const std::vector<double> least = each(one, [](const RunLine& r) { return r.infer.min; });
    const std::vector<double> greatest = each(one, [](const RunLine& r) { return r.infer.max; });
    std::string text = fmt::format(
        "{} of {}: {} against {}; {} {} {} {} {}; {}:", lines_[one.places.front()].against, one.places.size(),
        one.line.status, one.line.against, *std::min_element(least.begin(), least.end()),
        median([](const RunLine& r) { return r.infer.median; }), *std::max_element(greatest.begin(), greatest.end()),
        median([](const RunLine& r) { return r.total; }), median([](const RunLine& r) { return r.rate_end_to_end; }),
        reasons_of(one.line));
    for (const auto& [name, seconds] : one.line.phases) {
      const std::string& its_name = name;
      text +=
          fmt::format(" {} {}", name,
                      median([&](const RunLine& r) { return r.phases[r.phases[0].first == its_name ? 0 : 1].second; }));
    }
    const auto all_have = [&](auto has) {
      return std::all_of(one.places.begin(), one.places.end(), [&](std::size_t place) { return has(lines_[place]); });
    };
    text += all_have([](const RunLine& r) { return r.computed_edges.has_value(); })
                ? fmt::format(" {}", median([](const RunLine& r) { return r.computed_edges.value_or(0); }))
                : " -";
    return text + (all_have([](const RunLine& r) { return r.rate_with_setup.has_value(); })
                       ? fmt::format(" {}\n", median([](const RunLine& r) { return r.rate_with_setup.value_or(0); }))
                       : " -\n");
  }

  const std::vector<RunLine>& lines_;
  std::vector<Together> groups_;
};

std::string found_text(const std::vector<Configuration>& all, const std::vector<RunLine>& lines) {
  std::string text;
  for (const Configuration& one : all) {
    text += fmt::format("{} of {}: {} against {}; {} {} {} {} {}; {}:", lines.at(one.first.alive.at(0) - 1).against,
                        one.runs, one.first.status, one.first.against, one.infer.min, one.infer.median, one.infer.max,
                        one.total, one.rate_end_to_end, one.set_aside);
    for (const auto& [name, seconds] : one.phases) text += fmt::format(" {} {}", name, seconds);
    text += one.computed_edges ? fmt::format(" {}", *one.computed_edges) : " -";
    text += one.rate_with_setup ? fmt::format(" {}\n", *one.rate_with_setup) : " -\n";
  }
  return text;
}

/// Of the headline: each that no earlier one on equally many ranks of the machine beats at its problem.
std::vector<const Configuration*> fastest_by_pairs(const Results& results) {
  std::vector<const Configuration*> best;
  for (const Configuration& one : results.headline)
    if (std::none_of(best.begin(), best.end(), [&](const Configuration* other) {
          const RunLine& a = other->first;
          return of_one_network(a, one.first) && may_be_one_set_of_images(a, one.first) && a.ranks == one.first.ranks &&
                 a.origin.host == one.first.origin.host;
        }))
      best.push_back(&one);
  return best;
}

TEST(Configurations, AreThoseThatTheRulesGivePairByPair) {
  for (unsigned seed = 0; seed < testing::sampled(60U, 600U); ++seed) {
    LineMaker maker(seed);
    ResultLines lines;
    for (int i = 0; i < 14; ++i) lines.runs.push_back(maker.line());
    for (const bool all : {false, true}) {
      const Results results = evaluate(lines, all);
      const Expected expected(lines.runs, all);
      ASSERT_EQ(found_text(results.headline, lines.runs), expected.rows(true)) << "seed " << seed;
      ASSERT_EQ(found_text(results.set_aside, lines.runs), expected.rows(false)) << "seed " << seed;
      ASSERT_EQ(results.superseded, expected.superseded) << "seed " << seed;
      ASSERT_EQ(fastest(results), fastest_by_pairs(results)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace spdnn
