#pragma once

#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/parcel.hpp"

namespace spdnn {

// Values from rank to rank, on top of the communicator's bytes. Each type has a function fields(); see parcel.hpp.

/// The bytes of the root's vector, on all ranks.
void broadcast_bytes(Communicator& ranks, std::vector<std::byte>& bytes);
void send_parcel(Communicator& ranks, const Parcel& parcel, int to);
/// What was sent; the arrays in memory of this rank's own.
struct ReceivedParcel {
  std::vector<std::byte> description;
  std::shared_ptr<const std::byte> arrays;
};
ReceivedParcel receive_parcel(Communicator& ranks, int from);

/// The root's value, on all ranks. For small values; see shared_plan.hpp for large ones.
template <class T>
T broadcast(Communicator& ranks, const T& value) {
  if (ranks.is_alone()) return value;
  std::vector<std::byte> bytes;
  if (ranks.is_root()) bytes = pack(value).description;
  broadcast_bytes(ranks, bytes);
  return unpack<T>(bytes);
}

template <class T>
void send(Communicator& ranks, const T& value, int to) {
  send_parcel(ranks, pack(value), to);
}

template <class T>
T receive(Communicator& ranks, int from) {
  const ReceivedParcel parcel = receive_parcel(ranks, from);
  return unpack<T>(parcel.description, parcel.arrays);
}

/// The values of all ranks, by rank, on the root; elsewhere nothing.
template <class T>
std::vector<T> gather(Communicator& ranks, const T& mine) {
  if (!ranks.is_root()) {
    send(ranks, mine, 0);
    return {};
  }
  std::vector<T> all{mine};
  for (int rank = 1; rank < ranks.place().ranks; ++rank) all.push_back(receive<T>(ranks, rank));
  return all;
}

}  // namespace spdnn
