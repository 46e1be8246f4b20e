#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"
#include "report/significant.hpp"

namespace spdnn::sections {

namespace {

double edges_per_byte(const LayerLine& line) { return line.edges_per_second * line.seconds.median / line.bytes; }

/// The unit for the greatest rate of the layers.
RateUnit layer_unit(const Results& results) {
  double greatest = 0;
  for (const auto& layer : results.layers) greatest = std::max(greatest, layer.first.edges_per_second);
  return unit_of(greatest);
}

Table layer_table(const Results& results) {
  const RateUnit unit = layer_unit(results);
  Table table{"layers-table",
              "Synthetic layers without structure; several are timed together.",
              {columns::neurons(),
               {"degree", "", true, "Inputs of each neuron"},
               {"weights", "", false, "Constant: one common value; distinct: a different value for every weight"},
               {"images", "", true},
               columns::variant(),
               {"a layer", "ms", true, "Median over the trials"},
               {"min", "ms", true},
               {"max", "ms", true},
               {"rate", unit.name, true, "Images x edges / time"},
               {"traffic", "MB", true, "Minimum: weights read once, every activation read and written once"},
               {"edges per byte", "", true, "Images x edges / traffic"},
               {"of ceiling", "%", true, "Traffic / time, as a share of the bandwidth of a plain copy"},
               {"trials", "", true},
               columns::run_on()},
              {}};
  for (const auto& [line, place] : results.layers)
    table.rows.push_back({{whole(line.neurons), whole(line.degree), line.weights, whole(line.images), variant_of(line),
                           milliseconds(line.seconds.median), milliseconds(line.seconds.min),
                           milliseconds(line.seconds.max), unit.cell(line.edges_per_second), number(line.bytes / 1e6),
                           number(edges_per_byte(line)), percent(line.bytes / line.seconds.median / line.ceiling),
                           whole(static_cast<std::uint64_t>(line.trials)), origin(place)}});
  return table;
}

/// For one problem on one machine, by one build: the fastest measurements per image.
struct CrossOver {
  const LayerLine* full = nullptr;     ///< in fp32
  const LayerLine* reduced = nullptr;  ///< in a lower precision
  std::size_t place = 0;
};

double seconds_per_image(const LayerLine& line) { return line.seconds.median / static_cast<double>(line.images); }

std::vector<CrossOver> cross_overs(const Results& results) {
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::string, std::uint64_t, std::size_t>;
  std::map<Key, CrossOver> by_problem;
  for (const auto& [line, place] : results.layers) {
    if (line.precision == "fp64") continue;
    CrossOver& one = by_problem[{line.neurons, line.degree, line.weights, line.images, place}];
    const LayerLine*& fastest = line.precision == "fp32" ? one.full : one.reduced;
    if (fastest == nullptr || seconds_per_image(line) < seconds_per_image(*fastest)) fastest = &line;
    one.place = place;
  }
  std::vector<CrossOver> both;
  for (const auto& [key, one] : by_problem)
    if (one.full != nullptr && one.reduced != nullptr) both.push_back(one);
  return both;
}

Table layer_table(const std::vector<CrossOver>& all) {
  Table table{"cross-overs-table",
              "Comparison of precisions below fp32, whose categories may differ, with the fastest engine in fp32.",
              {columns::neurons(),
               {"degree", "", true, "Inputs of each neuron"},
               {"weights", "", false, "Constant: one common value; distinct: a different value for every weight"},
               {"images", "", true},
               {"in fp32", "", false, "The fastest variant"},
               {"fp32", "ms", true, "Time of a layer"},
               {"below fp32", "", false, "The fastest variant and its precision"},
               {"below", "ms", true, "Time of a layer"},
               {"fp32 / below", "", true, "Above 1: the lower precision wins"},
               columns::run_on()},
              {}};
  for (const CrossOver& one : all)
    table.rows.push_back({{whole(one.full->neurons), whole(one.full->degree), one.full->weights,
                           whole(one.full->images), variant_of(*one.full), milliseconds(one.full->seconds.median),
                           variant_of(*one.reduced), milliseconds(one.reduced->seconds.median),
                           number(seconds_per_image(*one.full) / seconds_per_image(*one.reduced)), origin(one.place)}});
  return table;
}

/// Adds a straight line on logarithmic axes over the range of all points.
void add_roofs(const Results& results, const RateUnit& unit, Chart& chart) {
  double least = INFINITY;
  double greatest = 0;
  std::vector<std::pair<std::string, double>> ceilings;
  for (const auto& layer : results.layers) {
    const LayerLine& line = layer.first;
    least = std::min(least, edges_per_byte(line));
    greatest = std::max(greatest, edges_per_byte(line));
    const std::string name = processor_of(line.origin);
    auto ceiling = std::find_if(ceilings.begin(), ceilings.end(), [&](const auto& c) { return c.first == name; });
    if (ceiling == ceilings.end()) ceiling = ceilings.insert(ceilings.end(), {name, 0});
    ceiling->second = std::max(ceiling->second, line.ceiling);
  }
  for (const auto& [name, bytes] : ceilings)
    chart.series.push_back(
        {fmt::format("roof: copy on {}, {} GB/s", name, significant(bytes / 1e9, 3)),
         {{least / 1.5, least / 1.5 * bytes / unit.size}, {greatest * 1.5, greatest * 1.5 * bytes / unit.size}},
         true,
         false});
}

/// The variants with the highest rates, because more could not be distinguished; the others are one series.
std::vector<std::string> shown_variants(const Results& results) {
  constexpr std::size_t kMost = 5;
  std::map<std::string, double> best;
  for (const auto& layer : results.layers) {
    double& rate = best[variant_of(layer.first)];
    rate = std::max(rate, layer.first.edges_per_second);
  }
  std::vector<std::string> names;
  names.reserve(best.size());
  for (const auto& one : best) names.push_back(one.first);
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return best[a] > best[b]; });
  if (names.size() > kMost + 1) names.resize(kMost);
  return names;
}

