#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "program/arena.hpp"
#include "spdnn/model.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {
class Magnitudes;
}

namespace spdnn::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// Axes as oneDNN sees them: a sequence N, C, W has H = 1, a scalar one element.
Dims dims_of(const Shape& shape);
/// Row-major.
Desc plain_desc(const Dims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// Two numbers of a window as oneDNN takes them, each with `less` taken off: dilation counts from 0 there.
Dims dims_of(const std::array<Index, 2>& of_axes, Index less = 0);

/// What actions read and write. All but the arena's outlive a run.
struct Buffer {
  enum class Kind { input, arena, constant };
  Kind kind = Kind::arena;
  Lifetime lifetime;  ///< in actions
  /// Of a constant: what names it, alike in programs for other batches; its values, row-major in `plain`, and the form
  /// in which it is held.
  std::pair<Index, int> key{};
  Desc plain{};
  Desc form{};
  std::function<std::vector<float>()> values{};
};

/// A buffer, or the beginning of one, in a form.
struct Operand {
  std::size_t buffer = 0;
  Desc desc;
};

/// One primitive of oneDNN, or one loop of our own over row-major or otherwise known fp32 data.
struct Action {
  Index node = 0;   ///< whose time it is
  Index place = 0;  ///< the node by whose end it must have run: later than `node` where nodes are fused
  std::function<dnnl::primitive()> make{};
  std::function<void(std::span<float* const>)> loop{};  ///< in place of make; data in the order of `arguments`
  std::vector<std::pair<int, Operand>> arguments{};     ///< by oneDNN's numbers, unused by loops
};

/// Where a run notes whether values were larger than was taken for granted of the numbers after them.
struct Watched {
  Index node = 0;  ///< the first whose numbers depend on that
  Operand beyond;  ///< one number: 0 where they were not
};

/// A model for one number of images.
struct Program {
  std::vector<Buffer> buffers;
  std::vector<Action> actions;   ///< in order
  std::vector<Operand> outputs;  ///< fp32, row-major
  std::vector<Watched> watched;
  std::optional<Index> unproven;  ///< the first node that may exceed fp32 whatever it reads
  ArenaLayout arena;              ///< by buffer; those that are not the arena's have no bytes there
  std::size_t constant_bytes = 0;
};

struct CompileOptions {
  dnnl::memory::data_type type;  ///< of activations between nodes, fp32 or bf16
  Index sparse_for = 0;   ///< linear nodes in fp32 leave zeros out where that is faster for so many images; 0: never
  bool epilogues = true;  ///< nodes may be computed with the one before them
};

/// What oneDNN does how, on as many threads as OpenMP has at the time. The model must outlive the program.
Program compile(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
                const dnnl::engine& engine);

}  // namespace spdnn::onednn
