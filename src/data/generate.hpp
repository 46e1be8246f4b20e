#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/progress.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// How edge weights of generated networks are drawn.
struct WeightLaw {
  enum class Kind { constant, normal } kind = Kind::constant;
  double value = 0.0625;   ///< the constant, or the mean
  double deviation = 0.0;  ///< of the normal law
};
/// `constant:V` or `normal:MEAN:DEVIATION`; UsageError otherwise.
WeightLaw parse_weight_law(const std::string& text);

/// The official network, bit for bit: N in 1024, 4096, 16384, 65536 (UsageError otherwise), any number of layers,
/// weights 1/16, official bias and cap. Recipe: see official/network.cpp.
Network generate_official_network(Index neurons, Index layers, ProgressMode progress = ProgressMode::never);

struct FamilyOptions {
  Index neurons = 1024;
  Index layers = 120;
  Index degree = 32;
  std::uint64_t seed = 1;
  std::optional<WeightLaw> law =
      std::nullopt;  ///< empty: 2/degree, which keeps sums of ones at 2 as the official networks do
  double bias = 0.0;
};
/// RadiX-Net: mixed-radix butterflies with random permutations between blocks (Robinett & Kepner 2019).
Network generate_radixnet(const FamilyOptions& options);
/// `degree` distinct uniformly random inputs per neuron, ascending.
Network generate_random(const FamilyOptions& options);

inline constexpr Index kMnistSide = 28;

/// MNIST training images from an IDX file, plain or .gz: count x 28 x 28 bytes. DataError for anything else.
struct MnistImages {
  Index count = 0;
  Array<std::uint8_t> pixels;
  std::string source = {};  ///< the file's name, for messages
};
MnistImages read_mnist(const std::filesystem::path& idx);

/// The official challenge inputs made from MNIST's 60000 training images: N in 1024, 4096, 16384, 65536.
ImageSet generate_official_images(const MnistImages& mnist, Index neurons, ProgressMode progress = ProgressMode::never);
/// Synthetic handwritten-like digits for machines without MNIST; `neurons` must be a square number. Same seed, same
/// images.
ImageSet generate_digit_images(Index neurons, Index images, std::uint64_t seed);

}  // namespace spdnn
