#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/by_layer.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

/// Networks with the same mean number of edges per layer; all other stated properties are equal.
bool differ_in_depth_alone(const RunLine& a, const RunLine& b) {
  const auto key = [](const RunLine& run) {
    return std::tie(run.neurons, run.bias, run.cap, run.images, run.empty_images);
  };
  return key(a) == key(b) && a.edges * b.layers == b.edges * a.layers;
}

struct Shown {
  std::vector<const Configuration*> configurations;
  std::size_t left_out = 0;  ///< omitted for lack of space
};

/// The deepest of networks that differ only in depth: its first layers have the others' data.
Shown deepest(const Results& results) {
  constexpr std::size_t kMost = 8;
  Shown kept;
  std::vector<const Configuration*>& all = kept.configurations;
  Candidates<std::size_t> candidates;
  for (const Configuration& one : results.headline) {
    if (one.first.alive.empty()) continue;
    const std::size_t* const same = candidates.find(
        one.first.neurons, [&](std::size_t place) { return differ_in_depth_alone(all[place]->first, one.first); });
    if (same == nullptr) {
      candidates.add(one.first.neurons, all.size());
      all.push_back(&one);
    } else if (all[*same]->first.layers < one.first.layers) {
      all[*same] = &one;
    }
  }
  kept.left_out = all.size() - std::min(all.size(), kMost);
  all.resize(all.size() - kept.left_out);
  return kept;
}

std::string remarks_on(const Shown& kept) {
  std::string text = "Of networks that differ only in depth, the deepest is shown. ";
  if (kept.left_out > 0) text += fmt::format("{} more are omitted. ", kept.left_out);
  const bool silent = std::any_of(kept.configurations.begin(), kept.configurations.end(),
                                  [](const Configuration* one) { return one->first.active.empty(); });
  return text + "`identical` combines equal images, but alive images are counted individually" +
         (silent ? "; lines without `active` do not contain the number of distinct images." : ".");
}

std::string configuration_title(const Configuration& one) {
  return fmt::format("{} neurons, bias {}", one.first.neurons, one.first.bias);
}

Table alive_table(const std::vector<const Configuration*>& configurations) {
  Table table{"alive-table", "Images with a non-zero after some of the layers.", {{"after layer", "", true}}, {}};
  std::size_t deepest = 0;
  for (const Configuration* one : configurations) {
    table.columns.push_back({configuration_title(*one), "", true});
    deepest = std::max(deepest, one->first.alive.size());
  }
  const auto add = [&](std::size_t layer) {
    Row row{{whole(layer)}};
    for (const Configuration* one : configurations)
      row.cells.push_back(layer <= one->first.alive.size() ? whole(one->first.alive[layer - 1]) : Cell());
    table.rows.push_back(std::move(row));
  };
  for (const std::size_t layer : some_layers(deepest)) add(layer);
  return table;
}

}  // namespace

std::optional<Section> alive(const Results& results) {
  const Shown kept = deepest(results);
  const std::vector<const Configuration*>& configurations = kept.configurations;
  if (configurations.empty()) return std::nullopt;
  Chart chart{
      .id = "alive-chart",
      .title = "Images that are still alive",
      .description =
          "Both axes are logarithmic. Images die in the first layers; those still alive at the end are the categories.",
      .kind = Chart::Kind::lines,
      .x = {"after layer", true},
      .y = {"images with a non-zero", true}};
  for (const Configuration* one : configurations)
    chart.series.push_back({configuration_title(*one),
                            points_by_layer({one->first.alive.begin(), one->first.alive.end()}, chart.y.logarithmic)});
  chart.series = without_twins(chart.series);
  return Section{
      "alive", "Images alive by layer", {std::move(chart), Paragraph{remarks_on(kept)}, alive_table(configurations)}};
}

}  // namespace spdnn::sections
