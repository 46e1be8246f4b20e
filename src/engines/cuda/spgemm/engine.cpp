#include "engines/cuda/spgemm/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engines/cuda/layers/library_plan.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/streamed.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

constexpr LayerFormat kFormat{.indices16 = false, .values = true};
/// Bytes of cuSPARSE's default algorithm for a product, and of its result: an estimate for the initial size of chunks;
/// the actual sizes are checked.
constexpr std::size_t kBytesPerProduct = 40;
constexpr Offset kMaxProducts = Offset{1} << 28U;  ///< enough to fill the GPU, far below cuSPARSE's 2^31

/// cuSPARSE's share of the device's memory, fixed so that it does not depend on whether the plan is resident.
std::size_t workspace_share(const EngineOptions& options) {
  const std::size_t total = options.device_memory > 0 ? options.device_memory : device_info(options.device).total_bytes;
  return total / 8;
}

/// The weights by input, and for each layer whether its positive biases became an input that is always 1.
Plan turned(const Plan& plan, std::vector<bool>& lifted) {
  Plan result = by_input(plan);
  lifted.assign(result.layers.size(), false);
  for (std::size_t k = 0; k < result.layers.size(); ++k)
    lifted[k] = plan.bias_rule == BiasRule::everywhere && lift_positive_biases(result.layers[k]);
  return result;
}

std::vector<Offset> max_degrees(const Plan& transposed) {
  std::vector<Offset> degrees;
  for (const Layer& layer : transposed.layers) {
    Offset most = 0;
    for (Index i = 0; i < layer.weights.rows; ++i) most = std::max(most, layer.weights.degree(i));
    degrees.push_back(most);
  }
  return degrees;
}

}  // namespace

SpgemmEngine::SpgemmEngine(const Plan& plan, const EngineOptions& options, SpgemmPolicy policy)
    : policy_(policy),
      plan_(with_distinct_inputs(plan)),
      transposed_(turned(plan_, lifted_)),
      max_degree_(max_degrees(transposed_)),
      stream_(stream_on(options)),
      workspace_limit_(workspace_share(options)),
      product_limit_(std::min<Offset>(kMaxProducts, workspace_limit_ / kBytesPerProduct)),
      layers_(transposed_, kFormat, options, stream_),
      product_(policy.keep_workspace, stream_),
      activation_(activation_of(plan_, options.may_overflow)),
      rows_(plan_, options.may_overflow, stream_),
      lifted_indices_(policy.keep_workspace, stream_),
      lifted_values_(policy.keep_workspace, stream_) {}

void SpgemmEngine::load(const ImageSet& images) {
  images_.load(images.is_bits() ? images : ImageSet{with_distinct_columns(images.sparse())}, stream_);
  const Index count = images.images();
  const std::size_t size = std::size_t{count} * std::max(plan_.max_width(), images.neurons());
  for (Activations* activations : {&y_, &next_}) {
    activations->offsets.reserve(std::size_t{count} + 1, stream_);
    activations->indices.reserve(size, stream_);
    activations->values.reserve(size, stream_);
  }
  counts_.reserve(std::size_t{count} + 1, stream_);
  local_offsets_.reserve(std::size_t{count} + 1, stream_);
  std::size_t bytes = 0;
  scan_counts(nullptr, bytes, counts_.data(), count, 0, y_.offsets.data(), stream_);
  scratch_.reserve(bytes, stream_);
  rows_.load(count);
  reset();
}

void SpgemmEngine::reset() {
  rows_.reset();
  width_ = images_.neurons();
  offsets_.assign(std::size_t{images_.images()} + 1, 0);
  next_offsets_.assign(offsets_.size(), 0);
  count_entries(images_, counts_.data(), stream_);
  scan_into(y_, 0, images_.images(), 0);
  std::swap(offsets_, next_offsets_);
  store_images(images_, y_.rows(), rows_.flags(), stream_);
  rows_.retire(0);
  if (rows_.may_retire(0)) drop_retired();
  check(cudaStreamSynchronize(stream_));  // trials begin with an idle device
}

