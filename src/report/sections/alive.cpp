#include <fmt/format.h>

#include <algorithm>

#include "report/by_layer.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

/// Of networks that differ in depth alone the deepest: the others' images are its first layers'.
std::vector<const Configuration*> shown(const Results& results) {
  constexpr std::size_t kMost = 8;
  std::vector<const Configuration*> kept;
  for (const Configuration& one : results.headline) {
    if (one.first.alive.empty()) continue;
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Configuration* other) {
      return other->first.neurons == one.first.neurons && other->first.bias == one.first.bias &&
             other->first.images == one.first.images;
    });
    if (same == kept.end())
      kept.push_back(&one);
    else if ((*same)->first.layers < one.first.layers)
      *same = &one;
  }
  kept.resize(std::min(kept.size(), kMost));
  return kept;
}

std::string title_of(const Configuration& one) {
  return fmt::format("{} neurons, bias {}", one.first.neurons, one.first.bias);
}

Table table_of(const std::vector<const Configuration*>& configurations) {
  Table table{"alive-table", "Images with a non-zero after some of the layers.", {{"after layer", "", true}}, {}};
  std::size_t deepest = 0;
  for (const Configuration* one : configurations) {
    table.columns.push_back({title_of(*one), "", true});
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
  const std::vector<const Configuration*> configurations = shown(results);
  if (configurations.empty()) return std::nullopt;
  Chart chart{.id = "alive-chart",
              .title = "Images that are still alive",
              .description =
                  "Both axes are logarithmic. Images die in the first layers; those that are left at the end "
                  "are the categories.",
              .kind = Chart::Kind::lines,
              .x = {"after layer", true},
              .y = {"images with a non-zero", true}};
  for (const Configuration* one : configurations)
    chart.series.push_back(
        {title_of(*one), points_by_layer({one->first.alive.begin(), one->first.alive.end()}, chart.y.logarithmic)});
  Section section{"alive", "Images alive by layer", {}};
  section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(Paragraph{
      "Of networks that differ in depth alone the deepest is shown. How many of these images were distinct, the "
      "lines do not say: `identical` takes equal images together, but alive images are counted one by one."});
  section.blocks.emplace_back(table_of(configurations));
  return section;
}

}  // namespace spdnn::sections
