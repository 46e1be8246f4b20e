#include "engines/cuda/staging.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/parallel.hpp"

namespace spdnn::cuda {

namespace {

/// One core copies at some 10 GB/s, PCIe takes five times that.
void parallel_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20U;
  const std::size_t parts = std::clamp<std::size_t>(bytes / kWorthAThread, 1, static_cast<std::size_t>(host_threads()));
  parallel_ranges(bytes, parts, [&](auto, std::size_t begin, std::size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

}  // namespace

Staging::Staging(std::size_t piece_bytes) {
  for (auto& piece : pieces_) piece = PinnedBuffer<std::byte>(piece_bytes);
  for (auto& event : copied_) event = make_event();
}

Staging::~Staging() {
  for (const Event& event : copied_)
    if (event) cudaEventSynchronize(event);  // page-locked memory must outlive the copies from it
}

void Staging::copy(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(bytes - done, piece_bytes());
    put(
        static_cast<std::byte*>(device) + done, piece,
        [&](std::byte* to) { parallel_copy(to, static_cast<const std::byte*>(host) + done, piece); }, stream);
    done += piece;
  }
}

void Staging::put(void* device, std::size_t bytes, const std::function<void(std::byte*)>& fill, cudaStream_t stream) {
  if (bytes > piece_bytes()) throw std::logic_error("Staging::put: more than a piece");
  const auto piece = static_cast<std::size_t>(next_);
  next_ = 1 - next_;
  check(cudaEventSynchronize(copied_[piece]));
  fill(pieces_[piece].data());
  if (bytes > 0) check(cudaMemcpyAsync(device, pieces_[piece].data(), bytes, cudaMemcpyHostToDevice, stream));
  check(cudaEventRecord(copied_[piece], stream));
}

}  // namespace spdnn::cuda
