#include "cluster/exchange.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace spdnn {

using Group = Communicator::Group;

namespace {

/// The size of a parcel and its first bytes, so that a short one takes one message; both MPI libraries send so few
/// bytes without asking the receiver first.
struct FirstMessage {
  std::size_t size = 0;
  std::array<std::byte, 2040> bytes{};

  std::size_t along() const { return std::min(size, bytes.size()); }
};

}  // namespace

FlatParcel flatten(const Parcel& parcel) {
  const std::size_t description = parcel.description.size();
  const std::size_t arrays = aligned_in_parcel(sizeof description + description);
  const std::size_t size = arrays + parcel.array_bytes;
  const std::shared_ptr<std::byte> memory = allocate_bytes(size);
  std::byte* to = memory.get();
  std::memcpy(to, &description, sizeof description);
  to = std::copy(parcel.description.begin(), parcel.description.end(), to + sizeof description);
  std::fill(to, memory.get() + arrays, std::byte{0});
  to = memory.get() + arrays;
  for (const std::span<const std::byte> array : parcel.arrays) {
    std::fill(std::copy(array.begin(), array.end(), to), to + aligned_in_parcel(array.size()), std::byte{0});
    to += aligned_in_parcel(array.size());
  }
  return {memory, size};
}

FlatParcel broadcast_parcel(Communicator& ranks, FlatParcel parcel) {
  FirstMessage first;
  if (ranks.is_root()) {
    first.size = parcel.size;
    std::copy_n(parcel.memory.get(), first.along(), first.bytes.begin());
  }
  ranks.broadcast(std::as_writable_bytes(std::span(&first, 1)), Group::job);
  if (!ranks.is_root()) {
    parcel = {allocate_bytes(first.size), first.size};
    std::copy_n(first.bytes.begin(), first.along(), parcel.memory.get());
  }
  if (first.size > first.along()) ranks.broadcast(parcel.bytes().subspan(first.along()), Group::job);
  return parcel;
}

std::vector<FlatParcel> gather_parcels(Communicator& ranks, const FlatParcel& mine) {
  const std::vector<std::size_t> sizes = ranks.gather_size(mine.size);
  const std::size_t size = std::reduce(sizes.begin(), sizes.end());
  const std::shared_ptr<std::byte> memory = allocate_bytes(size);
  ranks.gather(mine.bytes(), sizes, {memory.get(), size});
  std::vector<FlatParcel> all;
  std::size_t begin = 0;
  for (const std::size_t one : sizes) {
    all.push_back({std::shared_ptr<std::byte>(memory, memory.get() + begin), one});
    begin += one;
  }
  return all;
}

}  // namespace spdnn