Index SpgemmEngine::advance(Index first, Index until) {
  for (Index number = first; number < until; ++number) run_layer(number);
  return until;
}

void SpgemmEngine::run_layer(Index number) {
  width_ = plan_.layers[number].outputs();
  const Index rows = rows_.rows();
  if (rows == 0) return;
  const DeviceLayer weights = layers_.layer(number);
  next_offsets_.front() = 0;
  for (Index first = 0; first < rows;) {
    const Index count = std::min(chunk_rows(first, number), rows - first);
    if (run_chunk(first, count, number, weights, next_offsets_[first])) {
      first += count;
    } else {
      if (count == 1)
        throw DeviceError(fmt::format("{}: layer {}: the products of one image are too many for cuSPARSE",
                                      policy_.variant, number + 1));
      product_limit_ = std::max<Offset>(product_limit_ / 2, 1);
    }
  }
  std::swap(y_, next_);
  std::swap(offsets_, next_offsets_);
  rows_.retire(number + 1);
  if (rows_.looks_for_duplicates(number + 1)) retire_duplicates();
  if (rows_.may_retire(number + 1)) drop_retired();
}

/// The number of rows, at least one, with at most product_limit_ products. A row has at most one per edge.
Index SpgemmEngine::chunk_rows(Index first, Index number) const {
  const Offset edges = transposed_.layers[number].weights.entries();
  const Offset appended = lifted_[number] ? 1 : 0;
  Offset products = 0;
  Index end = first;
  for (; end < rows_.rows(); ++end) {
    const Offset entries = offsets_[std::size_t{end} + 1] - offsets_[end] + appended;
    products += std::min(edges, entries * max_degree_[number]);
    if (products > product_limit_ && end > first) break;
  }
  return end - first;
}

/// Rows first .. first+count-1 of y_ in cuSPARSE's form.
SparseOperand SpgemmEngine::operand(Index first, Index count, const DeviceLayer& weights, bool lifted) {
  const Offset begin = offsets_[first];
  const Offset entries = offsets_[std::size_t{first} + count] - begin;
  SparseOperand rows{count, weights.outputs, entries, {local_offsets_.data(), nullptr, nullptr}};
  if (!lifted) {
    localize(y_.offsets.data() + first, count, local_offsets_.data(), stream_);
    rows.data.indices = y_.indices.data() + begin;
    rows.data.values = y_.values.data() + begin;
    return rows;
  }
  rows.entries += count;
  rows.data.indices = static_cast<Index*>(lifted_indices_.take(rows.entries * sizeof(Index)));
  rows.data.values = static_cast<float*>(lifted_values_.take(rows.entries * sizeof(float)));
  CsrRows<Offset> from = y_.rows();
  from.offsets += first;
  append_ones(from, count, weights.outputs - 1, {local_offsets_.data(), rows.data.indices, rows.data.values}, stream_);
  return rows;
}

/// Computes one layer for rows first .. first+count-1 of y_, and appends to next_, which has `base` entries.
bool SpgemmEngine::run_chunk(Index first, Index count, Index number, const DeviceLayer& weights, Offset base) {
  const SparseOperand left = operand(first, count, weights, lifted_[number]);
  CsrRows<std::uint32_t> products{local_offsets_.data(), nullptr, nullptr};
  if (left.entries > 0 && weights.edges > 0) {
    const SparseOperand right{
        weights.outputs,
        weights.inputs,
        weights.edges,
        {weights.offsets, const_cast<Index*>(weights.indices), const_cast<float*>(weights.values)}};
    // One image cannot be split, so it may use all free memory.
    const std::size_t limit = count == 1 ? std::numeric_limits<std::size_t>::max() : workspace_limit_;
    if (!product_.multiply(left, right, limit)) return false;
    products = product_.result();
  } else {
    check(cudaMemsetAsync(local_offsets_.data(), 0, (std::size_t{count} + 1) * sizeof(std::uint32_t), stream_));
  }
  const SparseActivation step = activation(number, weights);
  count_products(products, count, step, counts_.data(), rows_.flags() + first, stream_);
  scan_into(next_, first, count, base);
  CsrRows<Offset> target = next_.rows();
  target.offsets += first;
  store_products(products, count, step, target, stream_);
  product_.release();
  lifted_indices_.done();
  lifted_values_.done();
  return true;
}

