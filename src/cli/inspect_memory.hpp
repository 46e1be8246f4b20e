#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "core/text/json.hpp"
#include "inference/network/inspect.hpp"

namespace spdnn::cli {

/// The run whose memory `inspect` shows: --images, --ranks, --ranks-per-node and --checkpoint.
InspectedRun inspected_run(const po::variables_map& values);

// Its memory, per rank and per node.
void print_memory(std::FILE* out, const InspectedRun& run, const InspectedNetwork& inspected);
/// The parts with names, for the page.
std::vector<std::pair<std::string, std::size_t>> memory_by_part(const InspectedNetwork& inspected);
Json memory_json(const InspectedRun& run, const InspectedNetwork& inspected);

}  // namespace spdnn::cli
