#include "inference/run_on_ranks.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/partition.hpp"
#include "cluster/together.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "inference/activations.hpp"
#include "inference/move_images.hpp"
#include "inference/outcomes.hpp"
#include "inference/rank_resources.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<RunOrder> auto& order) {
  archive(order.layer, order.variant, order.precision, order.in_order, order.may_overflow, order.why_in_order);
}

void fields(auto& archive, MaybeConst<Work> auto& work) { archive(work.layer, work.ids, work.images); }

namespace {

/// A piece of work of all ranks, without its images.
struct Piece {
  Index layer = 0;
  std::vector<Index> ids;  ///< see Work
  Index images = 0;
};
void fields(auto& archive, MaybeConst<Piece> auto& piece) { archive(piece.layer, piece.ids, piece.images); }

/// What a rank tells the root of its run of a network.
struct NetworkRankReport {
  RankReport common;
  double load_seconds = 0;
  Index batch = 0;
  Outcome outcome;
  std::vector<Index> rows;  ///< with activations: the ids of their rows
  std::vector<Work> left;
};

void fields(auto& archive, MaybeConst<NetworkRankReport> auto& report) {
  archive(report.common, report.load_seconds, report.batch, report.outcome, report.rows, report.left);
}

/// What a piece that was stopped, or never begun, leaves.
void add_left(const Work& work, const std::optional<Unfinished>& unfinished, std::vector<Work>& left) {
  const auto ids = [&](Index begin, Index end) {
    std::vector<Index> some(end - begin);
    std::iota(some.begin(), some.end(), begin);
    for (Index& image : some) image = work.id(image);
    return some;
  };
  Index next = 0;  // of the images that were not begun
  if (unfinished) {
    next = unfinished->first + unfinished->begun.images();
    if (next > unfinished->first)
      left.push_back({work.layer + unfinished->layer, ids(unfinished->first, next), unfinished->begun});
  }
  const Index images = work.images.images();
  if (next == images) return;
  left.push_back({work.layer, ids(next, images), {}});
  if (work.layer > 0) left.back().images = work.images.slice(next, images - next);
}

/// Processes that share the memory of a device, this one included.
struct Sharers {
  int cpu = 1;
  int cuda = 1;
};

/// This rank's pieces, one after another.
RankedResult run_pieces(const std::vector<RunOrder>& orders, const Plan& plan, const std::vector<Work>& mine,
                        RunOptions options, const Sharers& sharers = {}) {
  RankedResult all;
  all.result.plan = &plan;
  all.result.threads = host_threads(options.engine.threads);
  all.result.outcome.alive.assign(plan.depth(), 0);
  all.result.outcome.active.assign(plan.depth(), 0);
  std::vector<Outcome> outcomes;
  bool stopped = false;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const RunOrder& order = orders[i];
    const Work& work = mine[i];
    if (orders.size() > 1 && work.images.images() == 0) continue;
    if (stopped) {
      add_left(work, {}, all.left);
      continue;
    }
    const Plan rest = plan_from(plan, order.layer);
    const RunPlan chosen{&rest, order.may_overflow, order.why_in_order};
    const Variant& variant = find_variant(order.variant);
    options.engine.precision = order.precision;
    options.engine.sharers = variant.device == Device::cpu ? sharers.cpu : sharers.cuda;
    RunResult piece = run(variant, chosen, work.images, options);
    stopped = piece.unfinished.has_value();
    if (stopped) add_left(work, piece.unfinished, all.left);
    outcomes.push_back(in_whole_run(std::move(piece.outcome), work, plan.depth()));
    add_times(all.result, piece);
  }
  if (orders.size() == 1) all.result.outcome.activations = std::move(outcomes[0].activations);
  merge_outcomes(all.result.outcome, outcomes);
  return all;
}

NetworkRankReport report_of(const RankedResult& own, const std::vector<Work>& mine) {
  Index images = 0;
  for (const Work& work : mine) images += work.images.images();
  NetworkRankReport report{
      rank_report_of(own.result, images), own.result.load_seconds, own.result.batch, own.result.outcome, {}, own.left};
  if (own.result.outcome.activations) report.rows = mine[0].ids;
  return report;
}

