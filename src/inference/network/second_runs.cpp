// The comparisons of verify(): the truth, a second run of other passes, a second run of another precision.

#include <fmt/format.h>

#include "cluster/exchange.hpp"
#include "data/official/problems.hpp"
#include "inference/network/steps.hpp"

namespace spdnn {

void Inference::Steps::check_second_runs(const EngineChoice& choice) {
  if (spec_.compare) {
    dead_ = plan_given(parse_passes("dead"));
    const EngineChoice by = choose(dead_);
    check_run(*by.variant, dead_, images_.facts(), options(by.precision, dead_, images_.mine().bytes()));
    dead_order_ = order_for(*by.variant, by.precision, dead_, images_.facts());
    if (stream_) network_.reset();  // which verification streams
  }
  if (below_fp32(choice.precision))
    check_run(*choice.variant, plan_, images_.facts(), options(Precision::fp32, plan_, images_.mine().bytes()));
}

void Inference::Steps::judge_by_truth() {
  const std::string unofficial = why_unofficial();
  if (!ranks_.is_root()) return ranks_.barrier();  // which waits for the root without taking its processors
  const Outcome& outcome = report_.outcome;
  report_.verdict = unverified(outcome.categories, "verification did not finish");
  const auto given = [this](const Passes& passes) { return plan_given(passes); };
  const ImageFacts& facts = images_.facts();
  // No more at a time than each rank has, and no process has had all of them.
  const Index at_once = facts.images / static_cast<Index>(ranks_.place().ranks) + 1;
  report_.verdict = spdnn::verify(truth_,
                                  {plan_, given, facts.images, facts.neurons, images_to_verify(), at_once, unofficial,
                                   spec_.host_memory, spec_.cancelled},
                                  outcome.categories);
  ranks_.barrier();
  if (!outcome.overflow.empty()) report_.verdict = downgrade_overflowed(report_.verdict);
}

SomeImages Inference::Steps::images_to_verify() const {
  if (!ranks_.is_alone()) return input_images_;
  return [&all = images_.mine()](std::span<const Index> ids) {
    return ids.size() == all.images() ? all : all.select(ids);
  };
}

std::string Inference::Steps::why_unofficial() const {
  if (!broadcast(ranks_, official_network_)) return "this is not an official problem";
  const auto problem = official_problem(images_.facts().neurons);
  const bool may_be = problem && images_.facts().images == kOfficialImages;
  return may_be && images_.binary_digest(ranks_) == problem->image_digest ? "" : "the images are not the official ones";
}

void Inference::Steps::compare_with_dead(const std::vector<Work>& mine) {
  dead_order_ = share_orders(ranks_, {dead_order_}).front();
  dead_ = share_plan(ranks_, std::move(dead_), spec_.network);
  const RunOptions how = options(dead_order_.precision, dead_, image_bytes(mine));
  const RunResult result = run_on_ranks(ranks_, {dead_order_}, dead_, mine, how).result;
  if (!ranks_.is_root()) return;
  const Verdict by_dead = judge(report_.outcome.categories, result.outcome.categories,
                                fmt::format("--reduce {} by {}", to_string(result.plan->passes), dead_order_.variant));
  report_.compared = ComparedRun{dead_order_.variant, result.plan->passes, spread(result.infer_seconds),
                                 by_dead.status == Verdict::Status::passed};
  report_.verdict = downgrade_if_contradicted(report_.verdict, by_dead);
}

void Inference::Steps::compare_with_fp32(const std::vector<Work>& mine) {
  RunOrder order = order_;
  if (ranks_.is_root()) order = order_for(find_variant(order_.variant), Precision::fp32, plan_, images_.facts());
  RunOptions once = options(Precision::fp32, plan_, image_bytes(mine));
  once.trials = 1;
  once.warm_up = 0;
  const RunResult in_fp32 = run_on_ranks(ranks_, share_orders(ranks_, {order}), plan_, mine, once).result;
  if (ranks_.is_root()) report_.against_fp32 = judge(report_.outcome.categories, in_fp32.outcome.categories, "fp32");
}

}  // namespace spdnn
