#include "inference/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "data/official/problems.hpp"
#include "engines/reference/engine.hpp"
#include "inference/run.hpp"
#include "inference/streaming.hpp"
#include "report/official_truth.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

/// Every k-th of a list, `count` in all.
void pick_evenly(const std::vector<Index>& from, std::size_t count, std::vector<Index>& picked) {
  count = std::min(count, from.size());
  for (std::size_t i = 0; i < count; ++i) picked.push_back(from[i * from.size() / count]);
}

/// Half of the sample from the categories and half from the rest, as most images of a deep network are no categories.
std::vector<Index> choose_sample(const Categories& categories, Index images, Index sample) {
  std::vector<Index> all(images);
  std::iota(all.begin(), all.end(), Index{0});
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

/// cpu_reference on the network as given, leaving out only images that are all zero.
Categories recompute(const CheckedRun& problem, const ImageSet& images) {
  const Variant& reference = oracle();
  const Plan plan = problem.plan_given(parse_passes("dead"));
  RunOptions options;
  options.engine.precision = reference.precisions.front();
  options.engine.host_memory = host_memory_for_engine(problem.host_memory, plan, images);
  options.engine.cancelled = problem.cancelled;
  return run(reference, plan, images, options).outcome.categories;
}

Verdict recompute_sample(const CheckedRun& problem, const Categories& categories, Index sample) {
  const Index images = problem.images.images();
  const std::vector<Index> checked = choose_sample(categories, images, sample);
  Categories truth;
  for (const Index hit : recompute(problem, problem.images.select(checked))) truth.push_back(checked[hit]);
  return judge_sample(categories, checked, truth,
                      fmt::format("cpu_reference on {} of {} images, a sample", checked.size(), images));
}

Verdict recompute_images(const CheckedRun& problem, const Categories& categories, const Truth& truth) {
  const bool all = truth.everything || truth.sample >= problem.images.images();
  if (!all) return recompute_sample(problem, categories, truth.sample);
  return judge(categories, recompute(problem, problem.images), "cpu_reference on all images");
}

/// Why nothing is proved by a problem in which there is nothing to compute; otherwise empty.
std::string why_empty(const CheckedRun& problem) {
  if (problem.images.images() == 0) return "there are no images";
  if (problem.plan.depth() == 0) return "the network has no layers";
  if (problem.plan.provenance.given_edges == 0) return "the network has no edges";
  return {};
}

}  // namespace

Truth read_truth(const TruthSpec& spec, FileNotes* notes) {
  Truth truth;
  truth.source = spec.list ? "the given list" : spec.path;
  truth.sample = spec.sample;
  truth.everything = spec.everything;
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
    const OfficialProblem official = *official_problem(problem.images.neurons());
    checks.push_back(judge(categories, official.categories, official.category_digest, kOfficialTruth));
  }
  const std::string empty = why_empty(problem);
  if (checks.empty())
    return unverified(categories, empty.empty() ? "no truth was given, and " + problem.why_unofficial : empty);
  const Verdict verdict = combine(checks);
  return verdict.status == Verdict::Status::failed || empty.empty() ? verdict : unverified(categories, empty);
}

}  // namespace spdnn
