#include "report/configurations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/taken_together.hpp"

namespace spdnn {

namespace {

/// Lines do not identify their images. Different categories mean different images, unless the categories are wrong.
bool same_images(const RunLine& a, const RunLine& b) {
  const bool wrong = a.failed() || b.failed();
  return a.images == b.images && a.empty_images == b.empty_images && (wrong || a.categories == b.categories) &&
         may_share_images(a, b);
}

constexpr char kApart = '\x1f';  ///< a character that no text of a line contains

/// Equal if two runs did the same work, apart from their images, which lines do not fully identify, and the source of
/// the true categories.
std::string setting_key(const RunLine& run) {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}{0}{9}{0}{10}{0}{11}{0}{12}", kApart,
                     network_key(run), run.images, run.empty_images, run.variant, run.passes, run.precision, run.trials,
                     run.ranks, run.parts, run.batch, run.streamed, run.scaling);
}

/// Whether a FAILED run proves the other run's categories wrong too: they shared one of the truths.
bool speaks_of(const RunLine& failed, const RunLine& other) {
  return failed.failed() && std::any_of(failed.checks.begin(), failed.checks.end(), [&](const std::string& check) {
           return std::binary_search(other.checks.begin(), other.checks.end(), check);
         });
}

double phase_of(const std::vector<std::pair<std::string, double>>& phases, const std::string& name) {
  const auto found = std::find_if(phases.begin(), phases.end(), [&](const auto& phase) { return phase.first == name; });
  return found == phases.end() ? 0 : found->second;
}

std::string why_set_aside(const Configuration& configuration) {
  std::string why;
  const auto add = [&](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  if (configuration.first.failed()) add("wrong categories");
  if (configuration.first.status == "UNVERIFIED") add("not verified");
  if (const int parts = configuration.first.parts; parts > 1)
    add(fmt::format("stopped and continued: its times are sums over {} parts", parts));
  if (configuration.first.origin.dirty) add("the build had changes that are not committed");
  if (configuration.first.origin.commit == "unknown") add("the build's commit is unknown");
  return why;
}

Configuration combined(const std::vector<const RunLine*>& runs, std::size_t origin, std::size_t last) {
  Configuration all{.first = *runs.front(), .runs = runs.size(), .last = last, .origin = origin};
  all.first.status = worst_status(runs, &RunLine::status);
  const auto worst = std::find_if(runs.begin(), runs.end(), [&](auto* run) { return run->status == all.first.status; });
  all.first.against = (*worst)->against;
  all.infer = infer_of(runs, &RunLine::infer);
  all.total = median_of(runs, &RunLine::total);
  all.rate_end_to_end = median_of(runs, &RunLine::rate_end_to_end);
  for (const auto& phase : runs.front()->phases)
    all.phases.emplace_back(phase.first,
                            median_of(runs, [&](const RunLine* run) { return phase_of(run->phases, phase.first); }));
  all.computed_edges = median_if_all(runs, &RunLine::computed_edges);
  all.rate_with_setup = median_if_all(runs, &RunLine::rate_with_setup);
  all.set_aside = why_set_aside(all);
  return all;
}

/// Numbers origins in order of first appearance.
class Origins {
 public:
  explicit Origins(Results& results) : results_(results) {}

  std::size_t number_of(const LineOrigin& origin) {
    const auto [place, is_new] = numbers_.try_emplace(origin, results_.origins.size());
    if (is_new) {
      results_.origins.push_back(origin);
      results_.lines_of.push_back(0);
    }
    ++results_.lines_of[place->second];
    return place->second;
  }

 private:
  Results& results_;
  std::map<LineOrigin, std::size_t> numbers_;
};

/// Lines of one configuration by one build on one machine, in order.
struct RunGroup {
  std::size_t origin = 0;
  std::vector<const RunLine*> runs{};
  std::size_t last = 0;
  const RunLine* right = nullptr;   ///< the first whose categories are not wrong
  const RunLine* images = nullptr;  ///< the first that states whether its images are official

  /// Whether a run with the same setting and checks belongs to this group. Runs that are not wrong have equal
  /// categories, so one of them represents all.
  bool takes(const RunLine& run) const {
    const auto fits = [&](const RunLine* one) { return one == nullptr || same_images(*one, run); };
    return fits(right) && fits(images);
  }
  void add(const RunLine& run, std::size_t place) {
    runs.push_back(&run);
    last = place;
    if (right == nullptr && !run.failed()) right = &run;
    if (images == nullptr && run.official_images) images = &run;
  }
};

std::vector<RunGroup> groups_of(const std::vector<RunLine>& runs, Origins& origins) {
  std::vector<RunGroup> groups;
  Candidates<std::size_t> all;
  Candidates<std::size_t> right;  // with right runs, by their categories: others cannot have the same images
  Candidates<std::size_t> begun_wrong;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunLine& run = runs[i];
    const std::size_t origin = origins.number_of(run.origin);
    const std::string checks = fmt::format("{}", fmt::join(run.checks, std::string_view(&kApart, 1)));
    const std::string key = fmt::format("{1}{0}{2}{0}{3}", kApart, setting_key(run), origin, checks);
    const std::string right_key = fmt::format("{1}{0}{2}", kApart, key, run.categories);
    std::size_t place = groups.size();
    const auto look_in = [&](const Candidates<std::size_t>& candidates, const std::string& its_key) {
      const auto takes = [&](std::size_t group) { return groups[group].takes(run); };
      if (const std::size_t* const found = candidates.find(its_key, takes)) place = std::min(place, *found);
    };
    if (run.failed()) {
      look_in(all, key);
    } else {
      look_in(right, right_key);
      look_in(begun_wrong, key);
    }
    if (place == groups.size()) {
      groups.push_back({origin});
      all.add(key, place);
      if (run.failed()) begun_wrong.add(key, place);
    }
    if (!run.failed() && groups[place].right == nullptr) right.add(right_key, place);
    groups[place].add(run, i);
  }
  return groups;
}

