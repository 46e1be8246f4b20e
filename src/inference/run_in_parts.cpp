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
  Checkpoint state;
  std::vector<Work> work;
  std::vector<RunOrder> orders;
  const std::uint64_t image_digest = images_.digest(ranks_);
  if (ranks_.is_root()) {
    const Plan& ran = order_.in_order ? *plan_.fallback->in_order : plan_;
    state = Checkpoint(plan_, order_.precision, image_digest, images_.facts().images);
    if (continues()) read_checkpoint(spec_.checkpoint, ran, state);
    work = state.left;
    for (const Work& piece : work) orders.push_back(order_of_piece(piece, ran));
  }
  orders = share_orders(ranks_, orders);
  RankedResult all = run_work(orders, deal(work));
  report_streaming(read_before);
  if (ranks_.is_root()) {
    for (const RunOrder& order : orders) state.variants.insert(order.variant);
    conclude_work(all, state);
  }
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

RunOrder Inference::Steps::order_of_piece(const Work& piece, const Plan& ran) const {
  if (piece.layer == 0) return order_;
  const Plan rest = plan_from(ran, piece.layer);
  const RunPlan run = plan_for(rest, facts_of(piece.images), order_.precision);
  EngineOptions engine = options(order_.precision, rest, piece.images.bytes()).engine;
  engine.may_overflow = run.may_overflow;
  EngineRequest request = engine_request(spec_, engine.device);
  if (!support_of(find_variant(order_.variant), *run.plan, batch_info(piece.images), engine).takes())
    request.variant.clear();
  const EngineChoice choice = choose_engine(request, *run.plan, batch_info(piece.images), engine);
  RunOrder order = order_for(*choice.variant, order_.precision, rest, facts_of(piece.images));
  order.layer = piece.layer;
  order.in_order = order_.in_order;
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
