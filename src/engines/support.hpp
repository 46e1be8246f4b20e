#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/types/program_step.hpp"

namespace spdnn {

namespace program {
struct Program;
}

/// The rank of a variant among others that support the plan.
enum class Preference {
  last_resort,  ///< chosen if no other variant runs
  preferred,    ///< the first of these in the list of variants is chosen
};

/// A variant's answer for a plan or a model, a batch and options, without making an engine. Cheap compared with a run.
struct Support {
  std::string why_not = {};  ///< a sentence with the obstacle; empty if the variant supports them
  /// Only memory is the obstacle: `working_bytes` exceed the limit in the options, and a smaller batch may fit.
  bool too_large = false;
  bool shares = false;  ///< the engine is a SharingEngine
  Preference preference = Preference::preferred;
  /// Bytes of host (CPU) or device (CUDA) memory that an engine takes besides plan (or model) and images, at most; on a
  /// device, the plan's copy there included.
  std::size_t working_bytes = 0;
  int threads = 0;                        ///< of models: how many of the host's compute a batch; 0: all
  std::vector<std::string> remarks = {};  ///< for nodes with a choice: the kernel and the reason
  std::vector<ProgramStep> program = {};  ///< of models: the kernels that would run
  /// For models: the program that these are of, if an engine can run it instead of compiling it again.
  std::shared_ptr<const program::Program> compiled = {};
  /// For models: makes the text of the program for storing it with the model, which must still exist; null if the
  /// variant runs no program.
  std::function<std::string()> stored_program = {};

  bool takes() const { return why_not.empty(); }
};

}  // namespace spdnn
