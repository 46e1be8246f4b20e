#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "inference/run_on_ranks.hpp"
#include "inference/work.hpp"
#include "spdnn/images.hpp"
#include "spdnn/plan.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// What a run that was stopped leaves to the one that continues it, on however many ranks and with whichever engines:
/// what is known, and the images that are left, with their activations where they had come to a layer. Activations are
/// fp32 numbers, and every engine adds in the plan's order, so that the categories are those of an undisturbed run.
struct Checkpoint {
  std::uint64_t plan_digest = 0;   ///< of the plan, the passes that run and the precision
  std::uint64_t image_digest = 0;  ///< RunImages::digest()
  Passes passes;                   ///< those that run
  std::set<std::string> variants;  ///< the engines that have run so far
  int parts = 0;                   ///< runs so far
  PhaseSeconds seconds;            ///< their sums
  Outcome known;                   ///< of the images that are done
  std::string activations;         ///< the digest in the name of the file of activations that it was read with, if any
  std::size_t left_before = 0;     ///< images, in the checkpoint that this one was read from, or else all
  std::vector<Work> left;          ///< work at layer 0 comes without images: they are among those that are given

  /// Nothing is done yet.
  Checkpoint() = default;
  Checkpoint(const Plan& plan, Precision precision, std::uint64_t image_digest, Index images);
};

/// Adds what came of the work that was left, and puts in its place what is left now.
void conclude_work(RankedResult result, Checkpoint& checkpoint);
/// Work at the same layer becomes one piece.
void join_pieces(std::vector<Work>& work);

/// The file at `path` and, where images had been begun, one beside it with their activations, path.DIGEST.spdnn. Both
/// are there whole or not at all, and an earlier checkpoint stays until they are. Of two runs that use one path at a
/// time the later to write wins. Where the activations cannot be written, as on a full disk, but more images are done
/// than in the checkpoint before, the others are to be begun again; then it returns the reason, otherwise nothing.
/// DataError where no more are done, or that cannot be written either; it says what is kept.
std::string write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// What to plan for where there is a checkpoint to go on from: the passes requested, without those that stood aside
/// when it was made, as the network did not fit into memory, though now it may. DataError where the file is malformed.
Passes passes_to_continue(const std::string& path, Passes requested);
/// Fills in a checkpoint at which nothing is done yet. `ran` is the plan that activations were computed with. DataError
/// where the file is malformed or was made for another plan, other passes, another precision or other images.
void read_checkpoint(const std::string& path, const Plan& ran, Checkpoint& checkpoint);
/// Removes both files, if there are any.
void remove_checkpoint(const std::string& path);

}  // namespace spdnn
