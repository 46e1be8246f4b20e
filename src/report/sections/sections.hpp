#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/baselines.hpp"
#include "report/configurations.hpp"
#include "report/document.hpp"

/// The sections of a report of results, one file each. Optional ones may be empty.
namespace spdnn::sections {

/// The challenge's submission table; empty if no line is from a network.
std::optional<Section> results(const Results& results);
/// Compares variants that did the same work on the same machine.
std::optional<Section> variants(const Results& results);
/// Speed-ups over one of our own variants, given by name.
std::optional<Section> speed_ups(const Results& results, const std::string& baseline);
/// Comparison with other systems, with all known data about them.
std::optional<Section> others(const Results& results, const std::vector<Baseline>& baselines);
/// Compares runs of one problem on different numbers of ranks.
std::optional<Section> scaling(const Results& results);
std::optional<Section> phases(const Results& results);
/// The number of alive images after each layer.
std::optional<Section> alive(const Results& results);
/// Single layers: roofline.
std::optional<Section> layers(const Results& results);
/// Runs of models.
std::optional<Section> models(const Results& results);
/// Layers by `bench conv`, beside oneDNN.
std::optional<Section> convolutions(const Results& results);
/// Times of models by `bench model`, beside those of another program.
std::optional<Section> model_benches(const Results& results);
/// The time of each node of a model, if lines have it.
std::optional<Section> profiles(const Results& results);
/// Clocks, temperature, power and energy.
std::optional<Section> device_state(const Results& results);
/// Configurations excluded from the headline figures, with reasons.
std::optional<Section> set_aside(const Results& results);
Section machines(const Results& results);
/// The definitions of times and rates; docs/timing.md and docs/models.md are the reference.
std::optional<Section> definitions(const Results& results);

}  // namespace spdnn::sections
