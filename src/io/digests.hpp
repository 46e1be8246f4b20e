#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// Identifies a network by an XXH3 hash of its shapes, indices, values, biases, rule and cap, which is equal for equal
/// networks whatever files they came from. Takes one pass at the speed of memory.
std::uint64_t network_digest(const Network& network);
/// Identifies images of zeros and ones by an XXH3 hash of their number, their neurons and their contents, which is
/// equal for equal images in equal order, whatever files they came from and whatever form they are held in. Empty where
/// there are other values. Takes one pass at the speed of memory.
std::optional<std::uint64_t> image_digest(const ImageSet& images);

// Its parts, for images that no process has all of: hashes of as many images at a time as images_per_hash() says, from
// the first one on, all of them combined.
Index images_per_hash(Index neurons);
/// Empty where there are other values than zeros and ones.
std::optional<std::vector<std::uint64_t>> image_hashes(const ImageSet& images);
/// Of any images; equal for equal entries in equal order.
std::vector<std::uint64_t> hashes_with_values(const ImageSet& images);
std::uint64_t combine_image_hashes(std::vector<std::uint64_t> hashes, Index images, Index neurons);

}  // namespace spdnn
