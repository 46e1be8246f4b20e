#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace spdnn {

/// How much a variant is worth where others take the plan too.
enum class Preference {
  last_resort,  ///< taken where no other runs
  preferred,    ///< the first of these in the list of variants is taken
};

/// What a variant says of a plan or a model, a batch and options, without making an engine. Cheap next to a run.
struct Support {
  std::string why_not = {};  ///< a sentence that says what is in the way; empty where the variant takes them
  /// Memory alone is in the way: `working_bytes` are more than the options allow, and a smaller batch may fit.
  bool too_large = false;
  Preference preference = Preference::preferred;
  /// Bytes of host (CPU) or device (CUDA) memory that an engine takes besides plan (or model) and images, at most; on a
  /// device, the plan's copy there included.
  std::size_t working_bytes = 0;
  std::vector<std::string> remarks = {};  ///< of nodes for which there was a choice: what would run, and why
  std::vector<std::string> program =
      {};  ///< of models, for people: a line for each kernel that would run, after a head

  /// Of models: makes the text under which that program can be stored with the model, which must still be there; null
  /// where the variant runs no program.
  std::function<std::string()> stored_program = {};

  bool takes() const { return why_not.empty(); }
};

}  // namespace spdnn
