#include "inference/network/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "data/official/constants.hpp"
#include "data/official/problems.hpp"
#include "engines/reference/engine.hpp"
#include "inference/network/streaming.hpp"
#include "inference/run/run.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Every k-th of a list, `count` in all.
void pick_evenly(const std::vector<Index>& from, std::size_t count, std::vector<Index>& picked) {
  count = std::min(count, from.size());
  for (std::size_t i = 0; i < count; ++i) picked.push_back(from[i * from.size() / count]);
}

std::vector<Index> ids_up_to(Index images) {
  std::vector<Index> all(images);
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

/// Half of the sample from the categories and half from the rest, as most images of a deep network are no categories.
std::vector<Index> choose_sample(const Categories& categories, Index images, Index sample) {
  const std::vector<Index> all = ids_up_to(images);
  std::vector<Index> rest;
  std::set_difference(all.begin(), all.end(), categories.begin(), categories.end(), std::back_inserter(rest));
  const std::size_t from_categories = std::max<std::size_t>(std::min<std::size_t>(sample / 2, categories.size()),
                                                            sample > rest.size() ? sample - rest.size() : 0);
  std::vector<Index> picked;
  pick_evenly(categories, from_categories, picked);
  pick_evenly(rest, sample - picked.size(), picked);
  std::sort(picked.begin(), picked.end());
  return picked;
}

/// The categories among the images, found by cpu_reference on the network as given, leaving out only images that
/// are all zero.
Categories recompute(const CheckedRun& problem, std::span<const Index> ids) {
  const Variant& reference = oracle();
  const Plan plan = problem.plan_given(parse_passes("dead"));
  Categories found;
  while (!ids.empty()) {
    const auto some = ids.first(std::min<std::size_t>(ids.size(), problem.at_once));
    const ImageSet images = problem.images_of(some);
    RunOptions options;
    options.engine.precision = reference.precisions.front();
    options.engine.host_memory = host_memory_for_engine(problem.host_memory, plan, images.bytes());
    options.engine.cancelled = problem.cancelled;
    for (const Index hit : run(reference, plan, images, options).outcome.categories) found.push_back(some[hit]);
    ids = ids.subspan(some.size());
  }
  return found;
}

Verdict recompute_images(const CheckedRun& problem, const Categories& categories, const Truth& truth) {
  if (truth.everything || truth.sample >= problem.images)
    return judge(categories, recompute(problem, ids_up_to(problem.images)), "cpu_reference on all images");
  const std::vector<Index> checked = choose_sample(categories, problem.images, truth.sample);
  return judge_sample(categories, checked, recompute(problem, checked),
                      fmt::format("cpu_reference on {} of {} images, a sample", checked.size(), problem.images));
}

/// Why nothing is proved by a problem in which there is nothing to compute; otherwise empty.
std::string why_empty(const CheckedRun& problem) {
  if (problem.images == 0) return "there are no images";
  if (problem.plan.depth() == 0) return "the network has no layers";
  if (problem.plan.provenance.given_edges == 0) return "the network has no edges";
  return {};
}

}  // namespace

Truth read_truth(const TruthSpec& spec, FileNotes* notes) {
  Truth truth{.source = spec.list ? "the given list" : spec.path, .sample = spec.sample, .everything = spec.everything};
  if (!spec.path.empty() && spec.list) throw UsageError("truth", "give either a file or a list");
  if (!spec.path.empty()) truth.list = read_categories(spec.path, notes);
  if (spec.list) truth.list = spec.list;
  return truth;
}

Verdict verify(const Truth& truth, const CheckedRun& problem, const Categories& categories) {
  std::vector<Verdict> checks;
  if (truth.list) checks.push_back(judge(categories, *truth.list, truth.source));
  if (truth.wanted()) checks.push_back(recompute_images(problem, categories, truth));
  if (problem.why_unofficial.empty()) {
    const OfficialProblem official = *official_problem(problem.neurons);
    checks.push_back(judge(categories, official.categories, official.category_digest, kOfficialTruth));
  }
  const std::string empty = why_empty(problem);
  if (checks.empty())
    return unverified(categories, empty.empty() ? "no truth was given, and " + problem.why_unofficial : empty);
  const Verdict verdict = combine(checks);
  return verdict.status == Verdict::Status::failed || empty.empty() ? verdict : unverified(categories, empty);
}

}  // namespace spdnn
