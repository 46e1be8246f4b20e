#include "engines/cuda/layer_source.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"
#include "engines/cuda/device.hpp"
#include "engines/cuda/staging.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t kAlignment = 256;

/// Where the parts of a layer lie in its block of memory, in bytes.
struct BlockLayout {
  bool offsets32 = true;
  bool indices16 = false;
  bool values = false;
  bool biases = false;
  std::size_t indices_at = 0;
  std::size_t values_at = 0;
  std::size_t biases_at = 0;
  std::size_t bytes = 0;
};

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

BlockLayout layout_of(const Layer& layer, LayerFormat format) {
  const CsrMatrix& weights = layer.weights;
  BlockLayout layout;
  layout.offsets32 = weights.entries() <= std::numeric_limits<std::uint32_t>::max();
  layout.indices16 = format.indices16 && weights.cols <= (Index{1} << 16U);
  layout.values = format.values || !weights.uniform();
  layout.biases = !layer.bias.values.empty();
  layout.indices_at =
      aligned((std::size_t{weights.rows} + 1) * (layout.offsets32 ? sizeof(std::uint32_t) : sizeof(Offset)));
  layout.values_at =
      layout.indices_at + aligned(weights.entries() * (layout.indices16 ? sizeof(std::uint16_t) : sizeof(Index)));
  layout.biases_at = layout.values_at + (layout.values ? aligned(weights.entries() * sizeof(float)) : 0);
  layout.bytes = layout.biases_at + aligned(layer.bias.values.size() * sizeof(float));
  return layout;
}

/// One of `count` nearly equal parts of every array of a layer: what one thread packs.
struct Share {
  std::size_t number = 0;
  std::size_t count = 1;
  std::size_t begin(std::size_t size) const { return size * number / count; }
  std::size_t end(std::size_t size) const { return size * (number + 1) / count; }
};

template <class To, class From>
void convert(std::byte* block, std::size_t at, const Array<From>& from, Share share) {
  To* to = reinterpret_cast<To*>(block + at) + share.begin(from.size());
  const From* const first = from.begin() + share.begin(from.size());
  const From* const last = from.begin() + share.end(from.size());
  if constexpr (std::is_same_v<To, From>)
    std::copy(first, last, to);
  else
    std::transform(first, last, to, [](From value) { return static_cast<To>(value); });
}

void pack(const Layer& layer, const BlockLayout& layout, std::byte* block, Share share = {}) {
  const CsrMatrix& weights = layer.weights;
  if (layout.offsets32)
    convert<std::uint32_t>(block, 0, weights.offsets, share);
  else
    convert<Offset>(block, 0, weights.offsets, share);
  if (layout.indices16)
    convert<std::uint16_t>(block, layout.indices_at, weights.indices, share);
  else
    convert<Index>(block, layout.indices_at, weights.indices, share);
  if (layout.values && weights.uniform()) {
    float* const values = reinterpret_cast<float*>(block + layout.values_at);
    std::fill(values + share.begin(weights.entries()), values + share.end(weights.entries()), weights.value);
  } else if (layout.values) {
    convert<float>(block, layout.values_at, weights.values, share);
  }
  if (layout.biases) convert<float>(block, layout.biases_at, layer.bias.values, share);
}

/// A layer's place in what is packed at a time.
struct Packing {
  const Layer* layer = nullptr;
  BlockLayout layout;
  std::size_t start = 0;
};

/// Packs layers behind one another, each in shares of half a megabyte on as many threads.
void pack_all(const std::vector<Packing>& group, std::byte* to) {
  constexpr std::size_t kShareBytes = std::size_t{1} << 19U;
  std::vector<std::pair<const Packing*, Share>> jobs;
  for (const Packing& packing : group) {
    const std::size_t count = packing.layout.bytes / kShareBytes + 1;
    for (std::size_t number = 0; number < count; ++number) jobs.push_back({&packing, {number, count}});
  }
  parallel_for(jobs.size(), [&](std::size_t i) {
    const auto& [packing, share] = jobs[i];
    pack(*packing->layer, packing->layout, to + packing->start, share);
  });
}

