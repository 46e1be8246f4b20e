#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cluster/communicator.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/node_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "inference/run/work.hpp"
#include "plan/image_facts.hpp"

namespace spdnn {

/// The facts about the images of all ranks, on each of them.
ImageFacts facts_on_ranks(Communicator& ranks, const ImageSet& mine);

/// The images of a run. Each rank has its share by images_dealt_to(), a single process all of them. All ranks call the
/// functions that take `ranks` together.
class RunImages {
 public:
  RunImages() = default;
  RunImages(Communicator& ranks, ReadImages read);

  /// The facts about the images of all ranks.
  const ImageFacts& facts() const { return facts_; }
  /// This rank's own; none after share_on_nodes().
  const ImageSet& mine() const { return mine_; }
  /// Images of all ranks without a non-zero.
  Index empty() const { return empty_; }
  /// This rank's own; after share_on_nodes() those that it may take.
  Work work(Communicator& ranks) const;
  /// Puts the images of a node's ranks into one memory, of which these take some at a time. Returns, on all ranks, why
  /// that cannot be, or nothing.
  std::string share_on_nodes(Communicator& ranks);
  /// This rank's part of some images, the root's `ids`, ascending, which are dealt anew: the places among these of its
  /// own are images_dealt_to(ids.size(), ...).
  Work deal(Communicator& ranks, std::span<const Index> ids) const;
  /// On the root, image_digest() of all images; empty elsewhere.
  std::optional<std::uint64_t> binary_digest(Communicator& ranks) const;
  /// On the root, a digest of all images: image_digest() if there is one.
  std::uint64_t digest(Communicator& ranks) const;

 private:
  Owners owners(Communicator& ranks) const { return dealt_owners(facts_.images, ranks.place().ranks); }
  ImageSet in_blocks(Communicator& ranks) const;
  ImageSet dealt() const { return node_ ? node_->given() : mine_; }

  ImageSet mine_;  ///< none once they are the node's
  std::shared_ptr<NodeImages> node_;
  ImageFacts facts_;
  Index empty_ = 0;
};

}  // namespace spdnn
