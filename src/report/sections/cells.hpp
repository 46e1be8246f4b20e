#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/configurations.hpp"
#include "report/document.hpp"

namespace spdnn::sections {

Cell whole(std::uint64_t value);
Cell number(double value, int digits = 4);
Cell milliseconds(double seconds);
Cell percent(double share);
Cell origin(std::size_t number);  ///< in Results::origins

/// A part of a whole, from 0 to 1; 0 of nothing.
template <class Number, class Whole>
double share_of(Number part, Whole all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

/// The variant, with its precision unless that is fp32.
std::string variant_of(const RunLine& run);
std::string variant_of(const LayerLine& line);
std::string variant_of(const ModelLine& line);
std::string variant_of(const ModelBenchLine& line);
/// For instance `1024 x 120`; with edges and bias if the categories were not compared with the official ones, and with
/// the number of images if it is not the official one.
std::string problem_of(const RunLine& run);
/// The name of the device, or of the CPU.
std::string processor_of(const LineOrigin& origin);
/// The number of devices, or of threads.
std::uint64_t processors_of(const RunLine& run);
/// A configuration on one line, without its passes: problem, variant, the number of ranks if above one, and machine and
/// build if there are several.
std::string name_of(const Configuration& configuration, const Results& results);

/// A run of a model on one line: model, variant, batch, threads if they vary, and machine and build if there are
/// several.
std::string name_of(const ModelLine& line, std::size_t place, const Results& results);
std::string name_of(const ModelBenchLine& line, std::size_t place, const Results& results);

/// The unit of rates: one unit for a whole table or chart.
struct RateUnit {
  const char* name;
  const char* words;  ///< the title of an axis
  double size;        ///< edges per second

  Cell cell(double per_second) const;
  Cell cell(std::optional<double> per_second) const;
};
/// A readable unit for rates up to `greatest`: TE/s, or GE/s below 1 TE/s.
RateUnit unit_of(double greatest);
/// The unit for the greatest rate of the networks.
RateUnit rate_unit(const Results& results);

/// The points of the chart's series with this name; if there is none, `empty` is added to the chart.
std::vector<Point>& points_of(Chart& chart, const Series& empty);

/// Columns used in several tables.
namespace columns {
Column neurons();
Column layers();
Column variant();
Column passes();
Column infer();
Column rate(const RateUnit& unit);
Column run_on();
}  // namespace columns

}  // namespace spdnn::sections
