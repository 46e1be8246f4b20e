#include "data/official/problems.hpp"

#include <algorithm>
#include <array>

namespace spdnn {

namespace {

// Biases, sizes and category counts are from Kepner et al., "Sparse Deep Neural Network Graph Challenge", HPEC 2019,
// and the challenge's truth files. For 1024 neurons, the category digest belongs to the official list; otherwise it
// belongs to the list computed in fp64 in the official order of summation, which has the official length. For 1024
// neurons, the image digest belongs to the official file; otherwise it belongs to the images made by
// generate_official_images(), which have the official number of non-zeros.
constexpr std::array<OfficialProblem, 4> kProblems{{
    {1024, -0.30, 0xe33b1543af01e1a4, 1812, "a006e26755ca317ecf629035972137457705f20e3139b7796a2f9e9d58c8f4e1"},
    {4096, -0.35, 0x33781c3c9e6a26cc, 1801, "5ff66a396a73723af800e551214b2c5f89efc77a7062e231e361aecd60f672a0"},
    {16384, -0.40, 0x8f80952746010fec, 1918, "1964db1f710c271c225b9512f3a13dfeb5e25de4c0f0139ae53b3933b99a60d9"},
    {65536, -0.45, 0xbcc6f68b4c199a32, 1994, "6962e1529586f3dede57d7e1d99565605ef0bbb51cb43789627886644e6c0ef8"},
}};

struct NetworkDigest {
  Index neurons;
  Index layers;
  std::uint64_t digest;
};

// Digests of the networks made by generate_official_network(); the one of 1024 x 120 equals the official files'.
constexpr std::array<NetworkDigest, 12> kNetworkDigests{{
    {1024, 120, 0x9c684a9226330255},
    {1024, 480, 0x7082febc92c53c7a},
    {1024, 1920, 0xd51ee0cd85024f6c},
    {4096, 120, 0x01576998b6edf0c8},
    {4096, 480, 0xfc1599625d4f9c1f},
    {4096, 1920, 0x18b7a75c9b64e87e},
    {16384, 120, 0x17a72a714f4c221d},
    {16384, 480, 0x78cfdd097cde4040},
    {16384, 1920, 0xb1345840f8e1011a},
    {65536, 120, 0x5c8045800b4cd192},
    {65536, 480, 0xbd7b725cfa20cbe3},
    {65536, 1920, 0xfd063d49c80549ef},
}};

bool has_official_form(const CsrMatrix& weights, Index neurons) {
  if (weights.rows != neurons || weights.cols != neurons) return false;
  for (Offset i = 0; i <= neurons; ++i)
    if (weights.offsets[i] != i * kOfficialDegree) return false;
  if (weights.uniform()) return weights.value == kOfficialWeight;
  return std::all_of(weights.values.begin(), weights.values.end(), [](float w) { return w == kOfficialWeight; });
}

}  // namespace

std::optional<OfficialProblem> official_problem(Index neurons) {
  const auto* const found = std::find_if(kProblems.begin(), kProblems.end(),
                                         [&](const OfficialProblem& problem) { return problem.neurons == neurons; });
  if (found == kProblems.end()) return std::nullopt;
  return *found;
}

std::optional<std::uint64_t> official_network_digest(Index neurons, Index layers) {
  const auto* const found = std::find_if(kNetworkDigests.begin(), kNetworkDigests.end(), [&](const NetworkDigest& d) {
    return d.neurons == neurons && d.layers == layers;
  });
  if (found == kNetworkDigests.end()) return std::nullopt;
  return found->digest;
}

bool has_official_form(const Network& network) {
  const Index neurons = network.inputs();
  if (!official_problem(neurons)) return false;
  return std::all_of(network.layers.begin(), network.layers.end(),
                     [&](const Layer& layer) { return has_official_form(layer.weights, neurons); });
}

}  // namespace spdnn