/// A configuration is also wrong if runs of it that were checked more strictly turned out wrong.
void spread_failures(std::vector<Configuration>& all) {
  const auto key = [](const Configuration& one) {
    return fmt::format("{}{}{}", setting_key(one.first), kApart, one.origin);
  };
  Candidates<const Configuration*> failed;
  for (const Configuration& one : all)
    if (one.first.failed()) failed.add(key(one), &one);
  for (Configuration& one : all) {
    if (one.first.failed()) continue;
    const auto speaks = [&](const Configuration* other) {
      return speaks_of(other->first, one.first) && same_images(other->first, one.first);
    };
    const Configuration* const* const other = failed.find(key(one), speaks);
    if (other == nullptr) continue;
    one.first.status = "FAILED";
    one.first.against = (*other)->first.against;
    one.set_aside = why_set_aside(one);
  }
}

/// An unverified run never replaces a verified one; a FAILED run does.
bool may_replace(const Configuration& other, const Configuration& one) {
  const bool wrong = other.first.failed() && other.first.origin.is_known();
  return other.set_aside.empty() == one.set_aside.empty() || wrong;
}

/// Drops configurations that another build measured later on the same machine.
std::vector<Configuration> latest(const std::vector<Configuration>& all, std::size_t& superseded) {
  const auto right_key = [](const RunLine& run) {
    return fmt::format("{}{}{}", setting_key(run), kApart, run.categories);
  };
  // The latest first, as they replace the others; those with right categories by these, as in groups_of().
  Candidates<const Configuration*> any, right, failed;
  std::for_each(all.rbegin(), all.rend(), [&](const Configuration& one) {
    any.add(setting_key(one.first), &one);
    if (one.first.failed())
      failed.add(setting_key(one.first), &one);
    else
      right.add(right_key(one.first), &one);
  });
  std::vector<Configuration> kept;
  for (const Configuration& one : all) {
    const auto replaces = [&](const Configuration* other) {
      return other->origin != one.origin && other->last > one.last && same_images(other->first, one.first) &&
             (other->first.checks == one.first.checks || speaks_of(other->first, one.first)) &&
             may_replace(*other, one) && !other->first.origin.same_build(one.first.origin) &&
             other->first.origin.same_machine(one.first.origin);
    };
    const bool replaced = one.first.failed() ? any.find(setting_key(one.first), replaces) != nullptr
                                             : right.find(right_key(one.first), replaces) != nullptr ||
                                                   failed.find(setting_key(one.first), replaces) != nullptr;
    if (replaced)
      superseded += one.runs;
    else
      kept.push_back(one);
  }
  return kept;
}

