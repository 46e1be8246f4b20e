#pragma once

#include "spdnn/model.hpp"

// Pools over row-major fp32 data, on OpenMP's threads.

namespace spdnn::plain {

void pool(const Pool& pool, const Shape& from, const Shape& to, const float* input, float* output);
/// The same where channels are innermost; the shapes are N, C, H, W all the same.
void pool_channels(const Pool& pool, const Shape& from, const Shape& to, const float* input, float* output);
/// `innermost`: channels are the last axis of the shape in memory.
void global_pool(const GlobalPool& pool, const Shape& from, bool innermost, const float* input, float* output);

}  // namespace spdnn::plain
