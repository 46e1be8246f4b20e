#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// A transposed convolution for every engine that supports convolutions. Along an axis, every stride-th output is a sum
/// over the same taps: a phase. A convolution of stride 1 computes all phases as channels, with the same sums of the
/// same weights, and data movement then interleaves them.
struct TransposedConvolution {
  /// One spatial axis. Padding is removed from the beginning of the output.
  struct Axis {
    Extent input = 1;
    Extent kernel = 1;
    Extent stride = 1;
    Extent dilation = 1;
    Extent padding = 0;
    Extent output = 1;

    /// The output length without padding.
    Extent whole() const { return stride * (input - 1) + dilation * (kernel - 1) + 1; }
  };
  std::array<Axis, 2> axes;        ///< H and W; H of sequences has length 1
  Extent groups = 1;               ///< divides `inputs`
  Extent inputs = 1;               ///< channels
  Extent outputs = 1;              ///< channels of a group
  std::span<const float> weights;  ///< inputs x outputs x taps
  std::vector<float> bias;         ///< one for each output channel, or empty

  /// An upper limit of the memory that convolution() takes. UsageError if strides are too large.
  std::size_t bytes() const;
  /// UsageError if its windows are too large.
  Convolution convolution() const;

  /// Adds its nodes for images, or for sequences, to the graph of an operator's reader (io/models/parts.hpp).
  template <class Reader>
  ValueId add(Reader& reader, ValueId images) const {
    Convolution phases;
    try {
      reader.graph().budget().take(bytes());
      phases = convolution();
    } catch (const UsageError& refusal) {
      reader.fail(refusal.what());
    }
    ValueId made = reader.add(std::move(phases), {images});
    const Movement movement = moved(reader.graph().shape(made));
    if (movement.apart) {
      made = reader.add(*movement.apart, {made});
      made = reader.add(movement.order, {made});
      made = reader.add(movement.joined, {made});
    }
    return movement.cut ? reader.add(*movement.cut, {made}) : made;
  }

 private:
  /// The moves that interleave the phases, if there are several, and cut off the excess over the output, if there is
  /// any.
  struct Movement {
    std::optional<Reshape> apart;
    Transpose order;
    Reshape joined;
    std::optional<Pad> cut;
  };
  Movement moved(const Shape& made) const;
};

}  // namespace spdnn
