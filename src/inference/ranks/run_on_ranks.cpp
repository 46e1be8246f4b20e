#include "inference/ranks/run_on_ranks.hpp"

#include <numeric>
#include <optional>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "inference/checkpoint/rounds.hpp"
#include "inference/run/activations.hpp"
#include "inference/run/outcomes.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<RunOrder> auto& order) {
  archive(order.layer, order.variant, order.precision, order.in_order, order.may_overflow, order.why_in_order);
}

namespace {

/// A rank's report to the root on its run of a network.
struct NetworkRankReport {
  RankReport common;
  Outcome outcome;
  std::vector<Index> rows;  ///< with activations: the ids of their rows
};

void fields(auto& archive, MaybeConst<NetworkRankReport> auto& report) {
  archive(report.common, report.outcome, report.rows);
}

/// The remaining work of a piece that was stopped or never begun.
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

/// A rank's results for its pieces.
struct KnownWork {
  RankedResult all;
  std::vector<Outcome> outcomes;  ///< of finished work, piece by piece

  /// A piece that has ended, or was interrupted.
  void add(const Work& work, RunResult piece) {
    if (piece.unfinished) add_left(work, piece.unfinished, all.left);
    outcomes.push_back(in_whole_run(std::move(piece.outcome), work, all.result.plan->depth()));
    add_times(all.result, piece);
  }
  /// The result of all pieces; with the activations, if they were kept and there is only one piece.
  RankedResult result() && {
    if (outcomes.size() == 1) all.result.outcome.activations = std::move(outcomes[0].activations);
    merge_outcomes(all.result.outcome, outcomes);
    return std::move(all);
  }
};

/// This rank's pieces, one after another.
class Pieces final : private Interruption {
 public:
  /// This rank's results, from those of the piece that runs.
  using AddPiece = std::function<RankedResult(RunResult)>;
  /// Returns whether the run continues. Both may be called later, on another thread.
  using Interrupt = std::function<bool(InterruptedRun& piece, const AddPiece& add)>;

  Pieces(const std::vector<RunOrder>& orders, const Plan& plan, const std::vector<Work>& mine,
         const RunOptions& options, const RankShare& share)
      : orders_(orders), plan_(plan), mine_(mine), options_(options), share_(share) {
    known_.all.result.plan = &plan;
    known_.all.result.threads = host_threads(options.engine.threads);
    known_.all.result.outcome.alive.assign(plan.depth(), 0);
    known_.all.result.outcome.active.assign(plan.depth(), 0);
  }

  RankedResult run() {
    bool stopped = false;
    for (piece_ = 0; piece_ < orders_.size() && !stopped; ++piece_) {
      if (orders_.size() > 1 && mine_[piece_].images.images() == 0) continue;
      RunResult piece = run_piece();
      stopped = piece.unfinished.has_value();
      known_.add(mine_[piece_], std::move(piece));
    }
    add_pieces_from(piece_, known_);
    return std::move(known_).result();
  }
  /// The same, interrupted by the clock.
  RankedResult run(CheckpointClock& clock, Interrupt interrupt) {
    clock_ = &clock;
    interrupt_ = std::move(interrupt);
    options_.interruption = this;
    return run();
  }

 private:
  RunResult run_piece() {
    const RunOrder& order = orders_[piece_];
    const Plan rest = plan_from(plan_, order.layer);
    const Variant& variant = find_variant(order.variant);
    options_.engine.precision = order.precision;
    options_.engine.sharers = variant.device == Device::cpu ? share_.cpu_sharers : share_.cuda_sharers;
    options_.batches = mine_[piece_].batches.get();
    return spdnn::run(variant, {&rest, order.may_overflow, order.why_in_order}, mine_[piece_].images, options_);
  }

  /// Adds the pieces that were not begun.
  void add_pieces_from(std::size_t first, KnownWork& known) const {
    for (std::size_t i = first; i < orders_.size(); ++i) add_left(mine_[i], {}, known.all.left);
  }

  double due_in() override { return clock_->due_in(); }
  bool interrupt(InterruptedRun& run) override {
    return interrupt_(run, [this, known = known_, piece = piece_](RunResult so_far) mutable {
      known.add(mine_[piece], std::move(so_far));
      add_pieces_from(piece + 1, known);
      return std::move(known).result();
    });
  }

