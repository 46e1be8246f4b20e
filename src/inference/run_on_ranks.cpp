#include "inference/run_on_ranks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/partition.hpp"
#include "cluster/together.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "inference/activations.hpp"
#include "inference/outcomes.hpp"
#include "inference/rank_resources.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<RunOrder> auto& order) {
  archive(order.layer, order.variant, order.precision, order.in_order, order.may_overflow, order.why_in_order);
}

void fields(auto& archive, MaybeConst<Unfinished> auto& unfinished) {
  archive(unfinished.first, unfinished.layer, unfinished.begun);
}

namespace {

/// What a rank tells the root of its run of a network.
struct NetworkRankReport {
  RankReport common;
  double load_seconds = 0;
  Index batch = 0;
  Outcome outcome;
  std::optional<Unfinished> unfinished;
};

void fields(auto& archive, MaybeConst<NetworkRankReport> auto& report) {
  archive(report.common, report.load_seconds, report.batch, report.outcome, report.unfinished);
}

NetworkRankReport report_of(const RunResult& result, Index images) {
  return {rank_report_of(result, images), result.load_seconds, result.batch, result.outcome, result.unfinished};
}

/// Puts the other ranks' results after the root's.
void add(RunResult& all, const NetworkRankReport& one, Index first) {
  take_longest(all, one.common);
  all.load_seconds = std::max(all.load_seconds, one.load_seconds);
  all.batch = std::max(all.batch, one.batch);
  append_outcome(all.outcome, one.outcome, first);
}

/// What a rank has left of its images, the first of which is `first` among those of all ranks.
void add_left(const NetworkRankReport& report, Index first, Index layer, std::vector<Work>& left) {
  if (!report.unfinished) return;
  const Unfinished& unfinished = *report.unfinished;
  const auto ids = [&](Index begin, Index end) {
    std::vector<Index> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), first + begin);
    return numbers;
  };
  const Index begun_end = unfinished.first + unfinished.begun.images();
  if (begun_end > unfinished.first)
    left.push_back({layer + unfinished.layer, ids(unfinished.first, begun_end), unfinished.begun});
  const Index images = report.common.times.images;
  if (images > begun_end) left.push_back({layer, ids(begun_end, images), {}});
}

}  // namespace

RunOrder share_order(Communicator& ranks, const RunOrder& order) { return broadcast(ranks, order); }

RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageFacts& images) {
  const RunPlan chosen = plan_for(plan, images, precision);
  return {0, std::string(variant.name), precision, chosen.plan != &plan, chosen.may_overflow, chosen.why};
}

ImageSet scatter_images(Communicator& ranks, const ImageSet& images) {
  if (ranks.is_alone()) return images;
  std::vector<ImageSet> parts;
  for (int rank = 0; ranks.is_root() && rank < ranks.place().ranks; ++rank) {
    const ImageRange range = images_of_rank(images.images(), rank, ranks.place().ranks);
    parts.push_back(images.slice(range.first, range.count));
  }
  return scatter(ranks, parts);
}

RankedResult run_on_ranks(Communicator& ranks, const RunOrder& order, const Plan& plan, const ImageSet& mine,
                          const RunOptions& options) {
  const Variant& variant = find_variant(order.variant);
  const Plan& form = order.in_order ? *plan.fallback->in_order : plan;
  RunOptions own = options;
  own.engine.precision = order.precision;
  const RunPlan chosen{&form, order.may_overflow, order.why_in_order};
  if (ranks.is_alone()) {
    RankedResult alone{run(variant, chosen, mine, own), {}, {}};
    if (alone.result.unfinished) add_left(report_of(alone.result, mine.images()), 0, order.layer, alone.left);
    return alone;
  }

  own.engine.sharers = sharers_of_device(ranks, variant.device, own.engine, options.share_devices);
  own.engine.threads = threads_of(ranks, own.engine.threads);
  const ThreadLimit limit(own.engine.threads);
  ranks.barrier();
  RankedResult all;
  together(ranks, [&] { all.result = run(variant, chosen, mine, own); });
  const Stopwatch watch;
  const std::vector<NetworkRankReport> reports = gather(ranks, report_of(all.result, mine.images()));
  Index first = 0;
  std::vector<CsrMatrix> activations;
  for (const NetworkRankReport& report : reports) {
    if (report.outcome.activations) activations.push_back(*report.outcome.activations);
    if (!all.ranks.empty()) add(all.result, report, first);
    all.ranks.push_back(report.common.times);
    add_left(report, first, order.layer, all.left);
    first += report.common.times.images;
  }
  if (!activations.empty()) all.result.outcome.activations = join_rows(activations);
  all.result.gather_seconds += watch.seconds();
  return all;
}

void add_times(RankedResult& all, const RankedResult& piece) {
  RunResult& sum = all.result;
  const RunResult& one = piece.result;
  sum.infer_seconds.resize(one.infer_seconds.size());
  for (std::size_t trial = 0; trial < one.infer_seconds.size(); ++trial)
    sum.infer_seconds[trial] += one.infer_seconds[trial];
  sum.upload_seconds += one.upload_seconds;
  sum.load_seconds += one.load_seconds;
  sum.gather_seconds += one.gather_seconds;
  sum.threads = one.threads;
  sum.batch = std::max(sum.batch, one.batch);
  for (const std::string& note : one.notes)
    if (std::find(sum.notes.begin(), sum.notes.end(), note) == sum.notes.end()) sum.notes.push_back(note);
  all.ranks.resize(piece.ranks.size());
  for (std::size_t rank = 0; rank < piece.ranks.size(); ++rank) {
    RankTimes& times = all.ranks[rank];
    times.host = piece.ranks[rank].host;
    times.images += piece.ranks[rank].images;
    times.upload_seconds += piece.ranks[rank].upload_seconds;
    times.infer_seconds += piece.ranks[rank].infer_seconds;
  }
}

}  // namespace spdnn
