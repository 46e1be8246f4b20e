#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Removes output channels of convolutions without groups and of linear nodes
/// - that nothing reads: the weights of all that could read them are zero; and
/// - that are constant: a filter without weights makes its bias everywhere, and operations on single channels
///   make another constant c of it. Readers with weights w get w c into their bias, in fp64 and rounded once. A
///   reader pads with zeros rather than with c, so this is exact only where it has no padding or c is 0.
/// A term that is gone takes its roundings along, so the bounds of the given model hold for the rewritten one.
///
/// It is not applied where channels are outputs or meet other channels, as in an addition or a concat. A node keeps one
/// channel at least. The shapes must be known. Returns the number of channels that are gone.
Index drop_dead_channels(Model& model);

}  // namespace spdnn
