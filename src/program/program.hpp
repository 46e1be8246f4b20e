#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/types/program_step.hpp"
#include "program/arena.hpp"
#include "program/kernel.hpp"

namespace spdnn::program {

/// The memory that actions read and write. All except the arena outlives a run.
struct Buffer {
  enum class Kind { input, arena, constant };
  Kind kind = Kind::arena;
  bool on_device = false;
  Lifetime lifetime;  ///< in actions
  Index node = 0;     ///< of a constant: the node that it belongs to, or the value that it is
  Constant constant{};
};

/// A buffer, or the beginning of one, and how the tensor lies in it.
struct Operand {
  std::size_t buffer = 0;
  Layout layout{};
};

/// One kernel that is run: for a step, to change a layout, or to look at values.
struct Action {
  enum class Kind { step, change, watch };
  Kind kind = Kind::step;
  Index node = 0;   ///< whose time it is
  Index place = 0;  ///< the node by whose end it must have run: later than `node` where nodes are fused
  Step step{};      ///< of a step: the nodes that it computes
  std::string kernel{};
  std::string detail{};
  double seconds = 0;    ///< predicted
  std::string others{};  ///< of a step: see Choice
  std::vector<Operand> inputs{};
  Operand output{};
  std::optional<std::size_t> scratch{};  ///< a buffer
  std::vector<std::size_t> constants{};  ///< buffers
  std::function<std::unique_ptr<Bound>()> bind{};
};

/// The flag of a run for values beyond the limits that later bounds assume.
struct Watched {
  Index node = 0;          ///< the first whose numbers depend on that
  Operand beyond;          ///< numbers, of all that were looked at together
  std::size_t number = 0;  ///< the one of them that is its own; 0: within the limits
};

/// A model compiled for one number of images: data, but for the functions that bind its kernels.
struct Program {
  Extent images = 1;
  std::vector<Buffer> buffers;
  std::vector<Action> actions;   ///< in order
  std::vector<Operand> outputs;  ///< fp32, row-major
  std::vector<Watched> watched;
  std::optional<Index> unproven;  ///< the first node that may exceed fp32 whatever it reads
  ArenaLayout arena;              ///< by buffer; those that are not the arena's have no bytes there
  std::size_t constant_bytes = 0;
  ArenaLayout device_arena;  ///< likewise, in a device's memory
  std::size_t device_constant_bytes = 0;
  std::size_t device_image_bytes = 0;  ///< of the images, if actions read them there
  std::vector<std::string> remarks;    ///< for nodes with a choice: the kernel and the reason
  std::vector<Index> zeros_skipped;    ///< nodes whose zero weights are not multiplied

  double seconds() const {
    double sum = 0;
    for (const Action& action : actions) sum += action.seconds;
    return sum;
  }
};

/// The program as people read it, a step for each action.
std::vector<ProgramStep> described(const Program& program, const Model& model);

}  // namespace spdnn::program
