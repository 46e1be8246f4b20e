#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "spdnn/report.hpp"

namespace spdnn {

// What the reports of networks and of models say in the same words.

/// A line of the text report.
std::string report_line(std::string_view key, const std::string& value);
/// The line of a phase.
std::string phase_line(std::string_view key, double seconds, const std::string& more = "");
/// The line of infer, and one on trials that lie far apart.
std::string infer_line(const Spread& infer, int trials);

/// Of a run on several ranks.
std::string ranks_text(const RankSpreads& ranks);
/// null where there are none.
nlohmann::ordered_json ranks_json(const std::optional<RankSpreads>& ranks);
nlohmann::ordered_json min_median_max_json(const std::optional<Spread>& spread);
/// Minimum, median, maximum and sum.
nlohmann::ordered_json spread_json(const Spread& spread);
/// Version, commit, dirty.
nlohmann::ordered_json build_json();

}  // namespace spdnn
