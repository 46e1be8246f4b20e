// Retires images. One thread per row; CUB's DeviceSelect makes the list of rows to keep. About ten bytes per row and
// layer, negligible compared with the activations.

#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_select.cuh>

#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/image_states.hpp"
#include "engines/overflow.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;

constexpr auto kUndecided = static_cast<std::uint8_t>(ImageState::Kind::undecided);
constexpr auto kDead = static_cast<std::uint8_t>(ImageState::Kind::dead);
constexpr auto kDuplicate = static_cast<std::uint8_t>(ImageState::Kind::duplicate);
constexpr auto kSaturated = static_cast<std::uint8_t>(ImageState::Kind::saturated);
constexpr auto kBorderline = static_cast<std::uint8_t>(ImageState::Kind::borderline);

__global__ void start_kernel(RowState all, Index* images, Index* counts) {
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row == 0) counts[0] = counts[1] = all.rows;
  if (row >= all.rows) return;
  images[row] = row;
  all.weights[row] = 1;
  all.states[row] = kUndecided;
  if (all.unsure != nullptr) all.unsure[row] = 0;
  if (all.overflow_at != nullptr) all.overflow_at[row] = kNoOverflow;
}

/// The state of an image that is provably all zero. With `merge`, if it may have been so before, the layer of its death
/// is unknown.
__device__ std::uint8_t end_of(const RowState& all, Index image) {
  return all.unsure != nullptr && all.unsure[image] != 0 ? kBorderline : kDead;
}

/// The state of an undecided image after layer `layer`: with `merge`, whether it may be all zero in the given order. An
/// image that proves to be alive was alive before, as zeros stay zeros.
__device__ void note(const RowState& all, Index image, std::uint32_t flags, Index layer) {
  if (all.unsure != nullptr) all.unsure[image] = (flags & kLives) == 0 ? 1 : 0;
  if (all.overflow_at != nullptr && (flags & kOverflowed) != 0 && all.overflow_at[image] == kNoOverflow)
    all.overflow_at[image] = layer;
}

/// `counters` is null for the inputs, which are not counted.
__global__ void retire_kernel(RowState all, bool retire_dead, bool retire_saturated, Index layer,
                              ActiveRows::Counters* counters) {
  using Reduce = cub::BlockReduce<Index, kBlock>;
  __shared__ typename Reduce::TempStorage shared[2];
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  Index lives = 0;
  Index retires = 0;
  if (row < all.rows) {
    std::uint8_t state = kDead;
    if (row < *all.row_count) {
      const Index image = all.images[row];
      state = all.states[image];
      if (state == kUndecided) {
        const std::uint32_t flags = all.flags[row];
        if ((flags & kMayLive) != 0) lives = all.weights[row];
        if (retire_dead && (flags & kMayLive) == 0) state = end_of(all, image);
        if (state == kBorderline) atomicAdd(&counters->given_up, static_cast<unsigned long long>(all.weights[row]));
        if (counters != nullptr) note(all, image, flags, layer);
        if (retire_saturated && (flags & kMayMiss) == 0) {
          state = kSaturated;
          retires = all.weights[row];
        }
        if (state != kUndecided) all.states[image] = state;
      }
    }
    all.keep[row] = state == kUndecided ? 1 : 0;
  }
  const Index live_images = Reduce(shared[0]).Sum(lives);
  const Index saturated_images = Reduce(shared[1]).Sum(retires);
  if (threadIdx.x != 0 || counters == nullptr) return;
  if (live_images > 0) atomicAdd(&counters->live, static_cast<unsigned long long>(live_images));
  if (saturated_images > 0) atomicAdd(&counters->saturated, static_cast<unsigned long long>(saturated_images));
}

/// Whether two images with equal rows will have the same result: neither has overflowed, and both may be all zero or
/// neither.
__device__ bool are_alike(const RowState& all, Index a, Index b) {
  if (all.overflow_at != nullptr && (all.overflow_at[a] != kNoOverflow || all.overflow_at[b] != kNoOverflow))
    return false;
  return all.unsure == nullptr || all.unsure[a] == all.unsure[b];
}

/// A head keeps its state and is no duplicate itself, so that no thread reads a value that another writes, except the
/// weights.
__global__ void retire_duplicates_kernel(RowState all, const Index* heads, Index* duplicate_of) {
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= *all.row_count || heads[row] == row) return;
  const Index image = all.images[row];
  const Index owner = all.images[heads[row]];
  if (all.states[image] != kUndecided || all.states[owner] != kUndecided || !are_alike(all, image, owner)) return;
  all.states[image] = kDuplicate;
  duplicate_of[image] = owner;
  all.keep[row] = 0;
  atomicAdd(all.weights + heads[row], all.weights[row]);
}