/// Puts the results of the other ranks to the root's, whose report is the first.
void add_reports(RankedResult& all, std::vector<NetworkRankReport> reports) {
  std::vector<Outcome> outcomes;
  std::vector<CsrMatrix> activations;
  std::vector<std::vector<Index>> rows;
  for (NetworkRankReport& report : reports) {
    all.ranks.push_back(report.common.times);
    if (report.outcome.activations) {
      activations.push_back(*report.outcome.activations);
      rows.push_back(std::move(report.rows));
    }
    if (all.ranks.size() == 1) continue;
    take_longest(all.result, report.common);
    all.result.load_seconds = std::max(all.result.load_seconds, report.load_seconds);
    all.result.batch = std::max(all.result.batch, report.batch);
    outcomes.push_back(std::move(report.outcome));
    std::move(report.left.begin(), report.left.end(), std::back_inserter(all.left));
  }
  merge_outcomes(all.result.outcome, outcomes);
  if (!activations.empty()) all.result.outcome.activations = join_rows(activations, rows);
}

/// Ranks that run on the devices of this one.
Sharers sharers_of_devices(Communicator& ranks, const std::vector<RunOrder>& orders, const RunOptions& options) {
  Sharers sharers{.cpu = ranks.place().node_ranks};
  const auto is_cuda = [](const RunOrder& order) { return find_variant(order.variant).device == Device::cuda; };
  if (std::any_of(orders.begin(), orders.end(), is_cuda))
    sharers.cuda = sharers_of_device(ranks, Device::cuda, options.engine, options.share_devices);
  return sharers;
}

}  // namespace

std::vector<RunOrder> share_orders(Communicator& ranks, const std::vector<RunOrder>& orders) {
  return broadcast(ranks, orders);
}

RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageFacts& images) {
  const RunPlan chosen = plan_for(plan, images, precision);
  return {0, std::string(variant.name), precision, chosen.plan != &plan, chosen.may_overflow, chosen.why};
}

std::vector<Work> scatter_work(Communicator& ranks, const std::vector<Work>& all) {
  if (ranks.is_alone()) return all;
  std::vector<Piece> pieces;
  for (const Work& work : all) pieces.push_back({work.layer, work.ids, work.images.images()});
  pieces = broadcast(ranks, pieces);
  std::vector<Work> mine;
  const int rank = ranks.place().rank;
  const int count = ranks.place().ranks;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    Work work{piece.layer, images_dealt_to(piece.images, rank, count), {}};
    if (!piece.ids.empty())
      for (Index& image : work.ids) image = piece.ids[image];
    work.images = move_images(ranks, ranks.is_root() ? all[i].images : ImageSet{}, owned_by_root(piece.images),
                              dealt_owners(piece.images, count));
    mine.push_back(std::move(work));
  }
  return mine;
}

RankedResult run_on_ranks(Communicator& ranks, const std::vector<RunOrder>& orders, const Plan& plan,
                          const std::vector<Work>& mine, const RunOptions& options) {
  const bool in_order = !orders.empty() && orders[0].in_order;
  const Plan& form = in_order ? *plan.fallback->in_order : plan;
  if (ranks.is_alone()) return run_pieces(orders, form, mine, options);

  RunOptions own = options;
  const Sharers sharers = sharers_of_devices(ranks, orders, own);
  own.engine.threads = threads_of(ranks, own.engine.threads);
  const ThreadLimit limit(own.engine.threads);
  ranks.barrier();
  RankedResult all;
  together(ranks, [&] { all = run_pieces(orders, form, mine, own, sharers); });
  const Stopwatch watch;
  add_reports(all, gather(ranks, report_of(all, mine)));
  all.result.gather_seconds += watch.seconds();
  return all;
}

void add_times(RunResult& all, const RunResult& piece) {
  all.infer_seconds.resize(piece.infer_seconds.size());
  for (std::size_t trial = 0; trial < piece.infer_seconds.size(); ++trial)
    all.infer_seconds[trial] += piece.infer_seconds[trial];
  all.upload_seconds += piece.upload_seconds;
  all.load_seconds += piece.load_seconds;
  all.warm_up_seconds += piece.warm_up_seconds;
  all.gather_seconds += piece.gather_seconds;
  all.batch = std::max(all.batch, piece.batch);
  for (const std::string& note : piece.notes)
    if (std::find(all.notes.begin(), all.notes.end(), note) == all.notes.end()) all.notes.push_back(note);
}

}  // namespace spdnn
