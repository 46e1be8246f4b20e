#include "model/rewrites/share_twin_filters.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/rewrites/channels.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spdnn {

namespace {

/// All that decides which values a channel holds, as bits.
using ChannelKey = std::vector<std::uint32_t>;

void append(ChannelKey& key, float value) { key.push_back(std::bit_cast<std::uint32_t>(value)); }

void append_row(ChannelKey& key, const CsrMatrix& weights, const std::vector<float>& bias, Index row) {
  key.push_back(static_cast<std::uint32_t>(weights.degree(row)));
  for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
    key.push_back(weights.indices[k]);
    append(key, weights.entry_value(k));
  }
  if (!bias.empty()) append(key, bias[row]);
}

void append_parameters(ChannelKey& key, const Operation& operation, Index element) {
  if (const auto* const norm = std::get_if<BatchNorm>(&operation)) {
    for (const std::vector<float>* values : {&norm->scale, &norm->shift, &norm->mean, &norm->variance})
      append(key, (*values)[element]);
  } else if (const auto* const activation = std::get_if<Activation>(&operation)) {
    if (activation->alphas.size() > 1) append(key, activation->alphas[element]);
  } else if (const auto* const convolution = std::get_if<Convolution>(&operation)) {
    append_row(key, convolution->weights, convolution->bias, element);
  }
}

ChannelKey key_of(const Model& model, const ChannelPath& path, Index channel) {
  const Operation& maker = model.nodes[path.maker].operation;
  ChannelKey key;
  append_row(key, weights_of(maker), bias_of(maker), channel);
  for (const ChannelPath::Between& between : path.between)
    for (Index i = 0; i < between.width; ++i)
      append_parameters(key, model.nodes[between.node].operation, channel * between.width + i);
  return key;
}

/// How many channels of the node are gone.
Index share_in(Model& model, const ValueUses& uses, std::size_t node) {
  const auto path = channel_path(model, uses, node);
  if (!path) return 0;
  const Index channels = weights_of(model.nodes[node].operation).rows;
  // Keys are as large as the filters, so that only two are held at a time.
  std::unordered_multimap<std::uint64_t, Index> by_hash;
  std::vector<Index> target(channels);
  Index count = 0;
  for (Index k = 0; k < channels; ++k) {
    const ChannelKey key = key_of(model, *path, k);
    const std::uint64_t hash = XXH3_64bits(key.data(), key.size() * sizeof(key[0]));
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto twin =
        std::find_if(begin, end, [&](const auto& entry) { return key_of(model, *path, entry.second) == key; });
    target[k] = twin == end ? count++ : target[twin->second];
    if (twin == end) by_hash.emplace(hash, k);
  }
  return count < channels && renumber_channels(model, *path, target, count) ? channels - count : 0;
}

}  // namespace

Index share_twin_filters(Model& model) {
  // Forwards, since filters that read twins may become twins by that.
  const ValueUses uses = uses_of(model);
  Index gone = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) gone += share_in(model, uses, n);
  return gone;
}

}  // namespace spdnn