__global__ void compact_kernel(RowState all, const Index* kept, const Index* kept_count, Index* new_images,
                               std::uint32_t* new_flags, Index* new_weights, Index* rows) {
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  const Index count = *kept_count;
  if (row == 0) *rows = count;
  if (row >= count) return;
  new_images[row] = all.images[kept[row]];
  new_flags[row] = all.flags[kept[row]];
  new_weights[row] = all.weights[kept[row]];
}

/// Rows that end all zero are dead whether or not the pass is on; with `merge` the others are borderline.
__global__ void finish_kernel(const std::uint32_t* flags, const Index* images, const Index* row_count,
                              std::uint8_t undecided_end, std::uint8_t* states) {
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= *row_count || states[images[row]] != kUndecided) return;
  states[images[row]] = (flags[row] & kMayLive) == 0 ? kDead : undecided_end;
}

std::size_t select_scratch_bytes(Index rows) {
  std::size_t bytes = 0;
  check(cub::DeviceSelect::Flagged(nullptr, bytes, thrust::counting_iterator<Index>(0),
                                   static_cast<const std::uint8_t*>(nullptr), static_cast<Index*>(nullptr),
                                   static_cast<Index*>(nullptr), static_cast<std::int64_t>(rows)));
  return bytes;
}

template <class T>
std::vector<T> read_back(const DeviceBuffer<T>& from, std::size_t count, cudaStream_t stream) {
  std::vector<T> values(count);
  if (count > 0) check(cudaMemcpyAsync(values.data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return values;
}

}  // namespace

RowState ActiveRows::state() const {
  return {.flags = flags(),
          .images = images(),
          .weights = weights_[current_].data(),
          .states = states_.data(),
          .keep = keep_.data(),
          .row_count = row_count(),
          .unsure = unsure_.data(),
          .overflow_at = overflow_at_.data(),
          .rows = rows_};
}

ActiveRows::ActiveRows(const Plan& plan, bool may_overflow, cudaStream_t stream)
    : plan_(plan),
      may_overflow_(may_overflow),
      stream_(stream),
      counts_(2, stream),
      counters_(plan.depth(), stream),
      host_count_(1) {}

void ActiveRows::load(Index images, std::size_t padded) {
  loaded_ = images;
  for (auto& buffer : images_) buffer.reserve(images, stream_);
  for (auto& buffer : flags_) buffer.reserve(std::max<std::size_t>(images, padded), stream_);
  for (auto& buffer : weights_) buffer.reserve(images, stream_);
  if (plan_.passes.identical) {
    duplicate_of_.reserve(images, stream_);
    identical_.reserve(images, stream_);
  }
  if (plan_.passes.merge) unsure_.reserve(images, stream_);
  if (may_overflow_) overflow_at_.reserve(images, stream_);
  states_.reserve(images, stream_);
  keep_.reserve(images, stream_);
  kept_.reserve(images, stream_);
  scratch_.reserve(select_scratch_bytes(images), stream_);
}

void ActiveRows::reset() {
  rows_ = loaded_;
  current_ = 0;
  start_kernel<<<std::max(1U, blocks_for(rows_, kBlock)), kBlock, 0, stream_>>>(state(), images_[0].data(),
                                                                                counts_.data());
  check_launch();
  if (!counters_.empty()) check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream_));
}

bool ActiveRows::may_retire(Index layers_done) const {
  return (plan_.passes.dead && layers_done >= plan_.certificates.dead_from) ||
         (plan_.passes.saturated && plan_.cap && layers_done > 0 && layers_done >= plan_.certificates.saturated_from) ||
         looks_for_duplicates(layers_done);
}

void ActiveRows::retire(Index layers_done) {
  if (rows_ == 0) return;
  const Index width = layers_done == 0 ? plan_.inputs() : plan_.outputs(layers_done - 1);
  const bool dead = (plan_.passes.dead || plan_.passes.merge) && layers_done >= plan_.certificates.dead_from;
  const bool saturated = plan_.passes.saturated && plan_.cap && layers_done > 0 &&
                         layers_done >= plan_.certificates.saturated_from && width > 0;
  Counters* counters = layers_done == 0 ? nullptr : counters_.data() + (layers_done - 1);
  retire_kernel<<<blocks_for(rows_, kBlock), kBlock, 0, stream_>>>(state(), dead, saturated,
                                                                   counters == nullptr ? 0 : layers_done - 1, counters);
  check_launch();
}

void ActiveRows::retire_duplicates() {
  if (rows_ == 0) return;
  retire_duplicates_kernel<<<blocks_for(rows_, kBlock), kBlock, 0, stream_>>>(state(), identical_.heads(),
                                                                              duplicate_of_.data());
  check_launch();
}

Index ActiveRows::kept_rows() {
  if (rows_ == 0) return 0;
  std::size_t bytes = scratch_.bytes();
  check(cub::DeviceSelect::Flagged(scratch_.data(), bytes, thrust::counting_iterator<Index>(0), keep_.data(),
                                   kept_.data(), counts_.data() + 1, static_cast<std::int64_t>(rows_), stream_));
  check(cudaMemcpyAsync(host_count_.data(), kept_count(), sizeof(Index), cudaMemcpyDeviceToHost, stream_));
  check(cudaStreamSynchronize(stream_));
  return host_count_[0];
}

