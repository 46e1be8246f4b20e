#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Computes equal filters once. Output channels of a convolution without groups, or of a linear node, are twins if
/// their weights and biases are equal bit by bit, and batch norms, slopes and depthwise filters between them and their
/// readers are equal, too: then they hold equal values. The first is kept, and readers add their weights, w1 x + w2 x =
/// (w1 + w2) x, in fp64 and rounded once. So no channel has to be copied, and the readers lose terms as well. The
/// rounding of a merged weight is offset by the removed term: the bounds of the given model hold.
///
/// It is not applied where channels are outputs or meet other channels, as in an addition or a concat, and where a
/// merged weight would not be a normal fp32 number. The shapes must be known. Returns the number of channels that are
/// gone.
Index share_twin_filters(Model& model);

}  // namespace spdnn
