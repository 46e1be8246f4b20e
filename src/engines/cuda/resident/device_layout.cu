#include <algorithm>

#include "engines/cuda/resident/device_layout.cuh"
#include "engines/cuda/resident/phase.cuh"
#include "engines/cuda/runtime/staging.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda::resident {

namespace {

/// The part of a block's shared memory that the driver and the kernel's variables use.
constexpr std::size_t kSharedReserve = 1280;
static_assert(sizeof(Scratch) <= kSharedReserve - 1024, "the driver takes 1 KiB per block");

/// Dynamic shared memory that a block of the shape may have.
std::size_t shared_limit(const ResidentShape& shape, const cudaDeviceProp& device) {
  const std::size_t share = device.sharedMemPerMultiprocessor / shape.blocks;
  return std::min<std::size_t>(share, device.sharedMemPerBlockOptin + kSharedReserve - 256) - kSharedReserve;
}

}  // namespace

bool fits_as(const Plan& plan, const Instance& instance, const cudaDeviceProp& device, bool from_bits) {
  return fits_tile(plan, instance.shape.tile, shared_limit(instance.shape, device), from_bits);
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
  const Index slots = slots_for(plan, shape_.tile, shared_limit(shape_, device), from_bits);
  const ResidentLayout layout = lay_out(plan, shape_.tile, slots, from_bits, shape_.also_uneven);
  upload(layout, plan, stream);
  shared_bytes_ = tile_bytes(plan, layout);
  const Kernels& kernels = layout.uneven ? instance.uneven : instance.even;
  kernel_ = layout.values ? kernels.values : kernels.uniform;
  prepare_launch(device);
  reads_ = layout.reads;
}

void DeviceLayout::upload(const ResidentLayout& layout, const Plan& plan, cudaStream_t stream) {
  const std::size_t words = layout.chunk_stream.size();
  const std::size_t spare = spare_chunk_words(layout);
  chunk_stream_ = DeviceBuffer<std::uint32_t>(words + spare, stream);
  check(cudaMemsetAsync(chunk_stream_.data() + words, 0, spare * sizeof(std::uint32_t), stream));
  Staging staging;
  staging.copy(chunk_stream_.data(), layout.chunk_stream.data(), words * sizeof(std::uint32_t), stream);
  staging.upload(starts_, layout.starts, stream);
  staging.upload(rounds_, layout.rounds, stream);
  staging.upload(splits_, layout.splits, stream);
  staging.upload(targets_, layout.targets, stream);
  staging.upload(biases_, layout.biases, stream);
  staging.upload(replicas_, layout.replicas, stream);
  staging.upload(layers_, layer_infos(plan), stream);
  view_ = view_of(plan, layout);
  view_.chunk_stream = chunk_stream_.data();
  view_.starts = starts_.data();
  view_.rounds = rounds_.data();
  view_.splits = splits_.data();
  view_.targets = targets_.data();
  view_.biases = biases_.data();
  view_.replicas = replicas_.data();
  view_.layers = layers_.data();
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
