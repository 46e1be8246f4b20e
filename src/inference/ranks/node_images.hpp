#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/shared_memory.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/run/batch_source.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// A rank's contribution to its node's images; for a node, their common properties.
struct GivenImages {
  int leader = 0;  ///< of the node
  bool bits = true;
  bool uniform = true;  ///< all entries have `value`
  float value = 1;
  Index images = 0;
  Index neurons = 0;
  Offset entries = 0;  ///< not counted for bits
};

/// The images of a node's ranks in shared memory, and a counter in the same memory from which they take batches. An MPI
/// counter on one rank would not progress while that rank computes.
class NodeImages final : public BatchSource {
 public:
  /// All ranks of the job call it with theirs, `mine`, as `owners` has dealt them; each copies its own to where they
  /// belong. Null, on all ranks, if the ranks of a node cannot share memory.
  static std::shared_ptr<NodeImages> gather(Communicator& ranks, const ImageSet& mine, const Owners& owners);

  /// In the order in which they are taken, see taken_order().
  const ImageSet& images() const { return images_; }
  /// Their ids in the whole run.
  const std::vector<Index>& ids() const { return ids_; }
  /// A copy of those that this rank has given, in their order.
  ImageSet given() const { return images_.select(places_); }

  Index largest(Index least) const override;
  ImageRange take(const Wish& wish) override;
  Index take_part(Index parts) override;
  void restart() override;
  int sharers() const override { return place_.node_ranks; }

 private:
  NodeImages(Communicator& ranks, const GivenImages& all, std::vector<Index> ids, std::vector<Index> places);
  void copy_bits(Communicator& ranks, const ImageSet& mine);
  void copy_rows(Communicator& ranks, const ImageSet& mine);
  /// The number of images, or of parts, that ranks have taken beyond those with which each begins.
  std::uint64_t& counter() const { return *reinterpret_cast<std::uint64_t*>(memory_.data()); }
  /// Each rank's first batch, a quarter of an even share, so that a late rank gets as much as the others.
  Index own_part() const;
  /// The number that a rank takes of those left: half of an even share, in whole blocks.
  Index part_of(Index left, const Wish& wish) const;

  RankPlace place_;
  GivenImages all_;
  std::vector<Index> ids_;
  std::vector<Index> places_;  ///< of the images that this rank has given, among the node's
  SharedMemory memory_;
  ImageSet images_;
  ImageRange own_;       ///< the rest of this rank's first images
  Index own_parts_ = 0;  ///< that this rank has taken of its first ones
};

}  // namespace spdnn
