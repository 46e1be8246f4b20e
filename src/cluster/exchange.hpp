#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/parcel.hpp"

namespace spdnn {

// Values from rank to rank, on top of the communicator's bytes. Each type has a function fields(); see parcel.hpp.

/// A parcel in one piece of memory, which is shared with the arrays of the value that it is unpacked to: the size of
/// the description, the description and, from the next 64-byte bound on, the arrays.
struct FlatParcel {
  std::shared_ptr<std::byte> memory;
  std::size_t size = 0;  ///< a multiple of 64

  std::span<std::byte> bytes() const { return {memory.get(), size}; }
};
FlatParcel flatten(const Parcel& parcel);

template <class T>
T unpack(const FlatParcel& flat) {
  std::size_t size = 0;
  std::memcpy(&size, flat.memory.get(), sizeof size);
  const std::size_t arrays = aligned_in_parcel(sizeof size + size);
  return unpack<T>(std::span(flat.memory.get() + sizeof size, size),
                   std::shared_ptr<const std::byte>(flat.memory, flat.memory.get() + arrays));
}

/// The root's parcel, on all ranks.
FlatParcel broadcast_parcel(Communicator& ranks, FlatParcel parcel);
/// The parcels of all ranks, by rank, on the root; elsewhere nothing.
std::vector<FlatParcel> gather_parcels(Communicator& ranks, const FlatParcel& mine);

/// The root's value, on all ranks. See shared_plan.hpp for values that the ranks of a node can have together.
template <class T>
T broadcast(Communicator& ranks, const T& value) {
  if (ranks.is_alone()) return value;
  const FlatParcel parcel = broadcast_parcel(ranks, ranks.is_root() ? flatten(pack(value)) : FlatParcel{});
  return ranks.is_root() ? value : unpack<T>(parcel);
}

/// The values of all ranks, by rank, on the root; elsewhere nothing.
template <class T>
std::vector<T> gather(Communicator& ranks, const T& mine) {
  if (ranks.is_alone()) return {mine};
  std::vector<T> all;
  for (const FlatParcel& parcel : gather_parcels(ranks, flatten(pack(mine)))) all.push_back(unpack<T>(parcel));
  return all;
}

/// The values of all ranks, by rank, on all of them.
template <class T>
std::vector<T> gather_on_all(Communicator& ranks, const T& mine) {
  return broadcast(ranks, gather(ranks, mine));
}

}  // namespace spdnn
