#include "engines/cuda/resident/run_state.hpp"

#include <algorithm>

#include "engines/cuda/retire/outcome.hpp"

namespace spdnn::cuda::resident {

void RunState::reserve(Index images, std::size_t tiles, Index depth, cudaStream_t stream) {
  images_ = images;
  const std::size_t words = (std::size_t{images} + 31) / 32;
  at_ = {};
  at_.counts = sizeof(Control) + sizeof(Control) % 8;
  at_.categories = at_.counts + depth * sizeof(LayerCounters);
  at_.borderline = at_.categories + words * sizeof(std::uint32_t);
  at_.results_end = at_.borderline + words * sizeof(std::uint32_t);
  at_.progress = at_.results_end;
  at_.retired = at_.progress + tiles * sizeof(Index);
  at_.end = at_.retired + tiles * sizeof(std::uint32_t);
  device_.reserve(at_.end, stream);
  host_ = PinnedBuffer<std::byte>(at_.end);
  start_ = PinnedBuffer<std::byte>(at_.end);
  std::fill_n(start_.data(), at_.end, std::byte{0});
  Control& control = *reinterpret_cast<Control*>(start_.data());
  control.images = images;
  control.epoch = 1;
}

void RunState::begin(cudaStream_t stream) {
  check(cudaMemcpyAsync(device_.data(), start_.data(), at_.end, cudaMemcpyHostToDevice, stream));
}

void RunState::fetch(cudaStream_t stream) {
  check(cudaMemcpyAsync(host_.data(), device_.data(), at_.results_end, cudaMemcpyDeviceToHost, stream));
}

void RunState::attach(BatchView& batch) const {
  batch.control = device<Control>(0);
  batch.counts = device<LayerCounters>(at_.counts);
  batch.categories = device<std::uint32_t>(at_.categories);
  batch.borderline = device<std::uint32_t>(at_.borderline);
  batch.progress = device<Index>(at_.progress);
  batch.retired = device<std::uint32_t>(at_.retired);
}

std::vector<Index> RunState::images_at(std::size_t offset) const {
  return images_of(reinterpret_cast<const std::uint32_t*>(host_.data() + offset), images_);
}

}  // namespace spdnn::cuda::resident