  const std::vector<RunOrder>& orders_;
  const Plan& plan_;
  const std::vector<Work>& mine_;
  RunOptions options_;
  RankShare share_;
  CheckpointClock* clock_ = nullptr;
  Interrupt interrupt_;
  KnownWork known_;
  std::size_t piece_ = 0;  ///< that runs
};

NetworkRankReport report_of(const RankedResult& own, const std::vector<Work>& mine) {
  Index images = 0;
  for (const ImageRange& batch : own.result.batches) images += batch.count;
  NetworkRankReport report{rank_report_of(own.result, images), own.result.outcome, {}};
  if (!mine.empty() && mine[0].batches) report.common.times.taken = static_cast<Index>(own.result.batches.size());
  if (!own.result.outcome.activations) return report;
  for (const ImageRange& batch : own.result.batches)
    for (Index image = batch.first; image < batch.first + batch.count; ++image)
      report.rows.push_back(mine[0].id(image));
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
    outcomes.push_back(std::move(report.outcome));
  }
  merge_outcomes(all.result.outcome, outcomes);
  if (!activations.empty()) all.result.outcome.activations = join_rows(activations, rows);
}

/// The results of all ranks on the root; elsewhere the rank's own.
RankedResult gathered(Communicator& ranks, RankedResult own, const std::vector<Work>& mine) {
  if (!ranks.is_alone()) add_reports(own, gather(ranks, report_of(own, mine)));
  return own;
}

RankedResult run_in_rounds(Communicator& ranks, Pieces& pieces, const std::vector<Work>& mine, const Keeping& keeping) {
  using Rounds = CheckpointRounds;
  using Statement = CheckpointClock::Statement;
  const auto keep = [&](const RankedResult& own, const Statement& statement) {
    LeftWork left(ranks, own.left);
    RankedResult all = gathered(ranks, own, mine);
    left.on_root([&] { keeping.keep(std::move(all), left, statement); });
    return Rounds::Rest();
  };
  Rounds rounds(ranks, keeping.clock);
  keeping.clock.begin();
  const auto keep_piece = [&](InterruptedRun& piece, const Pieces::AddPiece& add, const Statement& statement) {
    const auto beside = ranks.on_any_thread() ? piece.result_beside() : nullptr;
    return beside ? Rounds::Rest([&keep, add, beside, statement] { keep(add(beside()), statement); })
                  : keep(add(piece.result()), statement);
  };
  RankedResult own;
  try {
    own = pieces.run(keeping.clock, [&](InterruptedRun& piece, const Pieces::AddPiece& add) {
      const auto keep_now = [&](const Statement& statement) { return keep_piece(piece, add, statement); };
      return rounds.enter(false, keep_now) == Rounds::After::go_on;
    });
  } catch (...) {
    if (ranks.is_alone() || !rounds.open()) throw;
    rounds.fail();
  }
  while (rounds.open()) rounds.enter(true, [&](const Statement& statement) { return keep(own, statement); });
  return own;
}

}  // namespace

std::vector<RunOrder> share_orders(Communicator& ranks, const std::vector<RunOrder>& orders) {
  return broadcast(ranks, orders);
}

RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageFacts& images) {
  const RunPlan chosen = plan_for(plan, images, precision);
  return {0, std::string(variant.name), precision, chosen.plan != &plan, chosen.may_overflow, chosen.why};
}

RankedResult run_on_ranks(Communicator& ranks, const std::vector<RunOrder>& orders, const Plan& plan,
                          const std::vector<Work>& mine, const RunOptions& options, const Keeping* keeping) {
  const bool in_order = !orders.empty() && orders[0].in_order;
  const Plan& form = in_order ? *plan.fallback->in_order : plan;
  const RankWish wish{options.engine.threads, any_on_cuda(orders, find_variant), options.engine.device,
                      options.share_devices};
  const auto ready = [&] {
    for (const Work& work : mine)
      if (work.batches) work.batches->restart();
  };
  const auto run = [&](const RankShare& share) {
    Pieces pieces(orders, form, mine, options, share);
    if (keeping != nullptr) return run_in_rounds(ranks, pieces, mine, *keeping);
    RankedResult all;
    together(ranks, [&] { all = pieces.run(); });
    return all;
  };
  return run_and_gather(ranks, wish, ready, run,
                        [&](RankedResult& all) { all = gathered(ranks, std::move(all), mine); });
}

}  // namespace spdnn
