// The official weights, bit for bit, without a download. They are RadiX-Nets (Robinett & Kepner 2019) of radix 2, in
// which MATLAB's default generator randomly renumbers the neurons of each block of layers.
//
// N neurons form s = N/16 groups of 16 ("super neurons"). A block is a butterfly of log2(s) layers: in its layer k,
// counted from 0, neuron c reads all members of the groups c mod s and (c + 2^k) mod s, which are 32 inputs. In the
// first block, group g holds the neurons g, g+s, g+2s, ...; in every later one it holds p[g], p[g+s], p[g+2s], ... for
// a new permutation p = argsort(rand(1, N)).
//
// Cost: limited by memory bandwidth, with 4 bytes per edge written once. Neurons c and c+s read the same inputs, so
// only s rows are built by merging two groups, and the others are copies of them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <vector>

#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "data/generate.hpp"
#include "data/official/matlab_random.hpp"
#include "data/official/problems.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kGroupSize = 16;

/// The members of all groups of a block, group by group, ascending within a group.
using Members = std::vector<Index>;

Members group_members(const std::vector<Index>& order) {
  const std::size_t groups = order.size() / kGroupSize;
  Members members(order.size());
  for (std::size_t group = 0; group < groups; ++group) {
    const auto first = members.begin() + static_cast<std::ptrdiff_t>(group * kGroupSize);
    for (std::size_t i = 0; i < kGroupSize; ++i) first[static_cast<std::ptrdiff_t>(i)] = order[group + i * groups];
    std::sort(first, first + kGroupSize);
  }
  return members;
}

/// Random numbers are drawn sequentially from one sequence; sorting is parallel.
std::vector<Members> all_blocks(Index neurons, std::size_t count) {
  std::mt19937 generator;
  std::vector<std::vector<double>> draws(count, std::vector<double>(neurons));
  for (Index i = 0; i < neurons; ++i) draws[0][i] = i;  // the first block is not renumbered
  for (std::size_t block = 1; block < count; ++block)
    for (double& draw : draws[block]) draw = matlab_rand(generator);
  std::vector<Members> blocks(count);
  parallel_for(count, [&](std::size_t block) { blocks[block] = group_members(stable_argsort(draws[block])); });
  return blocks;
}

Array<Index> layer_inputs(const Members& members, Index stride) {
  const std::size_t groups = members.size() / kGroupSize;
  const std::size_t distinct = groups * kOfficialDegree;
  const auto indices = allocate<Index>(members.size() * kOfficialDegree);
  Index* row = indices.get();
  for (std::size_t group = 0; group < groups; ++group, row += kOfficialDegree) {
    const Index* const own = members.data() + group * kGroupSize;
    const Index* const other = members.data() + (group + stride) % groups * kGroupSize;
    std::merge(own, own + kGroupSize, other, other + kGroupSize, row);
  }
  parallel_for(kGroupSize - 1, [&](std::size_t i) {  // sequential if layers are generated in parallel
    std::copy_n(indices.get(), distinct, indices.get() + (i + 1) * distinct);
  });
  return {indices, members.size() * kOfficialDegree};
}

/// The layers, each generated on request from the renumberings of all blocks.
class OfficialLayers final : public LayerStream {
 public:
  OfficialLayers(Index neurons, Index layers, double bias)
      : LayerStream(std::vector<LayerShape>(layers, {.inputs = neurons,
                                                     .outputs = neurons,
                                                     .edges = Offset{neurons} * kOfficialDegree,
                                                     .weight = kOfficialWeight,
                                                     .bias = bias,
                                                     .degree = kOfficialDegree})),
        block_depth_(static_cast<Index>(std::countr_zero(neurons / kGroupSize))),
        blocks_(all_blocks(neurons, (std::size_t{layers} + block_depth_ - 1) / block_depth_)) {
    std::vector<Offset> offsets(std::size_t{neurons} + 1);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * kOfficialDegree;
    empty_.weights.rows = empty_.weights.cols = neurons;
    empty_.weights.offsets = Array<Offset>(std::move(offsets));  // shared by all layers
    empty_.weights.value = kOfficialWeight;
    empty_.bias.uniform = bias;
  }

  Layer read(Index k) const override {
    Layer layer = empty_;
    layer.weights.indices = layer_inputs(blocks_[k / block_depth_], Index{1} << k % block_depth_);
    return layer;
  }

 private:
  Index block_depth_;
  std::vector<Members> blocks_;
  Layer empty_;  ///< everything except the inputs
};

OfficialProblem known_problem(Index neurons) {
  const auto problem = official_problem(neurons);
  if (!problem)
    throw UsageError(
        fmt::format("there is no official network of {} neurons; expected 1024, 4096, 16384 or 65536", neurons));
  return *problem;
}

}  // namespace

std::size_t official_network_bytes(Index neurons, Index layers) {
  return std::size_t{neurons} * (kOfficialDegree * sizeof(Index) * layers + sizeof(Offset));
}

NetworkStream stream_official_network(Index neurons, Index layers) {
  const OfficialProblem problem = known_problem(neurons);
  return NetworkStream{.layers = std::make_shared<const OfficialLayers>(neurons, layers, problem.bias),
                       .cap = kOfficialCap,
                       .digest = official_network_digest(neurons, layers).value_or(0)};
}

Network generate_official_network(Index neurons, Index layers, const ProgressCallback& progress) {
  const OfficialLayers source(neurons, layers, known_problem(neurons).bias);
  Network network;
  network.cap = kOfficialCap;
  network.layers.resize(layers);
  Progress bar(progress, "generate layers", layers);
  constexpr std::size_t kLayersPerUpdate = 64;
  for (std::size_t first = 0; first < layers; first += kLayersPerUpdate) {
    bar.update(first);
    parallel_for(std::min<std::size_t>(kLayersPerUpdate, layers - first),
                 [&](std::size_t i) { network.layers[first + i] = source.read(static_cast<Index>(first + i)); });
  }
  return network;
}

}  // namespace spdnn
