#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "spdnn/run_record.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn {

// Parts common to the reports of networks and of models.

/// A line of the text report.
std::string report_line(std::string_view key, const std::string& value);
/// Additional texts of the lines of phases.
struct PhaseRemarks {
  std::string plan{};
  std::string share{};
  std::string upload{};
};
/// The lines of all phases: those of ranks and devices only if there are any, those of uncounted trials and checkpoints
/// only if they took time.
std::string phases_text(const RunRecord& record, const PhaseRemarks& remarks);

/// The engine and its settings.
std::string variant_text(const RunRecord& record);
/// The lines of the notes.
std::string notes_text(const RunRecord& record);
/// The text for a run on several ranks.
std::string ranks_text(const RankSpreads& ranks);
/// The device's state, if it was recorded.
std::string device_state_text(const DeviceState& state);
/// The fields of a JSON line that every run has: variant, notes, precision, trials, warm_up, batch, seconds, ranks,
/// machine, device_state, build.
nlohmann::ordered_json record_json(const RunRecord& record);
nlohmann::ordered_json machine_json(const Machine& machine);
nlohmann::ordered_json judgement_json(const Judgement& judgement);
nlohmann::ordered_json min_median_max_json(const std::optional<Spread>& spread);
/// Minimum, median, maximum and sum.
nlohmann::ordered_json spread_json(const Spread& spread);
/// Version, commit, dirty.
nlohmann::ordered_json build_json();

}  // namespace spdnn
