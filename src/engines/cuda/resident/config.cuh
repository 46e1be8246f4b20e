#pragma once

// The compile-time parameters of a kernel of the `resident` engine.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "engines/cuda/resident/shapes.hpp"
#include "engines/cuda/resident/storage.cuh"

namespace spdnn::cuda::resident {

/// The layouts that a kernel supports.
struct LayoutKind {
  bool values = false;  ///< every term has its own weight
  bool uneven = false;  ///< there may be split rounds and odd half chunks
};

/// A shape and a kind of layout as types and constants.
template <ResidentShape kOf, LayoutKind kKind>
struct Config {
  static constexpr TileShape kShape = kOf.tile;
  using Stored = std::conditional_t<kShape.activation_bytes == sizeof(float), float, __half>;
  static constexpr bool kHalves = !std::is_same_v<Stored, float>;
  static constexpr bool kValues = kKind.values;
  static constexpr bool kUneven = kKind.uneven;
  static constexpr Index kImages = kShape.images;
  static constexpr Index kLaneImages = kShape.lane_images;
  static constexpr Index kThreads = kShape.threads;
  static constexpr Index kRounds = kShape.rounds;
  static constexpr Index kBlocks = kOf.blocks;
  static constexpr bool kReplicas = kShape.bank_groups() > 1;  ///< inputs may have a second slot
  static constexpr Index kLanes = kShape.lanes();
  static constexpr Index kBundle = kShape.bundle();
  static constexpr Index kWarps = kShape.warps();
  static constexpr Index kPieces = kShape.pieces();
  static constexpr Index kWide = std::min(kLaneImages, Index{16 / sizeof(Stored)});  ///< activations per load
  static constexpr Index kParts = kLaneImages / kWide;                               ///< loads per term and thread
  static constexpr Index kPitch = kImages / kWide;                                   ///< loads per row
  /// Chunks with values take three times the registers.
  static constexpr Index kAhead = kValues ? std::max(Index{1}, kOf.chunks_ahead / 2) : kOf.chunks_ahead;
  using Wide = WideOf<Stored, kWide>;
  using Outputs = std::conditional_t<kHalves, Wide[kParts], float[kLaneImages]>;  ///< of a round; halves wait packed
  using Bits =
      std::conditional_t<kImages == 32, std::uint32_t, std::conditional_t<kImages == 16, std::uint16_t, std::uint8_t>>;

  static_assert(std::has_single_bit(kImages) && std::has_single_bit(kLaneImages));
  static_assert(kImages <= 32 && kLaneImages <= kImages);
  static_assert(sizeof(Wide) == 16 || kLaneImages == kImages, "threads of a neuron read 16 bytes each");
  static_assert(kThreads % 32 == 0 && kThreads >= 64 && kThreads <= 1024);
  static_assert(kOf.chunks_ahead >= 1 && kBlocks >= 1 && kBlocks * kThreads <= 2048);
  static_assert(kBundle / kShape.bank_groups() % kPieces == 0, "a piece has whole groups");
  static_assert(!kUneven || !kHalves, "outputs of pieces are not packed");
  static_assert(kRounds >= 1 && kRounds <= kMaxRounds);
  static_assert(kLaneImages * kRounds * sizeof(Stored) <= 256, "outputs wait in registers");
};

}  // namespace spdnn::cuda::resident
