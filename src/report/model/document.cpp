#include "report/model/document.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/text/amounts.hpp"
#include "core/text/message.hpp"
#include "core/types/share_of_zeros.hpp"
#include "model/graph/quantised.hpp"
#include "report/by_layer.hpp"
#include "report/network/spy.hpp"
#include "report/sections/cells.hpp"
#include "report/significant.hpp"

namespace spdnn {

using sections::number;
using sections::share_of;
using sections::whole;

namespace {

/// Weights per row, zeros included.
double row_weights(const NodeWork& work) { return share_of(static_cast<double>(work.weights), work.rows); }

std::string title_of(const ModelView& view, std::size_t node) {
  const std::string& name = view.model.nodes[node].name;
  return name.empty() ? fmt::format("node {}", node + 1) : fmt::format("node {}, {}", node + 1, escaped(name));
}

Cell percent_cell(double part) { return {significant(100 * part, 4), 100 * part}; }

Row node_row(const ModelView& view, std::size_t n) {
  const Node& node = view.model.nodes[n];
  const NodeWork& work = view.work[n];
  Row row{{whole(n + 1), std::string(operation_name(node.operation)), escaped(node.name),
           shape_text(view.model.values[node.output].shape)}};
  if (work.rows == 0) {
    row.cells.resize(row.cells.size() + 8);
    return row;
  }
  for (Cell& cell : std::vector<Cell>{
           whole(work.weights), whole(work.nonzeros), percent_cell(share_of_zeros(work.weights, work.nonzeros)),
           whole(work.least), number(work.mean()), whole(work.most), number(work.dense()), number(work.sparse())})
    row.cells.push_back(std::move(cell));
  return row;
}

Section nodes_section(const ModelView& view) {
  Table table{"nodes-table",
              "Every node in order of computation. A row holds the weights of one output channel.",
              {{"node", "", true},
               {"operation"},
               {"name"},
               {"output", "", false, "Shape of the node's output; N is the number of images"},
               {"weights", "", true, "Zeros included"},
               {"non-zero", "", true, "Weights that are not zero"},
               {"zeros", "%", true, "Share of the weights that are zero"},
               {"min of a row", "", true, "Fewest non-zeros of an output channel"},
               {"mean", "", true},
               {"max", "", true},
               {"multiply-adds", "", true, "For one image, of all weights"},
               {"of non-zeros", "", true, "For one image, of the weights that are not zero"}},
              {}};
  for (std::size_t n = 0; n < view.work.size(); ++n) table.rows.push_back(node_row(view, n));
  Section section{"nodes", "Nodes", {}};
  for (const std::string& note : view.notes) section.blocks.emplace_back(Paragraph{note + "."});
  section.blocks.emplace_back(std::move(table));
  return section;
}

/// Points for the nodes that have weights, not joined, because other nodes lie between them; `value` takes one node.
template <class Value>
Series by_node(const ModelView& view, std::string name, Value value) {
  Series series{.name = std::move(name), .line = false};
  for (std::size_t n = 0; n < view.work.size(); ++n)
    if (view.work[n].rows > 0)
      series.points.push_back({static_cast<double>(n + 1), value(view.work[n]), title_of(view, n)});
  return series;
}

/// Ranges of non-zeros per row, in quarters of the node's mean.
constexpr std::array<const char*, 10> kRanges{
    "none",     "up to 1/4",  "1/4 to 1/2", "1/2 to 3/4", "3/4 to 1",
    "1 to 5/4", "5/4 to 3/2", "3/2 to 7/4", "7/4 to 2",   "more than twice the mean"};

void count_rows(const CsrMatrix& weights, double mean, std::array<double, kRanges.size()>& counts) {
  for (Index row = 0; row < weights.rows; ++row) {
    const auto nonzeros = static_cast<double>(weights.degree(row));
    const double quarters = mean == 0 ? 0 : 4 * nonzeros / mean;
    std::size_t range = 0;
    while (range + 1 < counts.size() && quarters > static_cast<double>(range)) ++range;
    counts[range] += 1;
  }
}

Chart skew_chart(const ModelView& view, std::size_t shown) {
  Chart chart{
      .id = "skew",
      .title = "Non-zeros of a row against the mean of its node",
      .description = "Share of the rows in each range of multiples of the mean; rows of equal length share a bar.",
      .kind = Chart::Kind::bars,
      .x = {"% of the rows"}};
  chart.categories.assign(kRanges.begin(), kRanges.end());
  const auto add = [&](const std::string& name, std::size_t first, std::size_t end) {
    std::array<double, kRanges.size()> counts{};
    double rows = 0;
    for (std::size_t n = first; n < end; ++n)
      if (const CsrMatrix* const weights = matrix_or_null(view.model.nodes[n].operation)) {
        count_rows(*weights, view.work[n].mean(), counts);
        rows += weights->rows;
      }
    Series series{name};
    for (std::size_t i = 0; i < counts.size(); ++i)
      series.points.push_back({static_cast<double>(i), 100 * share_of(counts[i], rows)});
    chart.series.push_back(std::move(series));
  };
  add("all nodes", 0, view.work.size());
  add(title_of(view, shown), shown, shown + 1);
  return chart;
}

Section sparsity_section(const ModelView& view, std::size_t shown) {
  Section section{"sparsity", "Sparsity", {}};
  section.blocks.emplace_back(
      Paragraph{fmt::format("{} of {} weights are not zero: {} % are zero.", view.total.nonzeros, view.total.weights,
                            significant(100 * share_of_zeros(view.total.weights, view.total.nonzeros), 4))});
  const auto zeros = [](const NodeWork& work) { return 100 * share_of_zeros(work.weights, work.nonzeros); };
  section.blocks.emplace_back(
      zeros_by_node("Share of each node's weights that are zero.", {by_node(view, "zeros", zeros)}));
  Chart rows_chart{
      .id = "rows",
      .title = "Non-zeros of a row, by node",
      .description = "The fewest, the mean and the most non-zeros of an output channel, in per cent of its weights.",
      .kind = Chart::Kind::lines,
      .x = {"node"},
      .y = {"% of a row's weights"}};
  const auto of_row = [](double nonzeros, const NodeWork& work) { return 100 * share_of(nonzeros, row_weights(work)); };
  rows_chart.series = {by_node(view, "most", [&](const NodeWork& work) { return of_row(work.most, work); }),
                       by_node(view, "mean", [&](const NodeWork& work) { return of_row(work.mean(), work); }),
                       by_node(view, "fewest", [&](const NodeWork& work) { return of_row(work.least, work); })};
  rows_chart.series = without_twins(rows_chart.series);
  section.blocks.emplace_back(std::move(rows_chart));
  section.blocks.emplace_back(skew_chart(view, shown));
  return section;
}

/// Shows the positions of the non-zeros of one node's matrix.
Section weights_section(const ModelView& view, std::size_t shown) {
  const std::string title = title_of(view, shown);
  Section section{"weights", "Where the non-zeros of " + title + " are", {}};
  const CsrMatrix& weights = *matrix_or_null(view.model.nodes[shown].operation);
  if (weights.rows == 0 || weights.cols == 0) {
    section.blocks.emplace_back(Paragraph{"The node has no weights."});
    return section;
  }
  Chart chart{.id = "spy", .title = title, .kind = Chart::Kind::spy, .x = {"weight of a row"}, .y = {"output channel"}};
  chart.description = fmt::format(
      "The {} non-zeros of {} output channels with {} weights each. Weights of a convolution are ordered by input "
      "channel, then by row and column of the window.",
      weights.entries(), weights.rows, weights.cols);
  chart.grid = network_sections::spy(weights);
  chart.grid.entry = "non-zero";
  section.blocks.emplace_back(std::move(chart));
  return section;
}

Section work_section(const ModelView& view) {
  Section section{"work", "Multiply-adds", {}};
  section.blocks.emplace_back(Paragraph{
      fmt::format("An image takes {} multiply-adds of all weights, and {} of those that are not zero: {} times fewer.",
                  significant(view.total.dense), significant(view.total.sparse),
                  view.total.sparse > 0 ? significant(view.total.dense / view.total.sparse, 3) : "infinitely many")});
  Chart chart{.id = "work-by-node",
              .title = "Multiply-adds by node",
              .description = "For one image: of all weights, which a dense engine computes, and of the non-zero ones.",
              .kind = Chart::Kind::lines,
              .x = {"node"},
              .y = {"multiply-adds of an image", true}};
  chart.series = {by_node(view, "all weights", [](const NodeWork& work) { return work.dense(); }),
                  by_node(view, "non-zero", [](const NodeWork& work) { return work.sparse(); })};
  for (Series& series : chart.series)  // required by the logarithmic axis
    std::erase_if(series.points, [](const Point& point) { return point.y <= 0; });
  chart.series = without_twins(chart.series);
  section.blocks.emplace_back(std::move(chart));
  return section;
}

Section run_section(const ModelView& view) {
  Section section{"run", "Planned run", {}};
  section.blocks.emplace_back(
      Paragraph{view.would_run.empty()
                    ? fmt::format("`spdnn infer` refuses the model: {}.", escaped(view.why))
                    : fmt::format("`{}` would run it: {}. This applies to the model after the rewrites of "
                                  "`spdnn infer`, whose nodes may have other numbers, and {} at a time; "
                                  "`infer` takes 64, or more small ones. All figures above are of the model as given.",
                                  view.would_run, escaped(view.why), counted(view.batch, "image", "images"))});
  section.blocks.emplace_back(Paragraph{fmt::format(
      "The model takes {} in memory, and each variant the amount in the table.", bytes_text(bytes_of(view.model)))});
  Table table{
      "variants-table",
      fmt::format("Every variant that this build has, for {} at a time.", counted(view.batch, "image", "images")),
      {{"variant"},
       {"memory", "MB", true, "Required for the model and the activations"},
       {"description, or why it does not support the model"}},
      {}};
  for (const VariantAnswer& answer : view.answers) {
    const bool takes = answer.why_not.empty();
    std::string remarks;
    for (const std::string& remark : answer.remarks) remarks += "; " + escaped(remark);
    table.rows.push_back({{answer.name, takes ? number(static_cast<double>(answer.bytes) / 1e6) : Cell(),
                           takes ? answer.description + remarks : "does not support it: " + escaped(answer.why_not)},
                          !takes});
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

Section program_section(const std::vector<ProgramStep>& program) {
  Table table{"program-table",
              "Every kernel in order of execution. Predictions are for this machine; a step may compute several nodes.",
              {{"step", "", true},
               {"operation", "", false, "The node, with those that are fused with it"},
               {"kernel"},
               {"layouts", "", false, "Of the inputs and of the output"},
               {"why", "", false, "The kernel's own choice and its reason"},
               {"predicted", "us", true}},
              {}};
  double sum = 0;
  for (const ProgramStep& step : program) {
    sum += step.seconds;
    table.rows.push_back({{whole(table.rows.size() + 1), step.operation, step.kernel, step.layouts, escaped(step.why),
                           number(step.seconds * 1e6)}});
  }
  const Paragraph time{
      fmt::format("{} in {} us, as predicted.", counted(program.size(), "kernel", "kernels"), significant(sum * 1e6))};
  return {"program", "Program", {time, std::move(table)}};
}

std::string summary_of(const ModelView& view, std::optional<std::size_t> shown) {
  const auto shapes = [&](const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + shape_text(view.model.values[id].shape);
    return text;
  };
  return fmt::format("{}{} from {} to {}; {} of {} weights are not zero.{}",
                     view.model.name.empty() ? "" : escaped(view.model.name) + ": ",
                     counted(view.model.nodes.size(), "node", "nodes"), shapes(view.model.inputs),
                     shapes(view.model.outputs), view.total.nonzeros, view.total.weights,
                     shown ? fmt::format(" Nodes are numbered from 1; node {} is shown in detail.", *shown + 1)
                           : std::string(" No node has weights."));
}

}  // namespace

std::vector<ProgramStep> program_of(const ModelView& view) {
  for (const VariantAnswer& answer : view.answers)
    if (view.would_run.starts_with(answer.name + " ")) return answer.program;
  return {};
}

ModelView view_of(std::string name, const Model& model) {
  ModelView view{.name = std::move(name), .model = model, .work = work_of(model)};
  view.total = sum_of(view.work);
  if (auto note = note_on_quantised(model)) view.notes.push_back(std::move(*note));
  return view;
}

std::optional<std::size_t> heaviest_node(const ModelView& view) {
  std::optional<std::size_t> heaviest;
  for (std::size_t n = 0; n < view.work.size(); ++n)
    if (view.work[n].rows > 0 && (!heaviest || view.work[n].weights > view.work[*heaviest].weights)) heaviest = n;
  return heaviest;
}

Document model_document(const ModelView& view, std::optional<std::size_t> shown) {
  Document document{"Model " + escaped(view.name), summary_of(view, shown), {nodes_section(view)}};
  if (shown) {
    document.sections.push_back(sparsity_section(view, *shown));
    document.sections.push_back(weights_section(view, *shown));
    document.sections.push_back(work_section(view));
  }
  document.sections.push_back(run_section(view));
  if (const std::vector<ProgramStep> program = program_of(view); !program.empty())
    document.sections.push_back(program_section(program));
  return document;
}

}  // namespace spdnn
