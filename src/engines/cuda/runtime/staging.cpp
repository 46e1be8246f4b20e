#include "engines/cuda/runtime/staging.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/threads/parallel.hpp"

namespace spdnn::cuda {

namespace {

/// PCIe is several times as fast as one core's copying.
void parallel_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 19U;
  const std::size_t parts = std::clamp<std::size_t>(bytes / kWorthAThread, 1, static_cast<std::size_t>(host_threads()));
  parallel_ranges(bytes, parts, [&](auto, std::size_t begin, std::size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

}  // namespace

/// Pieces that no Staging uses at the moment.
struct Staging::Idle {
  std::mutex mutex;
  std::list<Pieces> pieces;
};

/// Never destroyed: at the end of the process CUDA may be shut down first, which frees the pieces.
Staging::Idle& Staging::idle() {
  static Idle* const all = new Idle;
  return *all;
}

Staging::Staging() {
  for (auto& event : copied_) event = make_event();
  {
    const std::lock_guard lock(idle().mutex);
    auto& pieces = idle().pieces;
    if (!pieces.empty()) pieces_.splice(pieces_.begin(), pieces, pieces.begin());
  }
  if (pieces_.empty()) pieces_.emplace_back(kPieceCount * kPieceBytes);
}

Staging::~Staging() {
  for (const Event& event : copied_)
    if (event) cudaEventSynchronize(event);  // the next owner may overwrite a piece only after its copies
  const std::lock_guard lock(idle().mutex);
  idle().pieces.splice(idle().pieces.begin(), pieces_);
}

void Staging::copy(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(bytes - done, kPieceBytes);
    put(
        static_cast<std::byte*>(device) + done, piece,
        [&](std::byte* to) { parallel_copy(to, static_cast<const std::byte*>(host) + done, piece); }, stream);
    done += piece;
  }
}

void Staging::fetch(void* host, const void* device, std::size_t bytes, cudaStream_t stream) {
  const std::size_t count = (bytes + kPieceBytes - 1) / kPieceBytes;
  const auto size_of = [&](std::size_t piece) { return std::min(bytes - piece * kPieceBytes, kPieceBytes); };
  const auto place_of = [&](std::size_t piece) { return pieces_.front().data() + piece % kPieceCount * kPieceBytes; };
  std::size_t begun = 0;
  for (std::size_t done = 0; done < count; ++done) {
    for (; begun < std::min(count, done + kPieceCount); ++begun) {
      const Event& copied = copied_[begun % kPieceCount];
      check(cudaEventSynchronize(copied));
      check(cudaMemcpyAsync(place_of(begun), static_cast<const std::byte*>(device) + begun * kPieceBytes,
                            size_of(begun), cudaMemcpyDeviceToHost, stream));
      check(cudaEventRecord(copied, stream));
    }
    check(cudaEventSynchronize(copied_[done % kPieceCount]));
    parallel_copy(static_cast<std::byte*>(host) + done * kPieceBytes, place_of(done), size_of(done));
  }
}

void Staging::put(void* device, std::size_t bytes, const std::function<void(std::byte*)>& fill, cudaStream_t stream) {
  const std::size_t number = std::exchange(next_, (next_ + 1) % kPieceCount);
  std::byte* const piece = pieces_.front().data() + number * kPieceBytes;
  check(cudaEventSynchronize(copied_[number]));
  fill(piece);
  if (bytes > 0) check(cudaMemcpyAsync(device, piece, bytes, cudaMemcpyHostToDevice, stream));
  check(cudaEventRecord(copied_[number], stream));
}

}  // namespace spdnn::cuda
