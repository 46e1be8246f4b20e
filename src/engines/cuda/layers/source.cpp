#include "engines/cuda/layers/source.hpp"

#include <algorithm>

#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/staging.hpp"

namespace spdnn::cuda {

namespace {

struct PlanBytes {
  std::size_t all = 0;
  std::size_t largest = 0;
};

PlanBytes plan_bytes(const Plan& plan, LayerFormat format) {
  PlanBytes bytes;
  for (Index k = 0; k < plan.depth(); ++k) {
    const std::size_t layer_bytes = layout_of(plan.shape(k), format).bytes;
    bytes.all += layer_bytes;
    bytes.largest = std::max(bytes.largest, layer_bytes);
  }
  return bytes;
}

}  // namespace

bool LayerSource::fits(const Plan& plan, LayerFormat format, const EngineOptions& options) {
  return plan_bytes(plan, format).all <= memory_budget(options) / 2;
}

std::size_t LayerSource::device_bytes(const Plan& plan, LayerFormat format, const EngineOptions& options) {
  const PlanBytes bytes = plan_bytes(plan, format);
  return fits(plan, format, options) ? bytes.all : 2 * bytes.largest;
}

LayerSource::LayerSource(const Plan& plan, LayerFormat format, const EngineOptions& options, cudaStream_t stream,
                         LayerCompanion* companion)
    : plan_(plan),
      format_(format),
      device_(options.device),
      stream_(stream),
      companion_(companion),
      resident_(fits(plan, format, options)),
      copy_stream_(make_stream()) {
  read_ahead_.emplace(plan);
  if (resident_) {
    upload_all();
    read_ahead_.reset();
    return;
  }
  const std::size_t largest = plan_bytes(plan, format).largest;
  for (Slot& slot : slots_) {
    slot.device = DeviceBuffer<std::byte>(largest, stream);
    slot.staging = PinnedBuffer<std::byte>(largest);
    slot.copied = make_event();
    slot.released = make_event();
    check(cudaEventRecord(slot.released, stream));  // the copies come after the allocation
  }
}

LayerSource::~LayerSource() {
  if (next_.valid()) next_.wait();
  if (copy_stream_) cudaStreamSynchronize(copy_stream_);
}

void LayerSource::upload_all() {
  memory_ = DeviceBuffer<std::byte>(plan_bytes(plan_, format_).all, stream_);
  Staging staging;
  if (!plan_.streamed) upload_blocks(plan_.layers, format_, memory_.data(), staging, stream_);
  std::size_t at = 0;
  for (Index k = 0; k < plan_.depth(); ++k) {
    const Layer layer = read_ahead_->layer(k);
    const LayerShape shape = plan_.shape(k);
    const LayerLayout layout = layout_of(shape, format_);
    if (plan_.streamed) upload_blocks({&layer, 1}, format_, memory_.data() + at, staging, stream_);
    if (companion_ != nullptr) companion_->add(layer);
    layers_.push_back(view(shape, layout, memory_.data() + at));
    at += layout.bytes;
  }
}

DeviceLayer LayerSource::layer(Index k) {
  if (resident_) return layers_.at(k);
  if (next_.valid()) next_.get();
  // All work on the current layer has been enqueued: the copy after the next may overwrite it once that work is done.
  if (slots_[current_].layer) check(cudaEventRecord(slots_[current_].released, stream_));
  if (slots_[current_].layer != k) {
    current_ = 1 - current_;
    if (slots_[current_].layer != k) fetch(k, current_);
  }
  Slot& slot = slots_[current_];
  check(cudaStreamWaitEvent(stream_, slot.copied));
  const Index after = (k + 1) % plan_.depth();
  // Deferred to get() if the system provides no thread.
  constexpr auto kPolicy = std::launch::async | std::launch::deferred;
  if (slots_[1 - current_].layer != after && after != k)
    next_ = std::async(kPolicy, [this, after, other = 1 - current_] { fetch(after, other); });
  const LayerShape shape = plan_.shape(k);
  return view(shape, layout_of(shape, format_), slot.device.data());
}

void LayerSource::fetch(Index k, std::size_t number) {
  check(cudaSetDevice(device_));  // this may be a separate thread
  Slot& slot = slots_[number];
  slot.layer.reset();
  const Layer source = read_ahead_->layer(k);
  const LayerLayout layout = layout_of(plan_.shape(k), format_);
  check(cudaEventSynchronize(slot.copied));
  pack(source, layout, slot.staging.data());
  check(cudaStreamWaitEvent(copy_stream_, slot.released));
  check(cudaMemcpyAsync(slot.device.data(), slot.staging.data(), layout.bytes, cudaMemcpyHostToDevice, copy_stream_));
  if (companion_ != nullptr) companion_->fetch(source, number, copy_stream_);
  check(cudaEventRecord(slot.copied, copy_stream_));
  slot.layer = k;
}

}  // namespace spdnn::cuda
