// A run that continues from a checkpoint, or may end in one, or both.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cluster/exchange.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "inference/network/run_report.hpp"
#include "inference/network/steps.hpp"
#include "inference/ranks/continued_work.hpp"
#include "inference/ranks/rank_resources.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

CheckpointClock::Settings clock_settings(const InferenceSpec& spec, double spent) {
  CheckpointClock::Settings settings{.stop = spec.stop};
  if (spec.checkpoint_every) settings.every = *spec.checkpoint_every;
  if (spec.max_time) settings.time_left = std::max(0.0, *spec.max_time - spent);
  return settings;
}

std::optional<double> finite(double seconds) { return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt; }

}  // namespace

void Inference::Steps::run_in_parts() {
  const std::uint64_t read_before = bytes_read();
  std::optional<CheckpointKeeper> keeper;
  CheckpointClock clock(clock_settings(spec_, since_start_.seconds()), [this] { return since_start_.seconds(); });
  const std::uint64_t image_digest = images_.digest(ranks_);
  Checkpoint begin;
  if (ranks_.is_root()) {
    begin = Checkpoint(plan_, order_.precision, image_digest, images_.facts().images);
    if (continues()) read_checkpoint(spec_.checkpoint, begin);
  }
  const std::vector<Work> work = left_of(begin);
  const std::vector<RunOrder> orders = orders_of(work);
  begin.left.clear();
  if (ranks_.is_root()) keeper.emplace(spec_.checkpoint, std::move(begin), spec_.warning);
  const Keeping keeping{clock, [&](RankedResult all, LeftWork& left, const CheckpointClock::Statement& statement) {
                          Checkpoint now = checkpoint_of(keeper->begin(), orders, std::move(all), left);
                          now.costs.every = statement.every;
                          now.next_within = statement.next_within;
                          keeper->keep(now, [&] { return left.next_part(); });
                        }};
  RankedResult all = run_work(orders, work, &keeping);
  report_streaming(read_before);
  LeftWork left(ranks_, all.left);
  Checkpoint now;
  if (ranks_.is_root()) now = checkpoint_of(keeper->begin(), orders, all, left);
  if (!broadcast(ranks_, now.left.empty())) stop(keeper ? &*keeper : nullptr, now, left, clock);
  if (!ranks_.is_root()) return;
  report_.parts = now.parts;
  report_.earlier = keeper->begin().seconds;
  report_.checkpoints = keeper->costs();
  report_.checkpoints->every = finite(clock.every());
  add_notes(*keeper, clock);
  if (ranks_.place().node_ranks > 1 && spec_.deal == Deal::automatic)
    note_fixed("a checkpoint stores the rest of each");
  now.variants.erase(report_.variant);
  if (!now.variants.empty())
    report_.notes.push_back(fmt::format("part of the run was computed by {}", fmt::join(now.variants, ", ")));
  all.result.outcome = std::move(now.known);
  conclude(std::move(all));
}

void Inference::Steps::add_notes(const CheckpointKeeper& keeper, const CheckpointClock& clock) {
  for (const std::string& note : keeper.notes()) report_.notes.push_back(note);
  if (clock.grown())
    report_.notes.push_back(fmt::format("writing a checkpoint takes {}, so the interval is {}",
                                        seconds_text(clock.writing()), seconds_text(clock.every())));
}

Checkpoint Inference::Steps::checkpoint_of(Checkpoint begin, const std::vector<RunOrder>& orders, RankedResult all,
                                           const LeftWork& left) const {
  for (const RunOrder& order : orders) begin.variants.insert(order.variant);
  conclude_work(all.result.outcome, left.outline(), begin);
  Report part = report_;
  record_run(std::move(all), part);
  part.seconds.total = since_start_.seconds();
  begin.seconds.add(part.seconds);
  ++begin.parts;
  return begin;
}

const Plan& Inference::Steps::plan_that_runs() const { return order_.in_order ? *plan_.fallback->in_order : plan_; }

std::vector<Work> Inference::Steps::left_of(const Checkpoint& begin) {
  const Stopwatch watch;
  std::optional<ThreadLimit> limit;  // ranks that read share their processors
  if (!ranks_.is_alone()) limit.emplace(threads_of(ranks_, 0));
  std::vector<Work> work = continued_work(ranks_, images_, spec_.checkpoint, begin, plan_that_runs());
  if (!ranks_.is_alone()) report_.seconds.share += watch.seconds();
  return work;
}

std::vector<RunOrder> Inference::Steps::orders_of(const std::vector<Work>& work) {
  std::vector<RunOrder> orders;
  for (const Work& piece : work) {
    const ImageFacts facts = piece.layer == 0 ? images_.facts() : facts_on_ranks(ranks_, piece.images);
    if (ranks_.is_root()) orders.push_back(order_of_piece(piece, facts));
  }
  return share_orders(ranks_, orders);
}

RunOrder Inference::Steps::order_of_piece(const Work& piece, const ImageFacts& facts) const {
  if (piece.layer == 0) return order_;
  const Plan rest = plan_from(plan_that_runs(), piece.layer);
  const RunPlan run = plan_for(rest, facts, order_.precision);
  EngineOptions engine = options(order_.precision, rest, piece.images.bytes()).engine;
  engine.may_overflow = run.may_overflow;
  EngineRequest wanted = request();
  const BatchInfo batch{facts.images, facts.binary, facts.bits};
  if (!support_of(find_variant(order_.variant), *run.plan, batch, engine).takes()) wanted.variant.clear();
  const EngineChoice choice = choose_engine(wanted, *run.plan, batch, engine);
  RunOrder order = order_for(*choice.variant, order_.precision, rest, facts);
  order.layer = piece.layer;
  order.in_order = order_.in_order;
  return order;
}

void Inference::Steps::stop(CheckpointKeeper* keeper, const Checkpoint& now, LeftWork& left,
                            const CheckpointClock& clock) {
  std::string begun_again;
  left.on_root([&] { begun_again = keeper->finish(now, [&] { return left.next_part(); }); });
  ranks_.barrier();
  throw Stopped(fmt::format("stopped{}{}; the same command continues the run from {}{}", clock.why().empty() ? "" : " ",
                            clock.why(), spec_.checkpoint,
                            begun_again.empty() ? "" : ", but begins some images again, for " + begun_again));
}

}  // namespace spdnn