void SpgemmEngine::retire_duplicates() {
  rows_.retire_duplicates([&](std::uint64_t* hashes) { hash_rows(y_.rows(), rows_.rows(), hashes, stream_); },
                          [&](Index* heads) { compare_rows(y_.rows(), rows_.rows(), heads, stream_); });
}

/// Offsets of `count` rows of `target` from `first` on, from counts_, on the device and in next_offsets_. Waits.
void SpgemmEngine::scan_into(Activations& target, Index first, Index count, Offset base) {
  check(cudaMemsetAsync(counts_.data() + count, 0, sizeof(std::uint32_t), stream_));
  std::size_t bytes = scratch_.bytes();
  scan_counts(scratch_.data(), bytes, counts_.data(), count, base, target.offsets.data() + first, stream_);
  check(cudaMemcpyAsync(next_offsets_.data() + first, target.offsets.data() + first,
                        (std::size_t{count} + 1) * sizeof(Offset), cudaMemcpyDeviceToHost, stream_));
  check(cudaStreamSynchronize(stream_));
}

/// With the filter, compacts the undecided rows once more than a sixteenth have retired.
void SpgemmEngine::drop_retired() {
  if (!policy_.filter) return;
  const std::optional<Index> kept = rows_.rows_worth_moving();
  if (!kept) return;
  count_kept(y_.offsets.data(), rows_.kept(), *kept, counts_.data(), stream_);
  scan_into(next_, 0, *kept, 0);
  gather_rows(y_.rows(), rows_.kept(), *kept, next_.rows(), stream_);
  std::swap(y_, next_);
  std::swap(offsets_, next_offsets_);
  rows_.compact(*kept);
}

SparseActivation SpgemmEngine::activation(Index number, const DeviceLayer& weights) const {
  SparseActivation step;
  step.layer = weights;
  step.outputs = plan_.layers[number].outputs();
  step.activation = activation_;
  step.error_bound = error_bound_of(plan_, number);
  step.max_bias = static_cast<float>(transposed_.layers[number].bias.max());
  step.filter = policy_.filter;
  return step;
}

std::vector<double> SpgemmEngine::activations() {
  const Index rows = rows_.rows();
  const Offset entries = offsets_[rows];
  std::vector<Index> indices(entries);
  std::vector<float> values(entries);
  if (entries > 0) {
    check(cudaMemcpyAsync(indices.data(), y_.indices.data(), entries * sizeof(Index), cudaMemcpyDeviceToHost, stream_));
    check(cudaMemcpyAsync(values.data(), y_.values.data(), entries * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }
  check(cudaStreamSynchronize(stream_));
  std::vector<double> active(std::size_t{rows} * width_, 0.0);
  for (std::size_t row = 0; row < rows; ++row)
    for (Offset k = offsets_[row]; k < offsets_[row + 1]; ++k) active[row * width_ + indices[k]] = values[k];
  return rows_.fill_retired(width_, active);
}

Support SpgemmEngine::support(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                              std::string_view variant) {
  if (std::string why_not = reason_not_to_stream(plan, variant); !why_not.empty())
    return {.why_not = std::move(why_not)};
  const Index images = batch.images;
  const std::size_t matrix = std::size_t{images} * plan.max_width() * (sizeof(Index) + sizeof(float));
  const std::size_t offsets = (std::size_t{images} + 1) * (2 * sizeof(Offset) + 2 * sizeof(std::uint32_t));
  // At most two workspaces, and the result, which has at most their size.
  return {.why_not = reason_against_library(plan, variant),
          .working_bytes = 2 * matrix + offsets + 2 * workspace_share(options) +
                           ActiveRows::device_bytes(plan, images) + DeviceImages::device_bytes(plan, images) +
                           LayerSource::device_bytes(plan, kFormat, options)};
}

}  // namespace spdnn::cuda
