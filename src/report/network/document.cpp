#include "report/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/network/sections.hpp"
#include "report/significant.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Inputs, then the outputs of each layer; one number if all are equal.
std::vector<std::uint64_t> widths_of(const Network& network) {
  std::vector<std::uint64_t> widths{network.inputs()};
  for (const Layer& layer : network.layers) widths.push_back(layer.outputs());
  if (std::all_of(widths.begin(), widths.end(), [&](auto width) { return width == widths.front(); })) widths.resize(1);
  return widths;
}

/// The bias as in lines; empty if biases differ, because lines then give only the range of those kept by the plan.
std::optional<std::string> one_bias(const Network& network) {
  std::optional<double> bias;
  for (const Layer& layer : network.layers) {
    if (layer.bias.min() != layer.bias.max() || (bias && *bias != layer.bias.min())) return std::nullopt;
    bias = layer.bias.min();
  }
  return fmt::format("{:g}", bias.value_or(0));
}

std::string network_summary(const NetworkView& view) {
  const Offset given = view.plan.provenance.given_edges;
  return fmt::format(
      "{} layers, {} inputs, {} outputs, {} edges. The plan stores {} of them ({} %), and {} would run it. Layers are "
      "numbered from 1; layer {} is shown in detail.",
      view.network.layers.size(), view.network.inputs(), view.network.outputs(), given, view.plan.edges(),
      significant(given == 0 ? 0 : 100 * static_cast<double>(view.plan.edges()) / static_cast<double>(given), 3),
      view.variant, view.shown + 1);
}

}  // namespace

Document network_document(const NetworkView& view) {
  network_sections::Census census{take_census(view.network, view.plan), {}};
  census.sum = sum_of(census.layers);
  return {
      view.name,
      network_summary(view),
      {network_sections::layers(view), network_sections::degrees(view, census), network_sections::edges(view),
       network_sections::plan(view, census), network_sections::twins(view, census), network_sections::images(view)}};
}

RunLine run_of(const Network& network, const ResultLines& lines, std::string_view name) {
  const std::vector<std::uint64_t> widths = widths_of(network);
  const std::optional<std::string> bias = one_bias(network);
  const std::string cap = network.cap ? fmt::format("{:g}", *network.cap) : "none";
  const auto same = [&](const RunLine& run) {
    return run.layers == network.layers.size() && run.edges == network.edges() && run.widths == widths &&
           (!bias || run.bias == *bias) && run.cap == cap;
  };
  const auto last = std::find_if(lines.runs.rbegin(), lines.runs.rend(), same);
  if (last != lines.runs.rend()) return *last;
  throw DataError(
      fmt::format("{}: no run of this network, expected one of {} layers and {} edges from {} to {} neurons with bias "
                  "{} and cap {}",
                  name, network.layers.size(), network.edges(), network.inputs(), network.outputs(),
                  bias.value_or("es of several values"), cap));
}

}  // namespace spdnn
