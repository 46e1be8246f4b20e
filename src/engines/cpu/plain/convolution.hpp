#pragma once

#include <cstddef>
#include <functional>

#include "model/operations/geometry.hpp"
#include "spdnn/model.hpp"

// Convolutions and linear nodes in fp32, zeros included, on images whose channels are innermost. A linear node is a
// convolution of 1 x 1 pixels: its rows are the pixels of one image.
//
// Mapping: a tile is some pixels of the output and two registers of its channels. Its sums stay in registers, while for
// each tap of the filter and each channel of the input two registers of weights are read, and one number of each pixel:
//
//   weights, packed: block of channels of the output
//                      tap (r, s)
//                        channel c of the input | w(k) ... w(k + 31) |      two registers, read once per tile
//   input:             pixel p of the tile | x(c) x(c + 1) ...          each number multiplies both registers
//
// A tap outside of the image reads zeros. Depthwise convolutions have a channel of the output for each of the input
// and go along the channels instead.
//
// Cost: a load and two multiply-adds of a register per pixel, tap and channel; AVX-512 holds 12 pixels, AVX2 and SSE 6.
// The bound is arithmetic for 16 channels and more; for one pixel it is the bandwidth of the weights.

namespace spdnn::plain {

/// The epilogue of the given number of adjacent results, before they are stored.
using Finish = std::function<void(float* results, std::size_t count)>;

/// Channels of the output that a tile has on this processor.
Extent filters_together();
/// Numbers that the packed weights take, and their packing. Those that fill up the last block are zero.
std::size_t packed_size(const ConvolutionShape& shape);
void pack_weights(const ConvolutionShape& shape, const CsrMatrix& weights, float* packed);
/// Of convolve(): products of whole blocks of filters and tiles of pixels, and what each pixel takes beside them.
double predicted_seconds(const ConvolutionShape& shape, int threads);
/// Numbers of working memory.
std::size_t convolution_scratch(const ConvolutionShape& shape);

/// `bias` may be null; `finish` may be empty.
void convolve(const ConvolutionShape& shape, const float* packed, const float* bias, const float* input, float* scratch,
              float* output, const Finish& finish);

}  // namespace spdnn::plain
