#include "spdnn/plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/comma_list.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using Flag = std::pair<std::string_view, bool Passes::*>;
constexpr std::array<Flag, 6> kFlags{{{"twins", &Passes::twins},
                                      {"unused", &Passes::unused},
                                      {"merge", &Passes::merge},
                                      {"saturated", &Passes::saturated},
                                      {"dead", &Passes::dead},
                                      {"identical", &Passes::identical}}};

}  // namespace

Passes parse_passes(std::string_view text, std::string_view field) {
  if (text == "none") return {};
  if (text == "all") return kExactPasses;
  Passes passes;
  for (const std::string_view name : split_at_commas(text)) {
    const auto flag = std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& f) { return f.first == name; });
    if (flag == kFlags.end())
      throw UsageError(
          std::string(field),
          "'" + std::string(name) +
              "' is no pass; expected all, none, or a list of twins, unused, merge, saturated, dead, identical");
    passes.*(flag->second) = true;
  }
  return passes;
}

std::string to_string(const Passes& passes) {
  std::string text;
  for (const auto& [name, flag] : kFlags) {
    if (!(passes.*flag)) continue;
    if (!text.empty()) text += ',';
    text += name;
  }
  return text.empty() ? "none" : text;
}

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
