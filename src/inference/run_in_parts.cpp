// A run that goes on from a checkpoint, or may end in one, or both.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cluster/exchange.hpp"
#include "inference/run_report.hpp"
#include "inference/steps.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

void Inference::Steps::run_in_parts() {
  const std::uint64_t read_before = bytes_read();
  RankedResult all;
  all.result.plan = order_.in_order ? plan_.fallback->in_order.get() : &plan_;
  Checkpoint state;
  std::vector<Work> work;
  if (ranks_.is_root()) {
    state = Checkpoint(plan_, order_.precision, images_);
    if (continues()) read_checkpoint(spec_.checkpoint, *all.result.plan, state);
    work = work_left(state, images_);
    state.left.clear();
  }
  const std::size_t pieces = broadcast(ranks_, work.size());
  for (std::size_t i = 0; i < pieces; ++i) {
    const Work piece = ranks_.is_root() ? std::move(work[i]) : Work{};
    const Index layer = broadcast(ranks_, piece.layer);
    const Plan rest = layer == 0 ? plan_ : plan_from(*all.result.plan, layer);  // of the plan that ran before
    const RunOrder order = share_order(ranks_, ranks_.is_root() ? order_of_piece(piece, rest) : RunOrder{});
    RankedResult result = run_piece(order, rest, piece.images);
    if (!ranks_.is_root()) continue;
    conclude_work(piece, result, plan_.depth(), state);
    state.variants.insert(order.variant);
    add_times(all, result);
  }
  report_streaming(read_before);
  if (!broadcast(ranks_, state.left.empty())) stop(std::move(state), std::move(all));
  if (!ranks_.is_root()) return;
  report_.parts = state.parts + 1;
  report_.earlier = state.seconds;
  state.variants.erase(report_.variant);
  if (!state.variants.empty())
    report_.notes.push_back(fmt::format("part of the run was computed by {}", fmt::join(state.variants, ", ")));
  all.result.outcome = std::move(state.known);
  conclude(std::move(all));
}

RunOrder Inference::Steps::order_of_piece(const Work& piece, const Plan& rest) const {
  if (piece.layer == 0) return order_;
  const RunPlan run = plan_for(rest, facts_of(piece.images), order_.precision);
  EngineOptions engine = options(order_.precision, rest, piece.images).engine;
  engine.may_overflow = run.may_overflow;
  EngineRequest request = engine_request(spec_, engine.device);
  if (!support_of(find_variant(order_.variant), *run.plan, batch_info(piece.images), engine).takes())
    request.variant.clear();
  const EngineChoice choice = choose_engine(request, *run.plan, batch_info(piece.images), engine);
  RunOrder order = order_for(*choice.variant, order_.precision, rest, facts_of(piece.images));
  order.layer = piece.layer;
  return order;
}

void Inference::Steps::stop(Checkpoint state, RankedResult all) {
  std::string begun_again;
  if (ranks_.is_root()) {
    take_over(std::move(all), report_);
    report_.seconds.total = since_start_.seconds();
    state.seconds.add(report_.seconds);
    ++state.parts;
    join_pieces(state.left);
    begun_again = write_checkpoint(spec_.checkpoint, state);
  }
  ranks_.barrier();
  throw Stopped(fmt::format("stopped; the same command continues the run from {}{}", spec_.checkpoint,
                            begun_again.empty() ? "" : ", but begins some images again, for " + begun_again));
}

}  // namespace spdnn
