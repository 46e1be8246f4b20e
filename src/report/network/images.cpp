// A run's data on where images die, settle and coincide.

#include <fmt/format.h>

#include <algorithm>

#include "report/by_layer.hpp"
#include "report/network/sections.hpp"
#include "report/sections/cells.hpp"
#include "report/significant.hpp"

namespace spdnn::network_sections {

using sections::number;
using sections::percent;
using sections::whole;

namespace {

/// Values by layer; empty if the run does not have them.
struct ImageEnds {
  std::vector<double> alive;
  std::vector<double> died;                     ///< in exactly this layer
  std::vector<std::optional<double>> computed;  ///< still, after the layer
  std::vector<std::optional<double>> settled;   ///< alive, but no longer computed
};

bool has_pass(const RunLine& run, std::string_view pass) {
  return ("," + run.passes + ",").find("," + std::string(pass) + ",") != std::string::npos;
}

ImageEnds image_ends_of(const RunLine& run) {
  ImageEnds ends;
  const bool dead_leave = has_pass(run, "dead");
  double before = static_cast<double>(run.images);
  for (std::size_t k = 0; k < run.alive.size(); ++k) {
    const auto alive = static_cast<double>(run.alive[k]);
    ends.alive.push_back(alive);
    ends.died.push_back(std::max(0.0, before - alive));
    before = alive;
    // Nothing is computed after the last layer, even for alive images.
    const bool counted = k < run.active.size() && run.active[k] && k + 1 < run.alive.size();
    ends.computed.push_back(counted ? std::optional(static_cast<double>(*run.active[k])) : std::nullopt);
    ends.settled.push_back(counted && dead_leave ? std::optional(std::max(0.0, alive - *ends.computed[k]))
                                                 : std::nullopt);
  }
  return ends;
}

bool any_known(const std::vector<std::optional<double>>& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
}

/// Unknown values are not drawn, like 0.
std::vector<double> drawn(const std::vector<std::optional<double>>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const auto& value : values) result.push_back(value.value_or(0));
  return result;
}

Chart images_chart(const ImageEnds& ends) {
  Chart chart{
      .id = "images-chart",
      .title = "Images alive, and images still computed",
      .description =
          "Both axes are logarithmic. Alive images that are no longer computed are at the cap or equal to another one.",
      .kind = Chart::Kind::lines,
      .x = {"after layer", true},
      .y = {"images", true}};
  chart.series.push_back({"alive", points_by_layer(ends.alive, true)});
  if (any_known(ends.computed)) chart.series.push_back({"still computed", points_by_layer(drawn(ends.computed), true)});
  if (any_known(ends.settled))
    chart.series.push_back({"settled or coincided", points_by_layer(drawn(ends.settled), true)});
  chart.series = without_twins(chart.series);
  return chart;
}

Chart deaths_chart(const ImageEnds& ends) {
  Chart chart{.id = "deaths-chart",
              .title = "Images that die in a layer",
              .description = "Both axes are logarithmic; layers in which no image dies are omitted.",
              .kind = Chart::Kind::lines,
              .x = {"layer", true},
              .y = {"images", true}};
  Series series{"die", {}, true};
  for (std::size_t k = 0; k < ends.died.size(); ++k)
    if (ends.died[k] > 0) series.points.push_back({static_cast<double>(k + 1), ends.died[k]});
  chart.series.push_back(std::move(series));
  return chart;
}

Table images_table(const ImageEnds& ends, const RunLine& run) {
  Table table{"images-table",
              "Images after some of the layers.",
              {{"after layer", "", true},
               {"alive", "", true, "With at least one non-zero"},
               {"dead", "", true, "Of all images"},
               {"still computed", "", true, "Neither retired nor equal to another image"},
               {"settled or coincided", "", true, "Alive, but no longer computed"}},
              {}};
  const auto known = [](const std::optional<double>& value) {
    return value ? whole(static_cast<std::uint64_t>(*value)) : Cell();
  };
  for (const std::size_t layer : some_layers(ends.alive.size()))
    table.rows.push_back({{whole(layer), whole(run.alive[layer - 1]), whole(run.images - run.alive[layer - 1]),
                           known(ends.computed[layer - 1]), known(ends.settled[layer - 1])}});
  return table;
}

std::string story_of(const ImageEnds& ends, const RunLine& run) {
  std::string text;
  const auto half = std::find_if(ends.alive.begin(), ends.alive.end(),
                                 [&](double alive) { return 2 * alive <= static_cast<double>(run.images); });
  if (half != ends.alive.end())
    text += fmt::format("Half of the images are dead after layer {}. ", half - ends.alive.begin() + 1);
  const auto last = std::find_if(ends.died.rbegin(), ends.died.rend(), [](double died) { return died > 0; });
  text += last == ends.died.rend() ? "No image dies. "
                                   : fmt::format("The last one dies in layer {}. ", ends.died.rend() - last);
  const auto idle = std::find_if(ends.computed.begin(), ends.computed.end(),
                                 [](const auto& computed) { return computed && *computed == 0; });
  if (idle != ends.computed.end())
    text += fmt::format("After layer {} nothing is left to compute. ", idle - ends.computed.begin() + 1);
  if (run.computed_edges)
    text += fmt::format("Of {} images x edges, {} % were computed.", significant(run.work()),
                        significant(100 * *run.computed_edges / run.work(), 3));
  return text;
}

std::string gaps_of(const ImageEnds& ends, const RunLine& run) {
  if (!any_known(ends.computed))
    return "The line does not contain the images that settled at the cap or coincided: an earlier version wrote it, or "
           "its engine does not count them.";
  std::string text =
      "Settled (`saturated`) and coincided (`identical`) images are counted together: which of the two passes removes "
      "an image first differs from run to run. A run with only one of them in `--reduce` shows it separately.";
  if (!has_pass(run, "dead"))
    text +=
        " This run also computed dead images, so images that settled or coincided cannot be distinguished from them.";
  return text;
}

}  // namespace

Section images(const NetworkView& view) {
  Section section{"images", "Where images die, settle and coincide", {}};
  if (!view.run) {
    section.blocks.emplace_back(
        Paragraph{"This depends on the images. Run them with `spdnn infer --json run.jsonl`, and create this page "
                  "again with `--run run.jsonl`."});
    return section;
  }
  const RunLine& run = *view.run;
  section.blocks.emplace_back(Paragraph{
      fmt::format("From a run of {} images by `{}` with passes `{}`, bias {}, cap {}: {}, {} categories.", run.images,
                  sections::variant_of(run), run.passes, run.bias, run.cap, run.status, run.categories)});
  section.blocks.emplace_back(
      Paragraph{"Lines do not identify their network. This one is from a network with the same neurons, layers, edges, "
                "bias and cap; if its weights differ, the figures below do not apply to this network."});
  if (run.alive.empty()) {
    section.blocks.emplace_back(Paragraph{"The engine of this run did not count images by layer."});
    return section;
  }
  const ImageEnds ends = image_ends_of(run);
  section.blocks.emplace_back(Paragraph{story_of(ends, run)});
  section.blocks.emplace_back(images_chart(ends));
  section.blocks.emplace_back(Paragraph{gaps_of(ends, run)});
  if (std::any_of(ends.died.begin(), ends.died.end(), [](double died) { return died > 0; }))
    section.blocks.emplace_back(deaths_chart(ends));
  section.blocks.emplace_back(images_table(ends, run));
  return section;
}

}  // namespace spdnn::network_sections
