#include "data/official.hpp"

#include <algorithm>
#include <array>

namespace spdnn {

namespace {

// Biases, sizes and category counts: Kepner et al., "Sparse Deep Neural Network Graph Challenge", HPEC 2019, and the
// challenge's truth files. Digests: of the official list at 1024; elsewhere of the list computed in fp64 in official
// order of summation, whose length is the official one.
constexpr std::array<OfficialProblem, 4> kProblems{{
    {1024, -0.30, 6374505, 1812, "a006e26755ca317ecf629035972137457705f20e3139b7796a2f9e9d58c8f4e1"},
    {4096, -0.35, 25019051, 1801, "5ff66a396a73723af800e551214b2c5f89efc77a7062e231e361aecd60f672a0"},
    {16384, -0.40, 98858913, 1918, "1964db1f710c271c225b9512f3a13dfeb5e25de4c0f0139ae53b3933b99a60d9"},
    {65536, -0.45, 392191985, 1994, "6962e1529586f3dede57d7e1d99565605ef0bbb51cb43789627886644e6c0ef8"},
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

bool has_official_form(const Network& network) {
  const Index neurons = network.inputs();
  if (!official_problem(neurons)) return false;
  return std::all_of(network.layers.begin(), network.layers.end(),
                     [&](const Layer& layer) { return has_official_form(layer.weights, neurons); });
}

}  // namespace spdnn
