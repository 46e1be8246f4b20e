#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// Identifies a network by an XXH3 hash of its shapes, indices, values, biases, rule and cap. Equal networks have equal
/// digests, whatever files they came from. Takes one pass at memory speed.
std::uint64_t network_digest(const Network& network);

// Its parts, for a network that is not in memory as a whole: of the weights and of the biases of a layer, of the layer,
// and of all layers.
std::uint64_t weights_digest(const CsrMatrix& weights);
std::uint64_t bias_digest(const Bias& bias, Index outputs);
std::uint64_t layer_digest(const Layer& layer);
std::uint64_t network_digest(BiasRule rule, const std::optional<double>& cap,
                             const std::vector<std::uint64_t>& layer_digests);

/// Identifies images of zeros and ones by an XXH3 hash of their number, their neurons and their contents. Equal images
/// in equal order have equal digests, whatever their files and their form in memory. Empty if there are other values.
/// Takes one pass at memory speed.
std::optional<std::uint64_t> image_digest(const ImageSet& images);

// The parts of that digest, for images distributed over processes: hashes of images_per_hash() images each, in order,
// and their combination.
Index images_per_hash(Index neurons);
/// Empty if there are values other than zeros and ones.
std::optional<std::vector<std::uint64_t>> image_hashes(const ImageSet& images);
/// The same for images with any values; equal for equal entries in equal order.
std::vector<std::uint64_t> hashes_with_values(const ImageSet& images);
std::uint64_t combine_image_hashes(std::vector<std::uint64_t> hashes, Index images, Index neurons);

}  // namespace spdnn