std::optional<Index> ActiveRows::rows_worth_moving(RowTiles tiles) {
  if (rows_ == 0) return std::nullopt;
  const Index kept = kept_rows();
  return moving_pays(rows_, kept, tiles) ? std::optional(kept) : std::nullopt;
}

void ActiveRows::compact(Index rows) {
  const std::size_t other = 1 - current_;
  compact_kernel<<<std::max(1U, blocks_for(rows, kBlock)), kBlock, 0, stream_>>>(
      state(), kept(), kept_count(), images_[other].data(), flags_[other].data(), weights_[other].data(),
      counts_.data());
  check_launch();
  current_ = other;
  rows_ = rows;
}

Outcome ActiveRows::outcome() {
  if (rows_ > 0) {
    const auto end =
        static_cast<std::uint8_t>(plan_.passes.merge ? ImageState::Kind::borderline : ImageState::Kind::undecided);
    finish_kernel<<<blocks_for(rows_, kBlock), kBlock, 0, stream_>>>(flags(), images(), row_count(), end,
                                                                     states_.data());
    check_launch();
  }
  const std::vector<ImageState> states = this->states();
  Outcome outcome = resolve(states);
  std::int64_t saturated = 0;
  auto borderline = static_cast<std::int64_t>(outcome.borderline.size());  // and counted after this layer
  for (const Counters& counters : read_back(counters_, plan_.depth(), stream_)) {
    borderline -= static_cast<std::int64_t>(counters.given_up);
    outcome.alive.push_back(saturated + static_cast<std::int64_t>(counters.live) - borderline);
    // Rows are counted with their duplicates, which are not computed.
    outcome.active.push_back(plan_.passes.identical ? -1
                                                    : static_cast<std::int64_t>(counters.live - counters.saturated));
    saturated += static_cast<std::int64_t>(counters.saturated);
  }
  if (may_overflow_) outcome.overflow = collect_overflow(states, read_back(overflow_at_, loaded_, stream_));
  return outcome;
}

std::vector<ImageState> ActiveRows::states() const {
  std::vector<ImageState> states(loaded_);
  const std::vector<std::uint8_t> kinds = read_back(states_, loaded_, stream_);
  const std::vector<Index> duplicate_of = read_back(duplicate_of_, plan_.passes.identical ? loaded_ : 0, stream_);
  for (std::size_t image = 0; image < states.size(); ++image) {
    states[image].kind = static_cast<ImageState::Kind>(kinds[image]);
    if (states[image].kind == ImageState::Kind::duplicate) states[image].duplicate_of = duplicate_of[image];
  }
  return states;
}

std::vector<Index> ActiveRows::image_of_rows() const {
  const std::vector<Index> counts = read_back(counts_, 1, stream_);
  return read_back(images_[current_], std::min(counts[0], rows_), stream_);
}

ImageRows ActiveRows::image_rows(Index width) const {
  const std::vector<ImageState> states = this->states();
  const std::vector<Index> images = image_of_rows();
  std::vector<Index> row_of(states.size());
  for (std::size_t row = 0; row < images.size(); ++row) row_of[images[row]] = static_cast<Index>(row);
  std::vector<Index> of_image;
  for (std::size_t image = 0; image < states.size(); ++image) {
    std::size_t owner = image;
    while (states[owner].kind == ImageState::Kind::duplicate) owner = states[owner].duplicate_of;
    const ImageState::Kind kind = states[owner].kind;
    of_image.push_back(kind == ImageState::Kind::dead        ? ImageRows::kZeros
                       : kind == ImageState::Kind::saturated ? ImageRows::kAtCap
                                                             : row_of[owner]);
  }
  return {width, width, static_cast<Index>(images.size()), static_cast<float>(plan_.cap.value_or(0)),
          std::move(of_image)};
}

std::vector<double> ActiveRows::fill_retired(Index width, const std::vector<double>& active) const {
  const ImageRows rows = image_rows(width);
  std::vector<double> all(std::size_t{rows.images()} * width, 0.0);
  for (Index image = 0; image < rows.images(); ++image)
    rows.copy(image, active.data(), all.data() + std::size_t{image} * width);
  return all;
}

std::size_t ActiveRows::device_bytes(const Plan& plan, Index images) {
  // Two lists of images, flags and weights, kept rows, first overflow; states, keep, unsure; CUB's scratch takes less
  // than one byte per row.
  const std::size_t duplicates =
      plan.passes.identical ? images * sizeof(Index) + IdenticalRows::device_bytes(images) : std::size_t{0};
  return std::size_t{images} * (8 * sizeof(Index) + 4) + duplicates + plan.depth() * sizeof(Counters) +
         (std::size_t{1} << 16U);
}

}  // namespace spdnn::cuda
