// The structure of the network: layers, degrees, edges.

#include <fmt/format.h>

#include <algorithm>

#include "report/network/histograms.hpp"
#include "report/network/sections.hpp"
#include "report/network/spy.hpp"
#include "report/sections/cells.hpp"

namespace spdnn::network_sections {

using sections::number;
using sections::whole;

namespace {

Row kind_row(const LayerKind& kind) {
  const LayerDescription& d = kind.layer;
  return {{whole(kind.count), whole(kind.first), whole(d.inputs), whole(d.outputs), whole(d.edges), whole(d.min_degree),
           number(d.mean_degree), whole(d.max_degree), Cell(fmt::format("{:.2e}", d.density), d.density),
           whole(d.distinct_weights), whole(d.twins), whole(d.always_zero), whole(d.unread), whole(d.stored_outputs),
           whole(d.stored_edges), number(kind.distinct_terms / kind.count)}};
}

std::string values_text(const Histogram& histogram) {
  if (histogram.empty()) return "none";
  return histogram.min() == histogram.max()
             ? std::to_string(histogram.min())
             : fmt::format("{} to {}, median {}", histogram.min(), histogram.max(), histogram.median());
}

Chart spy_chart(std::string id, std::string title, std::string what, const CsrMatrix& weights) {
  Chart chart{
      .id = std::move(id), .title = std::move(title), .kind = Chart::Kind::spy, .x = {"input"}, .y = {"output"}};
  chart.grid = spy(weights);
  const Grid& grid = chart.grid;
  const auto filled = std::count_if(grid.counts.begin(), grid.counts.end(), [](auto count) { return count > 0; });
  chart.description = fmt::format(
      "{} {} edges of {} inputs and {} outputs; rows are outputs, columns inputs. {}, and {} of the {} cells have "
      "edges.",
      what, weights.entries(), grid.width, grid.height,
      grid.rows == grid.height && grid.columns == grid.width
          ? "Every cell is a single position"
          : fmt::format("A cell covers {} x {} positions", (grid.height + grid.rows - 1) / grid.rows,
                        (grid.width + grid.columns - 1) / grid.columns),
      filled, grid.counts.size());
  return chart;
}

}  // namespace

Section layers(const NetworkView& view) {
  Table table{"layers-table",
              "Layers with equal figures share a row. Work removed by the plan is counted as far as its passes "
              "searched for it.",
              {{"layers", "", true, "Number of layers in this row"},
               {"first", "", true, "Number of the first one"},
               {"inputs", "", true},
               {"outputs", "", true},
               {"edges", "", true, "In one layer, as given"},
               {"min degree", "", true, "Inputs of a neuron"},
               {"mean degree", "", true},
               {"max degree", "", true},
               {"density", "", true, "Edges / (inputs x outputs)"},
               {"weights", "", true, "Number of distinct weight values"},
               {"twins", "", true, "Neurons represented by another one"},
               {"always zero", "", true, "Neurons proven to be zero for every image"},
               {"unread", "", true, "Neurons that no neuron reads"},
               {"stored", "", true, "Neurons that the plan computes"},
               {"stored edges", "", true},
               {"terms", "", true, "Mean number of distinct terms (input and weight) of a stored neuron"}},
              {}};
  for (const LayerKind& kind : kinds_of(view.layers)) table.rows.push_back(kind_row(kind));
  return {"layers", "Layers", {std::move(table)}};
}

Section degrees(const NetworkView& view, const Census& census) {
  const LayerCensus& sum = census.sum;
  Section section{"degrees", "Degrees", {}};
  section.blocks.emplace_back(
      Paragraph{fmt::format("The degree of a neuron is the number of its inputs: {} in the whole network. Conversely, "
                            "the number of neurons that read an input of a layer: {}.",
                            values_text(sum.degrees), values_text(sum.readers))});
  const Counted by_degree{"degree", "Inputs of a neuron", "neurons", "inputs of a neuron", &LayerCensus::degrees};
  const Counted by_readers{"readers", "Readers of an input", "inputs", "neurons that read an input",
                           &LayerCensus::readers};
  for (const Counted& counted : {by_degree, by_readers}) {
    section.blocks.emplace_back(
        histogram_chart(counted, census, view.shown,
                        fmt::format("Share of the {} by this number, in per cent: {} in layer {}.", counted.of,
                                    values_text(census.layers[view.shown].*counted.histogram), view.shown + 1)));
    if (auto chart = chart_by_layer(counted, census, "Minimum, median and maximum in each layer."))
      section.blocks.emplace_back(std::move(*chart));
  }
  return section;
}

Section edges(const NetworkView& view) {
  const CsrMatrix& given = view.network.layers[view.shown].weights;
  const CsrMatrix& stored = view.plan.layers[view.shown].weights;
  const std::string layer = fmt::format("Layer {}", view.shown + 1);
  Section section{"edges", layer + ": where the edges are", {}};
  if (given.rows == 0 || given.cols == 0) {
    section.blocks.emplace_back(Paragraph{"The layer has no neurons."});
    return section;
  }
  section.blocks.emplace_back(spy_chart("spy", layer + " as given", "The", given));
  if (stored.entries() == given.entries() && stored.rows == given.rows && stored.cols == given.cols)
    section.blocks.emplace_back(Paragraph{"The plan stores this layer unchanged."});
  else if (stored.rows > 0 && stored.cols > 0)
    section.blocks.emplace_back(spy_chart("spy-stored", layer + " as the plan stores it", "The remaining", stored));
  else
    section.blocks.emplace_back(Paragraph{"The plan stores nothing of this layer."});
  return section;
}

}  // namespace spdnn::network_sections
