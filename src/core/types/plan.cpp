#include "core/types/plan.hpp"

#include <algorithm>

#include "core/text/flag_names.hpp"

namespace spdnn {

namespace {

constexpr FlagNames<Passes, 6> kNames{{{"twins", &Passes::twins},
                                       {"unused", &Passes::unused},
                                       {"merge", &Passes::merge},
                                       {"saturated", &Passes::saturated},
                                       {"dead", &Passes::dead},
                                       {"identical", &Passes::identical}}};

}  // namespace

Passes parse_passes(std::string_view text, std::string_view field) {
  return parse_flags(kNames, text, kExactPasses, field, "pass");
}

std::string to_string(const Passes& passes) { return flags_text(kNames, passes); }

std::pair<double, double> LayerChain::bias_range(Index k) const {
  if (streamed) return {streamed->bounds[k].least_bias, streamed->bounds[k].most_bias};
  return {layers[k].bias.min(), layers[k].bias.max()};
}

Offset LayerChain::edges() const {
  Offset sum = 0;
  for (Index k = 0; k < depth(); ++k) sum += shape(k).edges;
  return sum;
}

void Plan::set_network_digest(std::uint64_t digest) {
  provenance.network_digest = digest;
  if (!fallback) return;
  Plan other = *fallback->in_order;  // shares the arrays
  other.set_network_digest(digest);
  fallback->in_order = std::make_shared<const Plan>(std::move(other));
}

Index LayerChain::max_outputs() const {
  Index width = 0;
  for (Index k = 0; k < depth(); ++k) width = std::max(width, outputs(k));
  return width;
}

Index LayerChain::max_width() const { return std::max(inputs(), max_outputs()); }

std::size_t Plan::bytes() const {
  std::size_t sum = streamed ? streamed->bytes() : 0;
  for (const Layer& layer : layers) sum += layer.weights.bytes() + layer.bias.values.bytes();
  for (const Array<Index>& map : expansion) sum += map.bytes();
  return sum;
}

}  // namespace spdnn
