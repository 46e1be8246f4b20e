#include "inference/model/on_ranks.hpp"

#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/model_fields.hpp"
#include "cluster/partition.hpp"
#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "inference/run/load.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<ModelOrder> auto& order) {
  archive(order.variant, order.precision, order.images, order.batch, order.may_shrink);
}

namespace {

/// A rank's report to the root on its run, sent with its part of the output.
struct ModelRankReport {
  RankReport common;
  int differing_trials = 0;
  std::optional<Index> overflow;
  std::vector<double> node_seconds;
};

void fields(auto& archive, MaybeConst<ModelRankReport> auto& report) {
  archive(report.common, report.differing_trials, report.overflow, report.node_seconds);
}

ModelRankReport rank_report(const ModelRunResult& result, Index images) {
  return {rank_report_of(result, images), result.differing_trials, result.overflow, result.node_seconds};
}

/// Puts another rank's results to the root's.
void add_report(ModelRunResult& all, const ModelRankReport& one) {
  take_longest(all, one.common);
  take_longest(all.node_seconds, one.node_seconds);
  all.differing_trials += one.differing_trials;
  all.overflow = first_node(all.overflow, one.overflow);
}

/// The number of images of a rank.
Index part_of(Index images, Index at_once, int rank, int ranks) {
  return images_of_rank(images / at_once, rank, ranks).count * at_once;
}

/// The outputs of a rank without images.
std::vector<Tensor> no_outputs(const Model& model) {
  std::vector<Tensor> outputs;
  for (const ValueId output : model.outputs) outputs.push_back({output_of(model, output, 0), {}});
  return outputs;
}

/// On the root, an output of all ranks, whose shape is `shape`; elsewhere the rank's own.
Tensor gather_output(Communicator& ranks, const Shape& shape, const Tensor& mine) {
  const std::vector<std::size_t> sizes = ranks.gather_size(mine.values.bytes());
  const std::size_t size = ranks.is_root() ? elements(shape).value_or(0) : 0;
  const auto storage = allocate<float>(size);
  ranks.gather(std::as_bytes(mine.values.span()), sizes, std::as_writable_bytes(std::span(storage.get(), size)));
  return ranks.is_root() ? Tensor{shape, Array<float>(storage, size)} : mine;
}

/// The run of this rank's images. This machine may lack a resource of the first rank's, such as oneDNN's library or
/// bf16.
ModelRunResult run_mine(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& mine,
                        const ModelRunOptions& options) {
  try {
    return run_model(variant, model, mine, options);
  } catch (const UsageError& error) {
    throw DeviceError(error.what());
  }
}

}  // namespace

ModelOrder share_order(Communicator& ranks, const ModelOrder& order) { return broadcast(ranks, order); }

std::shared_ptr<const Model> share_model(Communicator& ranks, const std::shared_ptr<const Model>& model) {
  const FlatParcel parcel = broadcast_parcel(ranks, ranks.is_root() ? flatten(pack(*model)) : FlatParcel{});
  return ranks.is_root() ? model : std::make_shared<const Model>(unpack<Model>(parcel));
}

Tensor scatter_images(Communicator& ranks, const Tensor& images, Index at_once) {
  if (ranks.is_alone()) return images;
  Shape shape = broadcast(ranks, images.shape);
  const auto all = static_cast<Index>(std::exchange(shape[0], 1));
  const std::size_t image_bytes = elements(shape).value_or(0) * sizeof(float);
  const auto bytes_of = [&](int rank) { return part_of(all, at_once, rank, ranks.place().ranks) * image_bytes; };
  std::vector<std::size_t> out_sizes(static_cast<std::size_t>(ranks.place().ranks), 0);
  std::vector<std::size_t> in_sizes(out_sizes.size(), 0);
  in_sizes[0] = bytes_of(ranks.place().rank);
  if (ranks.is_root())
    for (int rank = 0; rank < ranks.place().ranks; ++rank) out_sizes[static_cast<std::size_t>(rank)] = bytes_of(rank);
  const std::size_t size = in_sizes[0] / sizeof(float);
  const auto mine = allocate<float>(size);
  ranks.exchange(std::as_bytes(images.values.span()), out_sizes, std::as_writable_bytes(std::span(mine.get(), size)),
                 in_sizes);
  shape[0] = static_cast<Extent>(part_of(all, at_once, ranks.place().rank, ranks.place().ranks));
  return {shape, Array<float>(mine, size)};
}

Index most_images(Index images, Index at_once, int ranks) {
  return part_of(images, at_once, ranks - 1, ranks);  // the last one has as many as any
}

RankedModelResult run_model_on_ranks(Communicator& ranks, const ModelOrder& order,
                                     const std::shared_ptr<const Model>& model, const Tensor& mine,
                                     const ModelRunOptions& options, bool share_devices) {
  const ModelVariant& variant = find_model_variant(order.variant);
  ModelRunOptions own = options;
  own.batch = order.may_shrink ? 0 : order.batch;
  own.engine.precision = order.precision;
  own.engine.batch = order.batch;
  const auto images = static_cast<Index>(mine.shape[0]);
  const RankWish wish{own.engine.threads, variant.device == Device::cuda, own.engine.device, share_devices};
  const auto ready = [&] {
    std::size_t each = 0;
    for (const ValueId output : model->outputs) each += elements(output_of(*model, output, 1)).value_or(0);
    if (ranks.is_root()) check_memory_for("images", order.images, each * sizeof(float));
  };
  const auto run = [&](const RankShare& /*share*/) {
    RankedModelResult all;
    if (ranks.is_alone()) {
      all.result = run_model(variant, model, mine, own);
      return all;
    }
    together(ranks, [&] {
      if (images > 0) return void(all.result = run_mine(variant, model, mine, own));
      all.result.outputs = no_outputs(*model);
      all.result.infer_seconds.assign(static_cast<std::size_t>(own.trials), 0.0);
      all.result.threads = host_threads(own.engine.threads);
    });
    return all;
  };
  return run_and_gather(ranks, wish, ready, run, [&](RankedModelResult& all) {
    for (const ModelRankReport& report : gather(ranks, rank_report(all.result, images))) {
      if (!all.ranks.empty()) add_report(all.result, report);
      all.ranks.push_back(report.common.times);
    }
    for (std::size_t i = 0; i < model->outputs.size(); ++i)
      all.result.outputs[i] =
          gather_output(ranks, output_of(*model, model->outputs[i], order.images), all.result.outputs[i]);
  });
}

}  // namespace spdnn
