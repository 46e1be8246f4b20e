#include <algorithm>

#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/resident/device_layout.cuh"
#include "engines/cuda/runtime/staging.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda::resident {

namespace {

/// Slots beyond those of the layout that reads of four rows at a time may touch.
constexpr Index kSpareSlots = 3;
/// What the driver and the kernel's own variables take of a block's shared memory.
constexpr std::size_t kSharedReserve = 1280;
static_assert(sizeof(Scratch) <= kSharedReserve - 1024, "the driver takes 1 KiB a block");

/// Dynamic shared memory that a block of the shape may have.
std::size_t shared_limit(const ResidentShape& shape, const cudaDeviceProp& device) {
  const std::size_t share = device.sharedMemPerMultiprocessor / shape.blocks;
  return std::min<std::size_t>(share, device.sharedMemPerBlockOptin + kSharedReserve - 256) - kSharedReserve;
}

Index most_slots(const ResidentShape& shape, const cudaDeviceProp& device) {
  const std::size_t slots = shared_limit(shape, device) / shape.tile.slot_bytes();
  return slots <= kSpareSlots ? 0 : static_cast<Index>(std::min<std::size_t>(slots - kSpareSlots, kNoReplica - 1));
}

/// A second slot for every neuron where rows are shorter than what shared memory delivers at a time.
Index slots_for(const Plan& plan, const ResidentShape& shape, const cudaDeviceProp& device, bool from_bits) {
  const Index needed = needed_slots(plan, shape.tile, from_bits);
  const Index bank_groups = shape.tile.bank_groups();
  if (bank_groups == 1) return needed;
  return std::min(most_slots(shape, device), 2 * (needed + bank_groups));
}

std::vector<LayerInfo> layer_infos(const Plan& plan) {
  std::vector<LayerInfo> infos;
  for (Index k = 0; k < plan.depth(); ++k) {
    const Layer& layer = plan.layers[k];
    const bool plain = activation_of(plan).everywhere || layer.bias.max() <= 0;
    infos.push_back({layer.inputs(), layer.outputs(), layer.weights.value, static_cast<float>(layer.bias.uniform),
                     plan.fallback ? static_cast<float>(plan.fallback->error_bounds[k]) : 0.0F, plain});
  }
  return infos;
}

}  // namespace

bool fits_as(const Plan& plan, const Instance& instance, const cudaDeviceProp& device, bool from_bits) {
  const ResidentShape& shape = instance.shape;
  if (needed_slots(plan, shape.tile, from_bits) > most_slots(shape, device)) return false;
  if (from_bits && (plan.inputs() + std::size_t{1}) * instance.bit_bytes > shared_limit(shape, device)) return false;
  if (from_bits && !takes_bits(plan)) return false;
  return std::all_of(plan.layers.begin(), plan.layers.end(),
                     [&](const Layer& layer) { return layer.outputs() <= shape.tile.capacity(); });
}

const Instance* choose_large_tiles(const Plan& plan, const Shapes& shapes, const cudaDeviceProp& device,
                                   bool from_bits) {
  for (const Instance& instance : shapes.all.first(shapes.large))
    if (fits_as(plan, instance, device, from_bits)) return &instance;
  return nullptr;
}

const Instance* choose_small_tiles(const Plan& plan, const Shapes& shapes, const Instance& large,
                                   const cudaDeviceProp& device, bool from_bits) {
  for (const Instance& instance : shapes.all.subspan(shapes.large))
    if (instance.shape.tile.images < large.shape.tile.images && fits_as(plan, instance, device, from_bits))
      return &instance;
  return nullptr;
}

DeviceLayout::DeviceLayout(const Plan& plan, const Instance& instance, bool from_bits, const cudaDeviceProp& device,
                           cudaStream_t stream)
    : shape_(instance.shape) {
  const bool may_be_uneven = instance.uneven.uniform != nullptr;
  const ResidentLayout layout =
      lay_out(plan, shape_.tile, slots_for(plan, shape_, device, from_bits), from_bits, may_be_uneven);
  upload(layout, plan, stream);
  shared_bytes_ = std::size_t{layout.slots + kSpareSlots} * shape_.tile.slot_bytes();
  if (from_bits) shared_bytes_ = std::max(shared_bytes_, (plan.inputs() + std::size_t{1}) * instance.bit_bytes);
  const Kernels& kernels = layout.uneven ? instance.uneven : instance.even;
  kernel_ = layout.values ? kernels.values : kernels.uniform;
  prepare_launch(device);
  reads_ = layout.reads;
}

void DeviceLayout::upload(const ResidentLayout& layout, const Plan& plan, cudaStream_t stream) {
  const std::size_t spare = 4 * std::size_t{layout.chunk_units()};
  chunk_stream_ = DeviceBuffer<std::uint32_t>(layout.chunk_stream.size() + 4 * spare, stream);
  check(
      cudaMemsetAsync(chunk_stream_.data() + layout.chunk_stream.size(), 0, 4 * spare * sizeof(std::uint32_t), stream));
  Staging staging;
  staging.copy(chunk_stream_.data(), layout.chunk_stream.data(), layout.chunk_stream.size() * sizeof(std::uint32_t),
               stream);
  staging.upload(starts_, layout.starts, stream);
  staging.upload(rounds_, layout.rounds, stream);
  staging.upload(splits_, layout.splits, stream);
  staging.upload(targets_, layout.targets, stream);
  staging.upload(biases_, layout.biases, stream);
  staging.upload(replicas_, layout.replicas, stream);
  staging.upload(layers_, layer_infos(plan), stream);
  view_ = {reinterpret_cast<const uint4*>(chunk_stream_.data()),
           starts_.data(),
           rounds_.data(),
           splits_.data(),
           targets_.data(),
           biases_.data(),
           replicas_.data(),
           layers_.data(),
           plan.depth(),
           layout.width,
           layout.zero_slot,
           layout.slots,
           activation_of(plan),
           plan.passes.dead ? plan.certificates.dead_from : kPassOff,
           plan.passes.saturated && plan.cap ? plan.certificates.saturated_from : kPassOff,
           plan.passes.merge};
}

void DeviceLayout::prepare_launch(const cudaDeviceProp& device) {
  check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_limit(shape_, device))));
  check(cudaFuncSetAttribute(kernel_, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, static_cast<int>(shape_.tile.threads),
                                                      shared_bytes_));
  if (blocks == 0) throw DeviceError("the resident kernel does not fit this device");
  grid_ = static_cast<unsigned>(blocks * device.multiProcessorCount);
}

void DeviceLayout::launch(const BatchView& batch, const LaunchWindow& window, cudaStream_t stream) const {
  kernel_<<<grid_, shape_.tile.threads, shared_bytes_, stream>>>(view_, batch, window);
  check_launch();
}

}  // namespace spdnn::cuda::resident