void sort(std::vector<Configuration>& configurations) {
  std::ranges::stable_sort(configurations, {}, [](const Configuration& c) {
    return std::tie(c.first.width, c.first.neurons, c.first.layers, c.first.edges, c.first.bias, c.first.images,
                    c.infer.median);
  });
}

/// Keeps the latest measurement of each layer, by the latest build.
void add_layers(const std::vector<LayerLine>& lines, bool all, Origins& origins, Results& results) {
  Candidates<std::size_t> candidates;
  for (const LayerLine& line : lines) {
    const std::size_t origin = origins.number_of(line.origin);
    const std::string key = fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}", kApart, line.neurons, line.degree,
                                        line.weights, line.layers, line.images, line.variant, line.precision);
    const std::size_t* const found = candidates.find(key, [&](std::size_t place) {
      const auto& kept = results.layers[place];
      return kept.first.origin.same_machine(line.origin) && (!all || kept.second == origin);
    });
    if (found == nullptr) {
      candidates.add(key, results.layers.size());
      results.layers.emplace_back(line, origin);
    } else {
      results.layers[*found] = {line, origin};
      ++results.superseded;
    }
  }
  std::stable_sort(results.layers.begin(), results.layers.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.first.neurons, a.first.degree, a.first.weights, b.first.images, a.first.seconds.median) <
           std::tuple(b.first.neurons, b.first.degree, b.first.weights, a.first.images, b.first.seconds.median);
  });
}

}  // namespace

std::optional<double> Configuration::rate_computed() const {
  if (!computed_edges) return std::nullopt;
  return *computed_edges / infer.median;
}

double Configuration::phase(const std::string& name) const { return phase_of(phases, name); }

bool may_share_images(const RunLine& a, const RunLine& b) {
  return !a.official_images || !b.official_images || a.official_images == b.official_images;
}

bool same_problem(const RunLine& a, const RunLine& b) {
  const auto key = [](const RunLine& run) { return std::tie(run.neurons, run.layers, run.bias, run.cap, run.edges); };
  return key(a) == key(b) && same_images(a, b);
}

std::string network_key(const RunLine& run) {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}", kApart, run.neurons, run.layers, run.bias, run.cap, run.edges);
}

std::string problem_key(const RunLine& run) {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}", kApart, network_key(run), run.images, run.empty_images, run.categories);
}

Results evaluate(const ResultLines& lines, bool all) {
  Results results;
  results.run_lines = lines.runs.size();
  results.layer_lines = lines.layers.size();
  Origins origins(results);
  std::vector<Configuration> configurations;
  for (const RunGroup& group : groups_of(lines.runs, origins))
    configurations.push_back(combined(group.runs, group.origin, group.last));
  spread_failures(configurations);
  if (!all) configurations = latest(configurations, results.superseded);
  sort(configurations);
  for (Configuration& one : configurations)
    (one.set_aside.empty() ? results.headline : results.set_aside).push_back(std::move(one));
  add_layers(lines.layers, all, origins, results);
  for (const ModelLine& line : lines.models) results.models.emplace_back(line, origins.number_of(line.origin));
  for (const ModelBenchLine& line : lines.model_benches)
    results.model_benches.emplace_back(line, origins.number_of(line.origin));
  for (const ConvLine& line : lines.convolutions)
    results.convolutions.emplace_back(line, origins.number_of(line.origin));
  return results;
}

std::vector<const Configuration*> fastest(const Results& results) {
  std::vector<const Configuration*> best;
  Candidates<const Configuration*> candidates;
  for (const Configuration& one : results.headline) {
    const std::string key = problem_key(one.first);
    const auto beats = [&](const Configuration* other) {
      return same_problem(other->first, one.first) && other->first.ranks == one.first.ranks &&
             other->first.origin.same_machine(one.first.origin);
    };
    if (candidates.find(key, beats) != nullptr) continue;
    candidates.add(key, &one);
    best.push_back(&one);
  }
  return best;
}

}  // namespace spdnn
