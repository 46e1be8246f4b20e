#include "cluster/exchange.hpp"

namespace spdnn {

void broadcast_bytes(Communicator& ranks, std::vector<std::byte>& bytes) {
  std::size_t size = bytes.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), Communicator::Group::job);
  bytes.resize(size);
  ranks.broadcast(bytes, Communicator::Group::job);
}

void send_parcel(Communicator& ranks, const Parcel& parcel, int to) {
  std::vector<std::size_t> sizes{parcel.description.size()};
  for (const std::span<const std::byte> array : parcel.arrays) sizes.push_back(array.size());
  const std::size_t count = sizes.size();
  ranks.send(std::as_bytes(std::span(&count, 1)), to);
  ranks.send(std::as_bytes(std::span(sizes)), to);
  ranks.send(parcel.description, to);
  for (const std::span<const std::byte> array : parcel.arrays) ranks.send(array, to);
}

ReceivedParcel receive_parcel(Communicator& ranks, int from) {
  std::size_t count = 0;
  ranks.receive(std::as_writable_bytes(std::span(&count, 1)), from);
  std::vector<std::size_t> sizes(count);
  ranks.receive(std::as_writable_bytes(std::span(sizes)), from);
  ReceivedParcel parcel;
  parcel.description.resize(sizes[0]);
  ranks.receive(parcel.description, from);
  const auto array_sizes = std::span(sizes).subspan(1);
  std::size_t bytes = 0;
  for (const std::size_t size : array_sizes) bytes += aligned_in_parcel(size);
  const std::shared_ptr<std::byte> arrays = allocate_bytes(bytes);
  std::size_t begin = 0;
  for (const std::size_t size : array_sizes) {
    ranks.receive({arrays.get() + begin, size}, from);
    begin += aligned_in_parcel(size);
  }
  parcel.arrays = arrays;
  return parcel;
}

}  // namespace spdnn
