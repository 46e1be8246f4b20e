#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "engines/cuda/retire/offered_duplicates.cuh"
#include "support/networks.hpp"

namespace spdnn::cuda {

/// A network whose first layer counts: neuron j is 1/4 of the number of its own inputs that are lit. All other layers
/// are the identity.
class CountingNetwork {
 public:
  static constexpr Index kWidth = 12;
  static constexpr Index kOwn = 16;  ///< inputs of a neuron
  static constexpr float kStep = 0.25F;
  using Counts = std::array<Index, kWidth>;

  static Network make(Index depth) {
    testing::Rows counting(kWidth);
    testing::Rows handing_on(kWidth);
    for (Index j = 0; j < kWidth; ++j) {
      for (Index i = 0; i < kOwn; ++i) counting[j].emplace_back(j * kOwn + i, kStep);
      handing_on[j].emplace_back(j, 1.0F);
    }
    Network network;
    network.layers.assign(depth, testing::make_layer(kWidth, handing_on, 0, true));
    network.layers[0] = testing::make_layer(kWidth * kOwn, counting, 0, true);
    network.cap = 1 + kStep * kOwn;
    return network;
  }

  static ImageSet images(const std::vector<Counts>& all) {
    testing::Rows rows(all.size());
    for (std::size_t image = 0; image < all.size(); ++image)
      for (Index j = 0; j < kWidth; ++j)
        for (Index i = 0; i < all[image][j]; ++i) rows[image].emplace_back(j * kOwn + i, 1.0F);
    return ImageSet{ImageSet{testing::make_matrix(kWidth * kOwn, rows, true)}.to_bits()};
  }

  /// Two rows that differ and have the same hash, found among many.
  static std::array<Counts, 2> colliding() {
    testing::Rng rng(7);
    std::unordered_map<std::uint32_t, Counts> seen;
    for (;;) {
      Counts counts;
      std::uint32_t sum = 0;
      for (Index j = 0; j < kWidth; ++j) {
        counts[j] = 1 + rng.below(kOwn);
        sum += row_hash_share(j, kStep * static_cast<float>(counts[j]));
      }
      const auto [other, fresh] = seen.try_emplace(row_hash(sum), counts);
      if (!fresh && other->second != counts) return {other->second, counts};
    }
  }
};

}  // namespace spdnn::cuda
