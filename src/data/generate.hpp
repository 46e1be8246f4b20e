#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/types/layer_stream.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The distribution of weights in generated networks.
struct WeightLaw {
  enum class Kind { constant, normal } kind = Kind::constant;
  double value = 0.0625;   ///< the constant, or the mean
  double deviation = 0.0;  ///< of the normal law
};
/// Parses `constant:V` or `normal:MEAN:DEVIATION`; UsageError for anything else.
WeightLaw parse_weight_law(const std::string& text);

/// The official network, bit for bit, with its bias and cap and any number of layers. `neurons` must be 1024, 4096,
/// 16384 or 65536 (otherwise UsageError). The method is described in official/network.cpp.
Network generate_official_network(Index neurons, Index layers, const ProgressCallback& progress = {});

/// The same network with its layers generated one at a time.
NetworkStream stream_official_network(Index neurons, Index layers);
/// Its memory when fully generated.
std::size_t official_network_bytes(Index neurons, Index layers);

struct FamilyOptions {
  Index neurons = 1024;
  Index layers = 120;
  Index degree = 32;
  std::uint64_t seed = 1;
  /// Empty: 2/degree, so that a sum of ones is 2, as in the official networks.
  std::optional<WeightLaw> law = std::nullopt;
  double bias = 0.0;
};
/// RadiX-Net: mixed-radix butterflies with random permutations between blocks (Robinett & Kepner 2019).
Network generate_radixnet(const FamilyOptions& options);
/// A network of `degree` distinct, uniformly random inputs per neuron, ascending.
Network generate_random(const FamilyOptions& options);

inline constexpr Index kMnistSide = 28;

/// MNIST training images from an IDX file, plain or .gz: count x 28 x 28 bytes. DataError for other files.
struct MnistImages {
  Index count = 0;
  Array<std::uint8_t> pixels;
  std::string source = {};  ///< the file name in messages
};
MnistImages read_mnist(const std::filesystem::path& idx);

/// The official images, made from MNIST's 60000 training images. `neurons` must be 1024, 4096, 16384 or 65536.
ImageSet generate_official_images(const MnistImages& mnist, Index neurons, const ProgressCallback& progress = {});
/// Synthetic digits that look handwritten, for use without MNIST. `neurons` must be a square number. The same seed
/// gives the same images.
ImageSet generate_digit_images(Index neurons, Index images, std::uint64_t seed);

}  // namespace spdnn
