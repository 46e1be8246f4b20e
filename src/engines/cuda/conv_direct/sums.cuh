#pragma once

// The sums of a warp of conv_direct's kernel: how its forms walk over entries, in fp32 and in fp16.

#include <cuda_fp16.h>

#include <bit>
#include <type_traits>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda {

__device__ inline void multiply_add(float2& sum, float weight, const float2& x) {
  sum.x = fmaf(weight, x.x, sum.x);
  sum.y = fmaf(weight, x.y, sum.y);
}
__device__ inline void multiply_add(float4& sum, float weight, const float4& x) {
  sum.x = fmaf(weight, x.x, sum.x);
  sum.y = fmaf(weight, x.y, sum.y);
  sum.z = fmaf(weight, x.z, sum.z);
  sum.w = fmaf(weight, x.w, sum.w);
}

/// The halves of a lane's images, and sums of products of them.
template <Index kImages>
using LaneHalves = std::conditional_t<kImages == 2, std::uint32_t, std::conditional_t<kImages == 4, uint2, uint4>>;
template <Index kImages>
using HalfSums = __half2[kImages / 2];

template <Index kImages>
__device__ void multiply_add(HalfSums<kImages>& sums, std::uint32_t weight, const LaneHalves<kImages>& x) {
  const auto& factors = reinterpret_cast<const HalfSums<kImages>&>(x);
#pragma unroll
  for (Index i = 0; i < kImages / 2; ++i)
    sums[i] = __hfma2(reinterpret_cast<const __half2&>(weight), factors[i], sums[i]);
}
__device__ inline void add_halves(float2& sum, const __half2* halves) {
  const float2 own = __half22float2(*halves);
  sum = make_float2(sum.x + own.x, sum.y + own.y);
}
__device__ inline void add_halves(float4& sum, const __half2* halves) {
  const float2 low = __half22float2(halves[0]);
  const float2 high = __half22float2(halves[1]);
  sum = make_float4(sum.x + low.x, sum.y + low.y, sum.z + high.x, sum.w + high.y);
}

/// x = function(x, place) for neighbouring images, of which the first is at that place.
template <class Function>
__device__ void change_each(float2& x, std::size_t at, const Function& function) {
  x = make_float2(function(x.x, at), function(x.y, at + 1));
}
template <class Function>
__device__ void change_each(float4& x, std::size_t at, const Function& function) {
  x = make_float4(function(x.x, at), function(x.y, at + 1), function(x.z, at + 2), function(x.w, at + 3));
}

/// Writes numbers of neighbouring images.
__device__ inline __half2 halves_of(const float2& sum) { return __floats2half2_rn(sum.x, sum.y); }
__device__ inline uint2 halves_of(const float4& sum) {
  alignas(uint2) const __half2 halves[] = {__floats2half2_rn(sum.x, sum.y), __floats2half2_rn(sum.z, sum.w)};
  return reinterpret_cast<const uint2&>(halves);
}
template <bool kHalf, class Sum>
__device__ void write_images(std::byte* y, std::size_t at, const Sum& sum) {
  if constexpr (kHalf)
    *reinterpret_cast<decltype(halves_of(sum))*>(y + at * sizeof(__half)) = halves_of(sum);
  else
    *reinterpret_cast<Sum*>(y + at * sizeof(float)) = sum;
}

/// The images of a lane, in pieces of at most four. Eight are two pieces. In fp32 these are half a pixel apart: lanes
/// of odd rows begin with the second half, so that the lanes that read at the same time, of two rows, read different
/// banks.
template <Index kImages, bool kHalf>
struct LaneImages {
  using Piece = std::conditional_t<kImages == 2, float2, float4>;
  static constexpr Index kOfPiece = sizeof(Piece) / sizeof(float);
  static constexpr Index kPieces = kImages / kOfPiece;
  static constexpr Index kLanes = 32 / kImages;  ///< of a pixel
  Index row;                                     ///< of the tile
  Index first;                                   ///< image
  int other_piece;                               ///< images from the first piece on, if there are two