DeviceLayer view(const Layer& layer, const BlockLayout& layout, const std::byte* block) {
  DeviceLayer view;
  view.inputs = layer.inputs();
  view.outputs = layer.outputs();
  view.edges = layer.weights.entries();
  if (layout.offsets32)
    view.offsets = reinterpret_cast<const std::uint32_t*>(block);
  else
    view.offsets64 = reinterpret_cast<const Offset*>(block);
  if (layout.indices16)
    view.indices16 = reinterpret_cast<const std::uint16_t*>(block + layout.indices_at);
  else
    view.indices = reinterpret_cast<const Index*>(block + layout.indices_at);
  if (layout.values) view.values = reinterpret_cast<const float*>(block + layout.values_at);
  view.value = layer.weights.value;
  if (layout.biases) view.biases = reinterpret_cast<const float*>(block + layout.biases_at);
  view.bias = static_cast<float>(layer.bias.uniform);
  return view;
}

struct PlanBytes {
  std::size_t all = 0;
  std::size_t largest = 0;
};

PlanBytes plan_bytes(const Plan& plan, LayerFormat format) {
  PlanBytes bytes;
  for (const Layer& layer : plan.layers) {
    const std::size_t layer_bytes = layout_of(layer, format).bytes;
    bytes.all += layer_bytes;
    bytes.largest = std::max(bytes.largest, layer_bytes);
  }
  return bytes;
}

}  // namespace

Activation activation_of(const Plan& plan) {
  Activation activation;
  activation.cap = plan.cap ? static_cast<float>(*plan.cap) : std::numeric_limits<float>::infinity();
  activation.everywhere = plan.bias_rule == BiasRule::everywhere;
  return activation;
}

float error_bound_of(const Plan& plan, Index number) {
  if (!plan.passes.merge) return 0.0F;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return std::nextafter(static_cast<float>(plan.error_bounds.at(number)), kInfinity);
}

bool LayerSource::fits(const Plan& plan, LayerFormat format, const EngineOptions& options) {
  return plan_bytes(plan, format).all <= memory_budget(options) / 2;
}

std::size_t LayerSource::device_bytes(const Plan& plan, LayerFormat format, const EngineOptions& options) {
  const PlanBytes bytes = plan_bytes(plan, format);
  return fits(plan, format, options) ? bytes.all + plan.depth() * sizeof(DeviceLayer) : 2 * bytes.largest;
}

LayerSource::LayerSource(const Plan& plan, LayerFormat format, const EngineOptions& options, cudaStream_t stream)
    : plan_(plan),
      format_(format),
      device_(options.device),
      stream_(stream),
      resident_(fits(plan, format, options)),
      copy_stream_(make_stream()) {
  if (resident_) {
    upload_all();
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

/// As many layers at a time as fill a staging buffer.
void LayerSource::upload_all() {
  memory_ = DeviceBuffer<std::byte>(plan_bytes(plan_, format_).all, stream_);
  Staging staging;
  std::size_t group_at = 0;
  for (Index first = 0; first < plan_.depth();) {
    std::vector<Packing> group;
    std::size_t group_bytes = 0;
    Index end = first;
    for (; end < plan_.depth(); ++end) {
      const BlockLayout layout = layout_of(plan_.layers[end], format_);
      if (end > first && group_bytes + layout.bytes > Staging::kPieceBytes) break;
      group.push_back({&plan_.layers[end], layout, group_bytes});
      layers_.push_back(view(plan_.layers[end], layout, memory_.data() + group_at + group_bytes));
      group_bytes += layout.bytes;
    }
    staging.put(
        memory_.data() + group_at, group_bytes, [&](std::byte* piece) { pack_all(group, piece); }, stream_);
    group_at += group_bytes;
    first = end;
  }
  staging.upload(device_table_, layers_, stream_);
}

const std::vector<DeviceLayer>& LayerSource::resident_layers() const {
  if (!resident_) throw std::logic_error("LayerSource: the layers are streamed");
  return layers_;
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
  if (slots_[1 - current_].layer != after && after != k)
    next_ = std::async(std::launch::async, [this, after, other = 1 - current_] { fetch(after, other); });
  const Layer& source = plan_.layers[k];
  return view(source, layout_of(source, format_), slot.device.data());
}

void LayerSource::fetch(Index k, std::size_t number) {
  check(cudaSetDevice(device_));  // this may be a thread of its own
  Slot& slot = slots_[number];
  slot.layer.reset();
  const Layer& source = plan_.layers[k];
  const BlockLayout layout = layout_of(source, format_);
  check(cudaEventSynchronize(slot.copied));
  pack(source, layout, slot.staging.data());
  check(cudaStreamWaitEvent(copy_stream_, slot.released));
  check(cudaMemcpyAsync(slot.device.data(), slot.staging.data(), layout.bytes, cudaMemcpyHostToDevice, copy_stream_));
  check(cudaEventRecord(slot.copied, copy_stream_));
  slot.layer = k;
}

}  // namespace spdnn::cuda