Chart layer_chart(const Results& results) {
  const RateUnit unit = layer_unit(results);
  Chart chart{.id = "roofline",
              .title = "Roofline of single layers",
              .description =
                  "Both axes are logarithmic. A point on its machine's line moves the minimum traffic as fast as a "
                  "plain copy; engines that keep activations on chip from layer to layer can be above it. Slower "
                  "variants are combined into one series.",
              .kind = Chart::Kind::lines,
              .x = {"edges per byte of minimum traffic", true},
              .y = {unit.words, true}};
  add_roofs(results, unit, chart);
  const std::vector<std::string> shown = shown_variants(results);
  for (const std::string& name : shown) chart.series.push_back({name, {}, false});
  for (const auto& layer : results.layers) {
    const LayerLine& line = layer.first;
    const bool alone = std::find(shown.begin(), shown.end(), variant_of(line)) != shown.end();
    points_of(chart, {alone ? variant_of(line) : "others", {}, false})
        .push_back({edges_per_byte(line), line.edges_per_second / unit.size,
                    fmt::format("{}{} neurons, degree {}, {} weights, {} images", alone ? "" : variant_of(line) + ", ",
                                line.neurons, line.degree, line.weights, line.images)});
  }
  return chart;
}

}  // namespace

std::optional<Section> layers(const Results& results) {
  if (results.layers.empty()) return std::nullopt;
  Section section{"layers", "Single layers", {}};
  section.blocks.emplace_back(
      Paragraph{"Measured by `spdnn bench layers` on layers without redundancy. They have no verdict: they measure the "
                "speed of an engine on a layer; its correctness is checked by the tests."});
  section.blocks.emplace_back(layer_chart(results));
  section.blocks.emplace_back(layer_table(results));
  if (const std::vector<CrossOver> all = cross_overs(results); !all.empty())
    section.blocks.emplace_back(layer_table(all));
  return section;
}

}  // namespace spdnn::sections
