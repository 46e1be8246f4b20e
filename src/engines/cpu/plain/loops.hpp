#pragma once

#include <array>
#include <vector>

#include "spdnn/model.hpp"

// Operations without weights over row-major fp32 data, on OpenMP's threads. They are memory-bound: one pass over their
// inputs and outputs each.

namespace spdnn::plain {

/// `innermost`: channels are the last axis of the shape, not the second.
void apply_batch_norm(const BatchNorm& norm, const Shape& shape, bool innermost, const float* input, float* output);
void activate(const Activation& activation, const Shape& shape, bool innermost, const float* input, float* output);
void softmax(const Shape& shape, Index axis, const float* input, float* output);
void concat(const std::vector<Shape>& shapes, Index axis, const std::vector<const float*>& inputs, float* output);
/// `shapes`: of both inputs, and of the output to which they are broadcast.
void elementwise(Elementwise::Kind kind, const std::array<Shape, 3>& shapes, const float* first, const float* second,
                 float* output);
void transpose(const Transpose& transpose, const Shape& from, const float* input, float* output);
void pad(const Pad& pad, const Shape& from, const float* input, float* output);
void resize(const Resize& resize, const Shape& from, const float* input, float* output);

/// Images with blocks of `together` adjacent channels: images x channels/together x pixels x together. One block of all
/// channels if they are innermost.
struct Channels {
  Extent images = 0;
  Extent channels = 0;
  Extent pixels = 0;
  Extent together = 1;
  bool of_each_image = false;  ///< the factors are images x channels, not channels alone
};
void with_channels(Elementwise::Kind kind, const Channels& shape, const float* images, const float* factors,
                   float* output);

}  // namespace spdnn::plain
