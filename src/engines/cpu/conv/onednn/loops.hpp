#pragma once

#include <array>
#include <cstddef>

#include "spdnn/model.hpp"

// Operations that oneDNN 2.6 has not, or not with the same meaning, over row-major fp32 data, on OpenMP's threads. They
// are memory-bound: one pass over their inputs and outputs each.

namespace spdnn::onednn::loops {

void batch_norm(const BatchNorm& norm, const Shape& shape, const float* input, float* output);
void pool(const Pool& pool, const Shape& from, const Shape& to, const float* input, float* output);
void global_pool(const GlobalPool& pool, const Shape& from, const float* input, float* output);
void activate(const Activation& activation, const Shape& shape, const float* input, float* output);
/// `shapes`: of both inputs, and of the output to which they are broadcast.
void elementwise(Elementwise::Kind kind, const std::array<Shape, 3>& shapes, const float* first, const float* second,
                 float* output);
void transpose(const Transpose& transpose, const Shape& from, const float* input, float* output);
void pad(const Pad& pad, const Shape& from, const float* input, float* output);
void resize(const Resize& resize, const Shape& from, const float* input, float* output);

/// Whether all numbers, in fp32 or the upper halves of such, are at most `limit` in absolute value. One that is no
/// number is not.
bool within(const float* numbers, std::size_t bytes, bool halves, float limit);

/// Images as oneDNN keeps them, `together` channels side by side: images x channels/together x pixels x together. All
/// channels, where they are innermost.
struct Channels {
  Extent images = 0;
  Extent channels = 0;
  Extent pixels = 0;
  Extent together = 1;
  bool of_each_image = false;  ///< the factors are images x channels, not channels alone
};
void with_channels(Elementwise::Kind kind, const Channels& shape, const float* images, const float* factors,
                   float* output);

}  // namespace spdnn::onednn::loops