  __device__ explicit LaneImages(Index lane)
      : row(lane / kLanes), first(lane % kLanes * (kHalf ? kImages : kOfPiece)), other_piece(kHalf ? kOfPiece : 16) {
    if (kHalf || kPieces == 1 || row % 2 == 0) return;
    first += 16;
    other_piece = -16;
  }
  __device__ std::size_t image(Index piece) const { return first + piece * other_piece; }
};

/// What the kernel knows of its tiling when it is compiled.
template <Index kColumnsOfTile, Index kStrideOfColumns, Index kImagesOfLane = 4, bool kEqualFilters = false,
          bool kHalf = false>
struct DirectConfig {
  static constexpr DirectForm kForm{kImagesOfLane, kEqualFilters, kHalf};
  static constexpr Index kColumns = kColumnsOfTile;
  static constexpr Index kFilters = filters_of_warp(kColumns, kForm);
  static constexpr Index kStride = kStrideOfColumns;  ///< 0: not known
};

/// Adds an entry's products with the pixels of all columns. `own`: the lane's images of the first pixel.
template <class Config, class Piece, Index kPieces>
__device__ void add_products(const uint2& entry, std::uint32_t own, std::uint32_t column_step, int piece_step,
                             Piece (&sums)[Config::kColumns][kPieces]) {
#pragma unroll
  for (Index piece = 0; piece < kPieces; ++piece) {
    Piece x[Config::kColumns];
#pragma unroll
    for (Index q = 0; q < Config::kColumns; ++q)
      x[q] = load_shared<Piece>(own + entry.x + piece * piece_step + q * column_step);
#pragma unroll
    for (Index q = 0; q < Config::kColumns; ++q) multiply_add(sums[q][piece], std::bit_cast<float>(entry.y), x[q]);
  }
}

/// Multiplies a warp's entries of a chunk, one filter after another. `entries`: the part of the weights.
template <class Config, class Add>
__device__ void each_filter_alone(std::uint32_t entries, Index warp, Add add) {
  constexpr Index kFilters = Config::kFilters;
  std::uint32_t begins[kFilters + 1];
  uint2 first_entry[kFilters];
#pragma unroll
  for (Index f = 0; f <= kFilters; ++f)
    begins[f] = entries + load_shared<std::uint32_t>(entries + (warp * kFilters + f) * sizeof(Index)) * sizeof(uint2);
#pragma unroll
  for (Index f = 0; f < kFilters; ++f) first_entry[f] = load_shared<uint2>(begins[f]);
#pragma unroll
  for (Index f = 0; f < kFilters; ++f) {
    uint2 next = first_entry[f];
#pragma unroll 1
    for (std::uint32_t at = begins[f]; at < begins[f + 1];) {
      const uint2 entry = next;
      at += sizeof(uint2);
      next = load_shared<uint2>(at);
      add(f, entry);
    }
  }
}

/// Adds an entry's products with the halves of all columns to sums of halves.
template <class Config>
__device__ void add_half_products(const uint2& entry, std::uint32_t own, std::uint32_t column_step,
                                  HalfSums<Config::kForm.images> (&sums)[Config::kColumns]) {
  constexpr Index kImages = Config::kForm.images;
  LaneHalves<kImages> x[Config::kColumns];
#pragma unroll
  for (Index q = 0; q < Config::kColumns; ++q) x[q] = load_shared<LaneHalves<kImages>>(own + entry.x + q * column_step);
#pragma unroll
  for (Index q = 0; q < Config::kColumns; ++q) multiply_add<kImages>(sums[q], entry.y, x[q]);
}

/// Adds sums of halves to those of a filter.
template <class Piece, Index kColumns, Index kPieces, Index kPairs>
__device__ void promote(const __half2 (&halves)[kColumns][kPairs], Piece (&sums)[kColumns][kPieces]) {
#pragma unroll
  for (Index q = 0; q < kColumns; ++q)
#pragma unroll
    for (Index piece = 0; piece < kPieces; ++piece) add_halves(sums[q][piece], &halves[q][piece * (kPairs / kPieces)]);
}

