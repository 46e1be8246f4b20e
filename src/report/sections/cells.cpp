#include "report/sections/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/amounts.hpp"
#include "data/official/constants.hpp"
#include "report/significant.hpp"

namespace spdnn::sections {

Cell whole(std::uint64_t value) { return {std::to_string(value), static_cast<double>(value)}; }
Cell number(double value, int digits) { return {significant(value, digits), value}; }
Cell milliseconds(double seconds) { return number(seconds * 1e3); }
Cell percent(double share) {
  const double value = share * 100;
  return std::abs(value) < 1e15 ? Cell(fmt::format("{:.1f}", value), value) : number(value);
}
Cell origin(std::size_t number) { return whole(number + 1); }

namespace {

std::string with_precision(const auto& line) {
  return line.precision == "fp32" ? line.variant : line.variant + " " + line.precision;
}

}  // namespace

std::string variant_of(const RunLine& run) { return with_precision(run); }
std::string variant_of(const LayerLine& line) { return with_precision(line); }
std::string variant_of(const ModelLine& line) { return with_precision(line); }
std::string variant_of(const ModelBenchLine& line) { return with_precision(line); }

std::string problem_of(const RunLine& run) {
  std::string text = fmt::format("{} x {}", run.neurons, run.layers);
  if (!std::binary_search(run.checks.begin(), run.checks.end(), kOfficialTruth))
    text += fmt::format(" with {} edges, bias {}", run.edges, run.bias);
  if (run.images != kOfficialImages) text += fmt::format(", {} images", run.images);
  return text;
}

std::string processor_of(const LineOrigin& origin) { return origin.device.empty() ? origin.cpu : origin.device; }

std::uint64_t processors_of(const RunLine& run) {
  return run.origin.device.empty() ? run.origin.threads : static_cast<std::uint64_t>(run.ranks);
}

std::string name_of(const Configuration& configuration, const Results& results) {
  std::string text = fmt::format("{}, {}", problem_of(configuration.first), variant_of(configuration.first));
  if (configuration.first.ranks > 1) text += fmt::format(" on {} ranks", configuration.first.ranks);
  if (results.origins.size() > 1) text += fmt::format(" [{}]", Results::number_of(configuration.origin));
  return text;
}

namespace {

std::string name_of_model(const auto& line, const std::string& more, std::size_t place, const Results& results) {
  std::string text = fmt::format("{}, {}, batches of {}{}", line.model, variant_of(line), line.batch, more);
  if (results.origins.size() > 1) text += fmt::format(" [{}]", Results::number_of(place));
  return text;
}

}  // namespace

std::string name_of(const ModelLine& line, std::size_t place, const Results& results) {
  return name_of_model(line, "", place, results);
}

std::string name_of(const ModelBenchLine& line, std::size_t place, const Results& results) {
  return name_of_model(line, ", " + counted(line.origin.threads, "thread", "threads"), place, results);
}

Cell RateUnit::cell(double per_second) const { return number(per_second / size); }
Cell RateUnit::cell(std::optional<double> per_second) const { return per_second ? cell(*per_second) : Cell(); }

RateUnit unit_of(double greatest) {
  return greatest < 1e12 ? RateUnit{"GE/s", "GE/s: 1e9 edges per second", 1e9}
                         : RateUnit{"TE/s", "TE/s: 1e12 edges per second", 1e12};
}

RateUnit rate_unit(const Results& results) {
  double greatest = 0;
  for (const auto* part : {&results.headline, &results.set_aside})
    for (const Configuration& one : *part) greatest = std::max(greatest, one.rate());
  return unit_of(greatest);
}

std::vector<Point>& points_of(Chart& chart, const Series& empty) {
  const auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                  [&](const Series& series) { return series.name == empty.name; });
  return (found != chart.series.end() ? *found : chart.series.emplace_back(empty)).points;
}

namespace columns {
Column neurons() { return {"neurons", "", true, "Neurons per layer; all sizes if layers differ"}; }
Column layers() { return {"layers", "", true, "Layers of the network"}; }
Column variant() { return {"variant", "", false, "The engine"}; }
Column passes() { return {"passes", "", false, "The active exact passes, each of which skips redundant work"}; }
Column infer() {
  return {"infer", "ms", true,
          "Time from plan and images resident on the device until the host has the categories: median over the trials "
          "of a run, then median over the runs"};
}
Column rate(const RateUnit& unit) {
  return {
      "rate", unit.name, true,
      "The challenge's rate: images x edges of the network as given / infer, including edges that the passes skipped"};
}
Column run_on() { return {"run on", "", true, "The number of the machine and build, in Machines and builds"}; }
}  // namespace columns

}  // namespace spdnn::sections
