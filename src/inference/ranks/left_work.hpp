#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "cluster/communicator.hpp"
#include "inference/run/work.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// A piece of work that a rank has left, as the root knows it.
struct LeftPiece {
  int rank = 0;
  std::size_t place = 0;  ///< among the pieces of that rank
  Index layer = 0;
  std::vector<Index> ids;
  // Of its activations, where it had been begun:
  Index neurons = 0;
  Offset entries = 0;
};

/// The work that the ranks of a run have left. The activations of images that had been begun stay with the ranks that
/// have them, and come to the root part by part: it needs memory for one part at a time.
class LeftWork {
 public:
  /// The size of a part that is made of several pieces.
  static constexpr std::size_t kPartBytes = std::size_t{64} << 20U;

  /// All ranks together, each with its own pieces, which outlive this.
  LeftWork(Communicator& ranks, const std::vector<Work>& mine, std::size_t part_bytes = kPartBytes);

  /// All ranks together: calls work() on the root, which may take parts there.
  void on_root(const std::function<void()>& work);

  /// On the root, that of all ranks, without images.
  std::vector<Work> outline() const;
  /// On the root, the activations of the next pieces of outline() that had been begun, in their order: of one piece, or
  /// of several that take at most `part_bytes` together. Nothing after the last.
  std::optional<ImageSet> next_part();

 private:
  std::vector<LeftPiece> pieces_of_next_part();

  Communicator& ranks_;
  const std::vector<Work>& mine_;
  std::size_t part_bytes_;
  std::vector<LeftPiece> all_;  ///< on the root
  std::size_t next_ = 0;        ///< of `all_`
};

}  // namespace spdnn
