#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "model/graph/uses.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The path of the output channels of a convolution or linear node to the sums that read them, if every node on it
/// processes channels independently.
struct ChannelPath {
  std::size_t maker = 0;

  /// A node that works on each channel separately: activation, batch norm, pool, resize, depthwise convolution, or a
  /// reshape that keeps channels apart.
  struct Between {
    std::size_t node;
    Index width;  ///< of its input: elements of axis 1 for each channel, more than one after a flattening reshape
  };
  std::vector<Between> between;  ///< each after the one that it reads

  /// A convolution or linear node that sums over channels.
  struct Reader {
    std::size_t node;
    Index columns;  ///< of its weights for each channel
  };
  std::vector<Reader> readers;
};

/// Empty if the node is neither a convolution without groups nor a linear node on channels, or if a channel is an
/// output of the model or read by an operation that needs all channels, such as an addition. The model's shapes must be
/// known.
std::optional<ChannelPath> channel_path(const Model& model, const ValueUses& uses, std::size_t maker);

/// In the place of a channel's new number: it goes.
inline constexpr Index kDropped = std::numeric_limits<Index>::max();

/// Gives each channel k of the path the number target[k] below `count`. Of channels with one number, the first is
/// computed, and its readers add up the weights of all of them in fp64, rounding once; those that are kDropped are no
/// longer computed, and their readers' weights go. False, and nothing is changed, where a sum of weights is neither
/// zero nor a normal fp32 number. Shapes are those of the new channels afterwards; who makes and reads which value
/// stays the same.
bool renumber_channels(Model& model, const ChannelPath& path, const std::vector<Index>& target, Index count);

/// The operation on these channels alone, each of which has `width` elements on axis 1.
Operation restricted_to(Operation operation, const std::vector<Index>& channels, Index width);

/// The weights and bias of a convolution or linear node.
struct SumsView {
  Weights* weights;
  std::vector<float>* bias;
};
SumsView sums_of(Operation& operation);
const CsrMatrix& weights_of(const Operation& operation);
const std::vector<float>& bias_of(const Operation& operation);

}  // namespace spdnn
