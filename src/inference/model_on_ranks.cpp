#include "inference/model_on_ranks.hpp"

#include <cstring>

#include "cluster/exchange.hpp"
#include "cluster/model_fields.hpp"
#include "cluster/partition.hpp"
#include "cluster/together.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "inference/load.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<ModelOrder> auto& order) {
  archive(order.variant, order.precision, order.images, order.batch, order.trials, order.warm_up, order.profile);
}

namespace {

/// What a rank tells the root of its run, beside its part of the output.
struct ModelRankReport {
  RankReport common;
  int differing_trials = 0;
  std::optional<Index> overflow;
  std::vector<double> node_seconds;
};

void fields(auto& archive, MaybeConst<ModelRankReport> auto& report) {
  archive(report.common, report.differing_trials, report.overflow, report.node_seconds);
}

ModelRankReport report_of(const ModelRunResult& result, Index images) {
  return {rank_report_of(result, images), result.differing_trials, result.overflow, result.node_seconds};
}

/// Puts another rank's results to the root's.
void add(ModelRunResult& all, const ModelRankReport& one) {
  take_longest(all, one.common);
  take_longest(all.node_seconds, one.node_seconds);
  all.differing_trials += one.differing_trials;
  all.overflow = first_node(all.overflow, one.overflow);
}

ImageRange part_of(Index images, Index at_once, int rank, int ranks) {
  const ImageRange groups = images_of_rank(images / at_once, rank, ranks);
  return {groups.first * at_once, groups.count * at_once};
}

Shape output_of(const Model& model, Index images) {
  Shape shape = model.values[model.outputs.front()].shape;
  shape[0] = static_cast<Extent>(images);
  return shape;
}

/// On the root, the output of all ranks; the others send theirs.
Tensor gather_output(Communicator& ranks, const Shape& shape, const std::vector<ModelRankReport>& reports,
                     const Tensor& mine) {
  if (!ranks.is_root()) {
    if (mine.shape[0] > 0) send(ranks, mine, 0);
    return mine;
  }
  const std::size_t size = elements(shape).value_or(0);
  const auto storage = allocate<float>(size);
  float* to = storage.get();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].common.times.images == 0) continue;
    const Tensor part = rank == 0 ? mine : receive<Tensor>(ranks, static_cast<int>(rank));
    std::memcpy(to, part.values.data(), part.values.bytes());
    to += part.values.size();
  }
  return {shape, Array<float>(storage, size)};
}

/// The run of this rank's images. This machine may lack what the first rank's has, such as oneDNN's library or bf16.
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
  if (!ranks.is_root()) return std::make_shared<const Model>(receive<Model>(ranks, 0));
  for (int rank = 1; rank < ranks.place().ranks; ++rank) send(ranks, *model, rank);
  return model;
}

Tensor scatter_images(Communicator& ranks, const Tensor& images, Index at_once) {
  if (ranks.is_alone()) return images;
  if (!ranks.is_root()) return receive<Tensor>(ranks, 0);
  const auto part = [&](int rank) {
    const ImageRange range = part_of(static_cast<Index>(images.shape[0]), at_once, rank, ranks.place().ranks);
    return images_from(images, range.first, range.count);
  };
  for (int rank = 1; rank < ranks.place().ranks; ++rank) send(ranks, part(rank), rank);
  return part(0);
}

Index most_images(Index images, Index at_once, int ranks) {
  return part_of(images, at_once, ranks - 1, ranks).count;  // the last one has as many as any
}

RankedModelResult run_model_on_ranks(Communicator& ranks, const ModelOrder& order,
                                     const std::shared_ptr<const Model>& model, const Tensor& mine,
                                     const ModelEngineOptions& options, const ProgressCallback& progress) {
  const ModelVariant& variant = find_model_variant(order.variant);
  ModelRunOptions own{options, order.trials, order.warm_up, progress};
  own.engine.precision = order.precision;
  own.engine.batch = order.batch;
  own.engine.profile = order.profile;
  if (ranks.is_alone()) return {run_model(variant, model, mine, own), {}, host_threads(options.threads)};

  const Shape shape = output_of(*model, order.images);
  if (ranks.is_root())
    check_memory_for("images", order.images, elements(shape).value_or(0) / order.images * sizeof(float));
  RankedModelResult all;
  all.threads = own.engine.threads = threads_of(ranks, own.engine.threads);
  const ThreadLimit limit(all.threads);
  ranks.barrier();
  const auto images = static_cast<Index>(mine.shape[0]);
  together(ranks, [&] {
    if (images > 0) return void(all.result = run_mine(variant, model, mine, own));
    all.result.output.shape = output_of(*model, 0);
    all.result.infer_seconds.assign(static_cast<std::size_t>(order.trials), 0.0);
  });
  const Stopwatch watch;
  const std::vector<ModelRankReport> reports = gather(ranks, report_of(all.result, images));
  for (const ModelRankReport& report : reports) {
    if (!all.ranks.empty()) add(all.result, report);
    all.ranks.push_back(report.common.times);
  }
  all.result.output = gather_output(ranks, shape, reports, all.result.output);
  all.result.gather_seconds += watch.seconds();
  return all;
}

}  // namespace spdnn
