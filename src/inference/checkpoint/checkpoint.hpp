#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/types/plan.hpp"
#include "inference/run/work.hpp"
#include "spdnn/images.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// The state from which another run continues, on any number of ranks and with any engines: the results so far, and the
/// remaining images, with the activations of those in progress. Activations are fp32 numbers, and every engine adds in
/// the plan's order, so the categories are those of an uninterrupted run.
struct Checkpoint {
  std::uint64_t plan_digest = 0;   ///< of the plan, the passes that run and the precision
  std::uint64_t image_digest = 0;  ///< RunImages::digest()
  Passes passes;                   ///< those that run
  std::set<std::string> variants;  ///< the engines that have run so far
  int parts = 0;                   ///< runs so far
  PhaseSeconds seconds;            ///< their sums
  CheckpointSummary costs;         ///< of the checkpoints of these runs, this one not included
  /// Seconds in which the run, which went on, was to have the next one in place; empty: it stopped here.
  std::optional<double> next_within;
  Outcome known;           ///< of the images that are done
  std::vector<Work> left;  ///< without images
  Index depth = 0;         ///< of the plan
  // Of the checkpoint that is in the file now:
  std::vector<std::string> activations;  ///< the digests in the names of its files of activations
  std::uint64_t left_in_file = 0;        ///< its work_in(), or that of all work if there is no file

  /// Nothing is done yet.
  Checkpoint() = default;
  Checkpoint(const Plan& plan, Precision precision, std::uint64_t image_digest, Index images);
};

/// How many layers are left, added up over the images.
std::uint64_t work_in(const std::vector<Work>& left, Index depth);

/// Adds the results of the remaining work, and replaces it by the work that remains now; the part that was not begun
/// becomes one piece, the last.
void conclude_work(const Outcome& done, std::vector<Work> left, Checkpoint& checkpoint);
/// Work at the same layer becomes one piece.
void join_pieces(std::vector<Work>& work);

/// Gives the activations of the work that had been begun, in the order of Checkpoint::left: those of one piece or
/// several each time, and nothing after the last.
using ActivationParts = std::function<std::optional<ImageSet>()>;

struct WrittenCheckpoint {
  std::uint64_t bytes = 0;
  std::uint64_t left = 0;                ///< work_in() of the file
  std::vector<std::string> activations;  ///< the digests in the names of their files
  std::string begun_again;               ///< why images that had been begun are to be begun again; empty: they are not
};

/// The file at `path` and beside it, for each part of activations, path.DIGEST.spdnn. They appear together, and an
/// earlier checkpoint stays until then: whenever the program ends, one of the two can be read. Of two runs that use one
/// path at a time the later to write wins. If the activations cannot be written, as on a full disk, but less work is
/// left without them than in the checkpoint before, the images are to be begun again. DataError if no less is left, or
/// that cannot be written either.
WrittenCheckpoint write_checkpoint(const std::string& path, const Checkpoint& checkpoint, const ActivationParts& parts);
/// The passes to plan for when a checkpoint is continued: those requested, without those that were not applied when it
/// was made, as the network did not fit into memory, though now it may. DataError if the file is malformed.
Passes passes_to_continue(const std::string& path, Passes requested);
/// Fills in a checkpoint at which nothing is done yet, but for the activations, which continued_work() reads. If the
/// run that wrote it did not stop there, its later work is lost, and counted. DataError if the file is malformed or was
/// made for another plan, other passes, another precision or other images.
void read_checkpoint(const std::string& path, Checkpoint& checkpoint);
}  // namespace spdnn