/// Likewise one filter after another, with products of halves, some of which are added before they are added to the
/// sums. `own`, `column_step`: as of add_products().
template <class Config, class Sums>
__device__ void each_filter_of_halves(std::uint32_t entries, Index warp, std::uint32_t own, std::uint32_t column_step,
                                      Sums& sums) {
#pragma unroll
  for (Index f = 0; f < Config::kFilters; ++f) {
    const std::uint32_t list = entries + (warp * Config::kFilters + f) * sizeof(Index);
    std::uint32_t at = entries + load_shared<std::uint32_t>(list) * sizeof(uint2);
    const std::uint32_t end = entries + load_shared<std::uint32_t>(list + sizeof(Index)) * sizeof(uint2);
    uint2 next = load_shared<uint2>(at);
#pragma unroll 1
    while (at < end) {
      HalfSums<Config::kForm.images> halves[Config::kColumns] = {};
      const std::uint32_t stop = min(end, at + kTermsInHalves * static_cast<std::uint32_t>(sizeof(uint2)));
#pragma unroll 1
      while (at < stop) {
        const uint2 entry = next;
        at += sizeof(uint2);
        next = load_shared<uint2>(at);
        add_half_products<Config>(entry, own, column_step, halves);
      }
      promote(halves, sums[f]);
    }
  }
}

/// Likewise, where all filters have equally many entries, in turns. After each `kTerms` of a filter, if not 0, and
/// after the last, calls promote().
template <class Config, Index kTerms = 0, class Add, class Promote>
__device__ void all_filters_at_once(std::uint32_t entries, Index warp, Add add, Promote promote) {
  constexpr Index kFilters = Config::kFilters;
  constexpr std::uint32_t kRound = kFilters * sizeof(uint2);
  const auto begin_of = [&](Index list) {
    return entries + load_shared<std::uint32_t>(entries + list * sizeof(Index)) * sizeof(uint2);
  };
  const std::uint32_t end = begin_of(warp + 1);
  std::uint32_t at = begin_of(warp);
  uint2 next[kFilters];
#pragma unroll
  for (Index f = 0; f < kFilters; ++f) next[f] = load_shared<uint2>(at + f * sizeof(uint2));
#pragma unroll 1
  while (at < end) {
    const std::uint32_t stop = kTerms == 0 ? end : min(end, at + kTerms * kRound);
#pragma unroll 1
    while (at < stop) {
      at += kRound;
#pragma unroll
      for (Index f = 0; f < kFilters; ++f) {
        const uint2 entry = next[f];
        next[f] = load_shared<uint2>(at + f * sizeof(uint2));
        add(f, entry);
      }
    }
    promote();
  }
}

/// Likewise with products of halves.
template <class Config, class Sums>
__device__ void all_filters_of_halves_at_once(std::uint32_t entries, Index warp, std::uint32_t own,
                                              std::uint32_t column_step, Sums& sums) {
  HalfSums<Config::kForm.images> halves[Config::kFilters][Config::kColumns] = {};
  all_filters_at_once<Config, kTermsInHalves>(
      entries, warp,
      [&](Index f, const uint2& entry) { add_half_products<Config>(entry, own, column_step, halves[f]); },
      [&] {
#pragma unroll
        for (Index f = 0; f < Config::kFilters; ++f) {
          promote(halves[f], sums[f]);
#pragma unroll
          for (auto& of_column : halves[f])
            for (__half2& sum : of_column) sum = __half2();
        }
      });
}

/// Adds the products of a warp's entries of a chunk. `own`: the lane's images of the tile's first pixel.
template <class Config, class Sums>
__device__ void add_entries(std::uint32_t entries, Index warp, std::uint32_t own, std::uint32_t column_step,
                            int piece_step, Sums& sums) {
  const auto add = [&](Index filter, const uint2& entry) {
    add_products<Config>(entry, own, column_step, piece_step, sums[filter]);
  };
  if constexpr (Config::kForm.half && Config::kForm.equal)
    all_filters_of_halves_at_once<Config>(entries, warp, own, column_step, sums);
  else if constexpr (Config::kForm.half)
    each_filter_of_halves<Config>(entries, warp, own, column_step, sums);
  else if constexpr (Config::kForm.equal)
    all_filters_at_once<Config>(entries, warp, add, [] {});
  else
    each_filter_alone<Config>(entries, warp, add);
}

}  // namespace spdnn::cuda
