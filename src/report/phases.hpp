#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/text/json.hpp"
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
Json record_json(const RunRecord& record);
Json machine_json(const Machine& machine);
Json judgement_json(const Judgement& judgement);
Json min_median_max_json(const std::optional<Spread>& spread);
/// Minimum, median, maximum and sum.
Json spread_json(const Spread& spread);
/// Version, commit, dirty.
Json build_json();

}  // namespace spdnn
