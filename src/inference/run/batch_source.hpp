#pragma once

#include "cluster/partition.hpp"

namespace spdnn {

/// Batches of images that several processes have together: each takes the next one when it is done with its last, so
/// that a process which is slower, or has images that cost more, takes fewer.
class BatchSource {
 public:
  /// How many images a process wants at a time.
  struct Wish {
    Index least = 1;  ///< with fewer its processors would idle
    Index most = 0;   ///< that its memory takes
  };

  virtual ~BatchSource() = default;
  /// Images in the largest batch.
  virtual Index largest(Index least) const = 0;
  /// The next batch, smaller as fewer images are left; without images at the end.
  virtual ImageRange take(const Wish& wish) = 0;
  /// In place of take(), for engines that share images (SharingEngine): the number of the next of `parts` equal parts,
  /// or a larger one at the end.
  virtual Index take_part(Index parts) = 0;
  /// Begins a run on these images: all processes call it before any of them takes a batch.
  virtual void restart() = 0;
  /// Processes that have these images in one memory.
  virtual int sharers() const = 0;
};

}  // namespace spdnn
