#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/baselines.hpp"
#include "report/configurations.hpp"
#include "report/document.hpp"

/// The sections of a report of results, one file each. Those that may have nothing to say are then empty.
namespace spdnn::sections {

/// The challenge's submission table; nothing where no line is of a network.
std::optional<Section> results(const Results& results);
/// Variants that did the same work on the same machine.
std::optional<Section> variants(const Results& results);
/// Against one of our own variants, by its name.
std::optional<Section> speed_ups(const Results& results, const std::string& baseline);
/// Against other systems, with the whole of what is known of these.
std::optional<Section> others(const Results& results, const std::vector<Baseline>& baselines);
/// Runs of one problem on different numbers of ranks.
std::optional<Section> scaling(const Results& results);
std::optional<Section> phases(const Results& results);
/// How many images are left after each layer.
std::optional<Section> alive(const Results& results);
/// Single layers: roofline.
std::optional<Section> layers(const Results& results);
/// Runs of models.
std::optional<Section> models(const Results& results);
/// What each node of a model took, where lines have a profile.
std::optional<Section> profiles(const Results& results);
/// Clocks, temperature, power and energy.
std::optional<Section> device_state(const Results& results);
/// Configurations that are no headline figures, and why.
std::optional<Section> set_aside(const Results& results);
Section machines(const Results& results);
/// What each time and each rate counts; docs/timing.md and docs/models.md are the reference.
std::optional<Section> definitions(const Results& results);

}  // namespace spdnn::sections
