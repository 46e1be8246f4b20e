// The work that would be run, and the work removed by each pass.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/amounts.hpp"
#include "report/by_layer.hpp"
#include "report/network/histograms.hpp"
#include "report/network/sections.hpp"
#include "report/sections/cells.hpp"

namespace spdnn::network_sections {

using sections::percent;
using sections::share_of;
using sections::whole;

namespace {

std::string state_of(const NetworkView& view, bool Passes::*pass) {
  if (view.plan.passes.*pass) return "in force";
  return view.plan.provenance.requested.*pass ? "not applied" : "not requested";
}

Table facts_of(const NetworkView& view) {
  const Plan& plan = view.plan;
  Table table{"plan-table", "The plan, and the engine that would run it.", {{"what"}, {"value"}}, {}};
  const auto add = [&](const char* what, std::string value) { table.rows.push_back({{what, std::move(value)}}); };
  add("requested passes", to_string(plan.provenance.requested));
  add("passes in force", to_string(plan.passes));
  add("dead images leave", certificate_text(plan.certificates.dead_from, plan.depth()));
  add("saturated images leave", certificate_text(plan.certificates.saturated_from, plan.depth()));
  add("official network", view.official ? "yes" : "no");
  add("variant", view.variant);
  add("why this one", view.why.empty() ? "it was requested" : view.why);
  for (const auto& [what, bytes] : view.memory) add(what.c_str(), bytes_text(bytes));
  return table;
}

/// The neurons and edges removed by one step.
struct Step {
  const char* name;
  bool Passes::*pass;
  Offset neurons;
  Offset edges;
};

/// The steps in the planner's order.
std::array<Step, 4> steps_of(const LayerCensus& sum) {
  return {{{"unused: always zero", &Passes::unused, sum.always_zero, sum.always_zero_edges},
           {"twins", &Passes::twins, sum.twins, sum.twin_edges},
           {"unused: not read", &Passes::unused, sum.unread, sum.unread_edges},
           {"merge", &Passes::merge, 0, sum.merged_edges}}};
}

Table steps_table(const NetworkView& view, const LayerCensus& sum) {
  Table table{"passes-table",
              "The neurons and edges removed by each pass that changes the plan, in order. Neurons are the outputs of "
              "all layers.",
              {{"pass"},
               {"state"},
               {"neurons before", "", true},
               {"neurons after", "", true},
               {"edges before", "", true},
               {"edges after", "", true},
               {"edges removed", "%", true, "Share of the given edges"}},
              {}};
  Offset neurons = sum.stored + sum.twins + sum.always_zero + sum.unread;
  Offset edges = view.plan.provenance.given_edges;
  for (const Step& step : steps_of(sum)) {
    table.rows.push_back(
        {{step.name, state_of(view, step.pass), whole(neurons), whole(neurons - step.neurons), whole(edges),
          whole(edges - step.edges), percent(share_of(step.edges, view.plan.provenance.given_edges))}});
    neurons -= step.neurons;
    edges -= step.edges;
  }
  return table;
}

Table dynamic_table(const NetworkView& view) {
  const Plan& plan = view.plan;
  Table table{"dynamic-table",
              "Passes that act during inference; the work that they save depends on the images.",
              {{"pass"}, {"state"}, {"images that leave"}, {"certified from"}},
              {}};
  table.rows.push_back({{"dead", state_of(view, &Passes::dead), "all activations are zero",
                         certificate_text(plan.certificates.dead_from, plan.depth())}});
  table.rows.push_back({{"saturated", state_of(view, &Passes::saturated), "all activations are at the cap",
                         certificate_text(plan.certificates.saturated_from, plan.depth())}});
  table.rows.push_back({{"identical", state_of(view, &Passes::identical),
                         "all activations are equal to another image's", "wherever the engine compares images"}});
  return table;
}

Chart shares_chart(const NetworkView& view, const Census& census) {
  Chart chart{.id = "passes-shares",
              .title = "Neurons and edges under the passes",
              .description =
                  fmt::format("The plan stores {} of {} edges.", view.plan.edges(), view.plan.provenance.given_edges),
              .kind = Chart::Kind::stacked_bars,
              .x = {"%", false, 100}};
  using Count = Offset LayerCensus::*;
  struct Part {
    const char* name;
    Count neurons;
    Count edges;
  };
  constexpr std::array<Part, 5> kParts{{{"stored", &LayerCensus::stored, &LayerCensus::stored_edges},
                                        {"twins", &LayerCensus::twins, &LayerCensus::twin_edges},
                                        {"always zero", &LayerCensus::always_zero, &LayerCensus::always_zero_edges},
                                        {"not read", &LayerCensus::unread, &LayerCensus::unread_edges},
                                        {"merged", nullptr, &LayerCensus::merged_edges}}};
  for (const Part& part : kParts) chart.series.push_back({part.name});
  const auto add = [&](std::string category, const LayerCensus& counts, Count Part::*what) {
    const auto count_of = [&](const Part& part) { return part.*what == nullptr ? Offset{0} : counts.*(part.*what); };
    Offset all = 0;
    for (const Part& part : kParts) all += count_of(part);
    for (std::size_t i = 0; i < kParts.size(); ++i)
      chart.series[i].points.push_back(
          {static_cast<double>(chart.categories.size()), 100 * share_of(count_of(kParts[i]), all)});
    chart.categories.push_back(std::move(category));
  };
  const LayerCensus& shown = census.layers[view.shown];
  const std::string layer = fmt::format("layer {}", view.shown + 1);
  add("edges, all layers", census.sum, &Part::edges);
  add("neurons, all layers", census.sum, &Part::neurons);
  if (census.layers.size() > 1) {
    add("edges, " + layer, shown, &Part::edges);
    add("neurons, " + layer, shown, &Part::neurons);
  }
  std::erase_if(chart.series, [](const Series& series) {
    return std::all_of(series.points.begin(), series.points.end(), [](const Point& point) { return point.y == 0; });
  });
  return chart;
}

Chart edges_by_layer(const NetworkView& view) {
  Chart chart{.id = "edges-by-layer",
              .title = "Edges by layer",
              .description = "As given, and as the plan stores them.",
              .kind = Chart::Kind::lines,
              .x = {"layer"},
              .y = {"edges", true}};
  std::vector<double> given;
  std::vector<double> stored;
  for (const LayerDescription& layer : view.layers) {
    given.push_back(static_cast<double>(layer.edges));
    stored.push_back(static_cast<double>(layer.stored_edges));
  }
  chart.series.push_back({"given", points_by_layer(given, true), true, false});
  chart.series.push_back({"stored", points_by_layer(stored, true), true, false});
  chart.series = without_twins(chart.series);
  return chart;
}

}  // namespace

Section plan(const NetworkView& view, const Census& census) {
  Section section{"plan", "Plan and passes", {facts_of(view)}};
  for (const std::string& note : view.plan.provenance.notes)
    section.blocks.emplace_back(Paragraph{"Note: " + note + "."});
  for (const std::string& note : view.notes) section.blocks.emplace_back(Paragraph{"Note: " + note + "."});
  section.blocks.emplace_back(shares_chart(view, census));
  section.blocks.emplace_back(Paragraph{
      "`unused` removes neurons that are zero for every image, with the terms that read them, and neurons that nothing "
      "reads; `twins` removes neurons that equal another one; `merge` combines equal terms of a sum."});
  section.blocks.emplace_back(steps_table(view, census.sum));
  section.blocks.emplace_back(dynamic_table(view));
  if (census.layers.size() > 1) section.blocks.emplace_back(edges_by_layer(view));
  return section;
}

Section twins(const NetworkView& view, const Census& census) {
  const Histogram& all = census.sum.classes;
  const Histogram& shown = census.layers[view.shown].classes;
  Section section{"twins", "Twins", {}};
  if (!view.plan.passes.twins) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("The pass `twins` is {}, so twins were not searched for.",
                              view.plan.provenance.requested.twins ? "not in force" : "not requested")});
    return section;
  }
  section.blocks.emplace_back(
      Paragraph{fmt::format("Neurons of a layer with the same terms, in the same order, and the same bias hold the "
                            "same value for every image. One of them is computed and represents its class: {} stored "
                            "neurons represent {}, and the largest class has {}.",
                            all.total(), census.sum.stored + census.sum.twins, all.max())});
  const Counted classes{"classes", "Sizes of the classes of twins", "stored neurons", "given neurons of a class",
                        &LayerCensus::classes};
  section.blocks.emplace_back(histogram_chart(
      classes, census, view.shown,
      fmt::format("Number of given neurons represented by a stored one. In layer {} the largest class has {}.",
                  view.shown + 1, shown.max())));
  if (auto chart = chart_by_layer(classes, census, "Minimum, median and maximum size of a class in each layer."))
    section.blocks.emplace_back(std::move(*chart));
  Table table{"classes-table",
              "Classes of twins by size.",
              {{"neurons of a class", "", true},
               {"classes, all layers", "", true},
               {fmt::format("classes, layer {}", view.shown + 1), "", true}},
              {}};
  for (const Range& range : ranges_of(all))
    table.rows.push_back({{Cell(text_of(range), static_cast<double>(range.first)), whole(count_in(all, range)),
                           whole(count_in(shown, range))}});
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace spdnn::network_sections
