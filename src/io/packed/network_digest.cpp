#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "core/threads/parallel.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/format.hpp"

namespace spdnn {

namespace packed {

std::uint64_t hash_block(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t combine_hashes(std::span<const std::uint64_t> block_hashes) {
  return XXH3_64bits(block_hashes.data(), block_hashes.size_bytes());
}

std::uint64_t header_checksum(const Header& header) { return XXH3_64bits(&header, offsetof(Header, checksum)); }

}  // namespace packed

namespace {

template <class T>
bool all_same_bits(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto first = std::bit_cast<Bits>(values.front());
  return std::all_of(values.begin(), values.end(), [&](T value) { return std::bit_cast<Bits>(value) == first; });
}

/// One array of a layer, and the destination of its block hashes.
struct Task {
  std::span<const std::byte> bytes;
  std::uint64_t* hash;
};

/// The numbers hashed to a layer's digest: shapes directly, arrays by the hashes of their blocks. A value common to all
/// edges or neurons gives the same numbers whether it is stored once or repeatedly.
struct LayerDigest {
  LayerDigest(const CsrMatrix& weights, const Bias& biases) {
    one_weight = weights.uniform() || all_same_bits(weights.values.span());
    one_bias = biases.values.empty() || all_same_bits(biases.values.span());
    const float weight = weights.entries() == 0 ? 0.0F : weights.entry_value(0);
    const double bias = weights.rows == 0 ? 0.0 : biases[0];
    words = {weights.rows,
             weights.cols,
             weights.entries(),
             (one_weight ? 1U : 0U) + (one_bias ? 2U : 0U),
             one_weight ? std::bit_cast<std::uint32_t>(weight) : 0U,
             one_bias ? std::bit_cast<std::uint64_t>(bias) : 0U};
    arrays.push_back(std::as_bytes(weights.offsets.span()));
    arrays.push_back(std::as_bytes(weights.indices.span()));
    if (!one_weight) arrays.push_back(std::as_bytes(weights.values.span()));
    if (!one_bias) arrays.push_back(std::as_bytes(biases.values.span()));
    fixed = words.size();
    for (const auto& array : arrays) words.resize(words.size() + packed::blocks_of(array.size()));
  }

  void add_tasks(std::vector<Task>& tasks) {
    std::uint64_t* slot = words.data() + fixed;
    for (const auto& array : arrays)
      for (std::size_t begin = 0; begin < array.size(); begin += packed::kBlockBytes)
        tasks.push_back({array.subspan(begin, std::min(packed::kBlockBytes, array.size() - begin)), slot++});
  }

  bool one_weight = false;
  bool one_bias = false;
  std::vector<std::uint64_t> words;
  std::size_t fixed = 0;
  std::vector<std::span<const std::byte>> arrays;
};

void carry_out(std::span<const Task> tasks) {
  parallel_for(tasks.size(), [&](std::size_t i) { *tasks[i].hash = packed::hash_block(tasks[i].bytes); });
}

}  // namespace

std::uint64_t layer_digest(const Layer& layer) {
  LayerDigest digest(layer.weights, layer.bias);
  std::vector<Task> tasks;
  digest.add_tasks(tasks);
  carry_out(tasks);
  return packed::combine_hashes(digest.words);
}

std::uint64_t weights_digest(const CsrMatrix& weights) { return layer_digest({weights, Bias{}}); }

std::uint64_t bias_digest(const Bias& bias, Index outputs) {
  const bool one = bias.values.empty() || all_same_bits(bias.values.span());
  const std::vector<std::uint64_t> words{outputs, one ? 1U : 0U,
                                         one && outputs > 0 ? std::bit_cast<std::uint64_t>(bias[0])
                                                            : packed::hash_block(std::as_bytes(bias.values.span()))};
  return packed::combine_hashes(words);
}

std::uint64_t network_digest(BiasRule rule, const std::optional<double>& cap,
                             const std::vector<std::uint64_t>& layer_digests) {
  std::vector<std::uint64_t> words{rule == BiasRule::everywhere ? 1U : 0U, cap ? 1U : 0U,
                                   std::bit_cast<std::uint64_t>(cap.value_or(0.0))};
  words.insert(words.end(), layer_digests.begin(), layer_digests.end());
  return packed::combine_hashes(words);
}

std::uint64_t network_digest(const Network& network) {
  std::vector<std::optional<LayerDigest>> digests(network.layers.size());
  parallel_for(digests.size(),
               [&](std::size_t k) { digests[k].emplace(network.layers[k].weights, network.layers[k].bias); });
  std::vector<Task> tasks;
  for (auto& layer : digests) layer->add_tasks(tasks);
  carry_out(tasks);
  std::vector<std::uint64_t> combined;
  combined.reserve(digests.size());
  for (const auto& layer : digests) combined.push_back(packed::combine_hashes(layer->words));
  return network_digest(network.bias_rule, network.cap, combined);
}

}  // namespace spdnn
