#include <fmt/format.h>

#include <algorithm>

#include "report/conv_summary.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"
#include "report/significant.hpp"

namespace spdnn::sections {

namespace {

std::vector<ConvLine> conv_lines(const Results& results) {
  std::vector<ConvLine> lines;
  for (const auto& [line, place] : results.convolutions) lines.push_back(line);
  return lines;
}

/// The place of a line's machine and build.
Cell conv_origin(const ConvLine& line, const Results& results) {
  const auto found = std::find(results.origins.begin(), results.origins.end(), line.origin);
  return origin(static_cast<std::size_t>(found - results.origins.begin()));
}

Column table_column() { return {"table", "", false, "The layers of a paper or a network: spdnn bench conv --help"}; }
Column variant_column() { return {"variant", "", false, "That offers our kernel"}; }
Column peer_column() {
  return {"beside", "", false, "Another kernel, or a library's, and its precision; ours is fp32"};
}

Column input_zeros_column() { return {"input zeros", "%", true, "Among the numbers of the input, at random"}; }

Table conv_means_table(const std::vector<ConvLine>& lines, const Results& results) {
  Table table{"conv-means",
              "Geometric means over the layers of a table. Above 1 ours are faster.",
              {table_column(),
               {"zeros", "%", true, "Among the weights; first and depthwise layers have none"},
               {"batch", "", true},
               {"threads", "", true},
               variant_column(),
               {"layers", "", true},
               peer_column(),
               {"times as fast", "", true, "Geometric mean of the medians over turns"},
               input_zeros_column(),
               columns::run_on()},
              {}};
  for (const ConvMean& mean : conv_means(lines))
    table.rows.push_back(
        {{mean.first->table, percent(mean.first->sparsity), whole(mean.first->batch), whole(mean.first->origin.threads),
          mean.first->variant, whole(mean.layers), mean.with, number(mean.speed_up, 3),
          percent(mean.first->input_sparsity), conv_origin(*mean.first, results)}});
  return table;
}

Cell break_even_cell(const ConvBreakEven& one) {
  if (one.zeros) return percent(*one.zeros);
  return one.faster ? Cell("below " + significant(100 * one.least)) : Cell("above " + significant(100 * one.most));
}

Table conv_break_even_table(const std::vector<ConvLine>& lines, const Results& results) {
  Table table{"conv-break-even",
              "Shares of zeros, among the weights or in the input, from which on a layer is as fast as the other "
              "kernel, interpolated between those that were measured.",
              {table_column(),
               {"layer"},
               {"batch", "", true},
               {"threads", "", true},
               variant_column(),
               peer_column(),
               {"break-even", "% zeros", true},
               {"of", "", false, "Whose zeros are counted"},
               {"other zeros", "%", true, "Of the input if those of the weights are counted, else of the weights"},
               columns::run_on()},
              {}};
  for (const ConvBreakEven& one : conv_break_evens(lines))
    table.rows.push_back(
        {{one.first->table, one.first->layer, whole(one.first->batch), whole(one.first->origin.threads),
          one.first->variant, one.with, break_even_cell(one), one.of_input ? "input" : "weights",
          percent(one.of_input ? one.first->sparsity : one.first->input_sparsity), conv_origin(*one.first, results)}});
  return table;
}

Table conv_times_table(const Results& results) {
  Table table{"conv-times",
              "Our kernel and another in turns, on random weights, each in its own layouts. Rows in which the other "
              "one is faster are marked.",
              {table_column(),
               {"layer", "", false, "Channels x height x width, kernel / stride -> filters"},
               {"zeros", "%", true},
               {"batch", "", true},
               {"threads", "", true},
               {"kernel"},
               {"time", "ms", true, "Median of the runs"},
               {"rate", "GFMA/s", true, "Multiply-adds of weights that are not zero / time"},
               {"traffic", "MB", true, "Least: images, results and weights that are not zero, once"},
               peer_column(),
               {"its time", "ms", true, "Median of its runs"},
               {"times as fast", "", true, "Median over turns of its time / ours"},
               {"load", "", true, "Runnable threads of the machine per processor, before the runs"},
               {"runs", "", true},
               input_zeros_column(),
               columns::run_on()},
              {}};
  for (const auto& [line, place] : results.convolutions) {
    const auto row = [&, &line = line, place = place](const ConvPeerLine* peer) {
      return Row{{line.table, line.layer, percent(1 - line.kept), whole(line.batch), whole(line.origin.threads),
                  line.kernel, milliseconds(line.median), number(line.multiply_adds * line.kept / line.median / 1e9, 3),
                  number(line.bytes / 1e6, 3), peer == nullptr ? Cell() : Cell(peer->with),
                  peer == nullptr ? Cell() : milliseconds(peer->median),
                  peer == nullptr ? Cell() : number(1 / peer->ratio.median, 3), number(line.load, 3), whole(line.runs),
                  percent(line.input_sparsity), origin(place)},
                 peer != nullptr && peer->ratio.median > 1};
    };
    if (line.with.empty()) table.rows.push_back(row(nullptr));
    for (const ConvPeerLine& peer : line.with) table.rows.push_back(row(&peer));
  }
  return table;
}

/// Adds a name to a list of distinct ones.
void add_name(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// A cell for each name: the time of the part that has it; empty if there is none.
template <class Parts, class NameOf, class SecondsOf>
void add_times(const std::vector<std::string>& names, const Parts& parts, NameOf name_of, SecondsOf seconds_of,
               Row& row) {
  for (const std::string& name : names) {
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return name_of(one) == name; });
    row.cells.push_back(part == parts.end() ? Cell() : milliseconds(seconds_of(*part)));
  }
}

/// What papers report, beside ours and the others' in all precisions.
Table conv_published_table(const Results& results) {
  std::vector<std::string> published;
  std::vector<std::string> peers;
  for (const auto& [line, place] : results.convolutions) {
    if (!line.published) continue;
    for (const auto& [kernel, seconds] : line.published->seconds) add_name(kernel, published);
    for (const ConvPeerLine& peer : line.with) add_name(peer.with, peers);
  }
  Table table{"conv-published",
              "Times that papers report for the same layers, shares of zeros and batches, on their machines, beside "
              "ours and the others'.",
              {table_column(), {"layer"}, {"zeros", "%", true}, {"batch", "", true}, {"paper"}, {"on"}},
              {}};
  for (const std::string& kernel : published) table.columns.push_back({kernel, "ms", true, "Published"});
  table.columns.push_back({"ours", "", false, "Our kernel here, in fp32"});
  table.columns.push_back({"time", "ms", true, "Median of its runs"});
  for (const std::string& peer : peers) table.columns.push_back({peer, "ms", true, "Median of its runs"});
  table.columns.push_back(columns::run_on());
  for (const auto& [line, place] : results.convolutions) {
    if (!line.published) continue;
    Row row{{line.table, line.layer, percent(1 - line.kept), whole(line.batch), line.published->source,
             line.published->device}};
    add_times(
        published, line.published->seconds, [](const auto& one) { return one.first; },
        [](const auto& one) { return one.second; }, row);
    row.cells.insert(row.cells.end(), {line.kernel, milliseconds(line.median)});
    add_times(
        peers, line.with, [](const auto& one) { return one.with; }, [](const auto& one) { return one.median; }, row);
    row.cells.push_back(origin(place));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::optional<Section> convolutions(const Results& results) {
  if (results.convolutions.empty()) return std::nullopt;
  const std::vector<ConvLine> lines = conv_lines(results);
  Section section{"convolutions", "Convolutions", {}};
  Table means = conv_means_table(lines, results);
  Table break_evens = conv_break_even_table(lines, results);
  for (Table* const table : {&means, &break_evens})
    if (!table->rows.empty()) section.blocks.emplace_back(std::move(*table));
  section.blocks.emplace_back(conv_times_table(results));
  if (Table published = conv_published_table(results); !published.rows.empty())
    section.blocks.emplace_back(std::move(published));
  return section;
}

}  // namespace spdnn::sections
