#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "spdnn/report.hpp"

namespace spdnn {

// What the reports of networks and of models say in the same words.

/// A line of the text report.
std::string report_line(std::string_view key, const std::string& value);
/// The line of a phase.
std::string phase_line(std::string_view key, double seconds, const std::string& more = "");
/// The line of infer.
std::string infer_line(const Spread& infer, int trials);

/// Minimum, median, maximum and sum.
nlohmann::ordered_json spread_json(const Spread& spread);
/// Version, commit, dirty.
nlohmann::ordered_json build_json();

}  // namespace spdnn
