#include <fmt/format.h>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"
#include "report/significant.hpp"

namespace spdnn::sections {

namespace {

std::string least_to_greatest(const Spread& spread) {
  return fmt::format("{}, {} to {}", significant(spread.median), significant(spread.min), significant(spread.max));
}

}  // namespace

Section machines(const Results& results) {
  Table table{
      "machines-table",
      "The machines and builds of the columns `run on`. Host names distinguish machines that are otherwise equal.",
      {{"run on", "", true},
       {"host"},
       {"device"},
       {"driver"},
       {"CUDA"},
       {"processor"},
       {"threads", "", true, "Of all ranks together"},
       {"version"},
       {"commit"},
       {"changes", "", false, "Whether the build had uncommitted changes"},
       {"lines", "", true, "JSON lines read, including those replaced by later ones"}},
      {}};
  for (std::size_t i = 0; i < results.origins.size(); ++i) {
    const LineOrigin& one = results.origins[i];
    table.rows.push_back(
        {{origin(i), one.host, one.device.empty() ? "none" : one.device, one.driver, one.cuda, one.cpu,
          whole(one.threads), one.version, one.commit, one.dirty ? "with changes" : "none", whole(results.lines_of[i])},
         one.dirty});
  }
  return {"machines", "Machines and builds", {std::move(table)}};
}

std::optional<Section> device_state(const Results& results) {
  Table table{"device-table",
              "Sampled while infer was timed: median, minimum to maximum.",
              {columns::neurons(),
               columns::layers(),
               columns::variant(),
               columns::passes(),
               {"SM clock", "MHz", true},
               {"memory clock", "MHz", true},
               {"temperature", "degrees Celsius", true},
               {"power", "W", true},
               {"energy of a trial", "J", true},
               columns::run_on()},
              {}};
  const auto cell = [](const std::optional<Spread>& spread) {
    return spread ? Cell(least_to_greatest(*spread), spread->median) : Cell();
  };
  for (const Configuration& one : results.headline) {
    if (!one.first.device_state) continue;
    const LineDeviceState& state = *one.first.device_state;
    table.rows.push_back(
        {{Cell(one.first.neurons, static_cast<double>(one.first.width)), whole(one.first.layers), variant_of(one.first),
          one.first.passes, cell(state.sm_clock_mhz), cell(state.memory_clock_mhz), cell(state.temperature_c),
          cell(state.power_w), state.joules_per_trial ? number(*state.joules_per_trial) : Cell(), origin(one.origin)}});
  }
  if (table.rows.empty()) return std::nullopt;
  return Section{"device-state",
                 "Clocks, power and energy",
                 {Paragraph{"From the first run of each configuration whose lines contain them."}, std::move(table)}};
}

}  // namespace spdnn::sections
