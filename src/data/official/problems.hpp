#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/official/constants.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

inline constexpr float kOfficialWeight = 1.0F / 16.0F;  ///< the weight of every edge
inline constexpr double kOfficialCap = 32.0;

/// Known facts about one size of the official challenge.
struct OfficialProblem {
  Index neurons;
  double bias;
  std::uint64_t image_digest;        ///< of the 60000 official images, see image_digest()
  std::size_t categories;            ///< their number, the same at 120, 480 and 1920 layers
  std::string_view category_digest;  ///< SHA-256 of the category list, see digest()
};

/// The official problem with this number of neurons, if it exists.
std::optional<OfficialProblem> official_problem(Index neurons);
/// The network_digest() of the official network with its bias and cap, known for the depths of the challenge.
std::optional<std::uint64_t> official_network_digest(Index neurons, Index layers);
/// Whether the network has the official form: square, of an official size, with 32 inputs of weight 1/16 per neuron. If
/// so, the official bias is the default.
bool has_official_form(const Network& network);

}  // namespace spdnn
