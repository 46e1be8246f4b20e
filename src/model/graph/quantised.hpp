#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// A note for people on values that are rounded, moved by a zero point if there is one, and kept within the numbers of
/// an integer type of 8 or 16 bits, as readers represent quantisation; empty if there are none.
std::optional<std::string> note_on_quantised(const Model& model);

/// Integers q of 8 bits that stand for (q - zero) x scale, with one scale for all elements.
struct ByteForm {
  bool is_signed = false;  ///< -128 to 127; otherwise 0 to 255
  int zero = 0;
  float scale = 1;

  int low() const { return is_signed ? -128 : 0; }
  int high() const { return is_signed ? 127 : 255; }
};

/// A value quantised to 8 bits, and back: (clip(round(x / scale) + zero, low, high) - zero) x scale.
struct QuantisedValue : ByteForm {
  std::vector<std::size_t> nodes;  ///< its steps in order, the last of which makes the result; nothing else reads them
  std::vector<ValueId> zeros;      ///< the constants of its zero point: none, or that of the sum and of the difference

  std::size_t first() const { return nodes.front(); }
  std::size_t last() const { return nodes.back(); }
  /// The clip, whose output is the integers.
  std::size_t whole() const { return nodes[nodes.size() - 2 - (zeros.empty() ? 0 : 1)]; }
};
/// All of them in the order of their last nodes.
std::vector<QuantisedValue> quantised_values(const Model& model);

}  // namespace spdnn
