#pragma once

#include <map>
#include <string>

#include "cluster/communicator.hpp"

namespace spdnn {

/// What the ranks of a run must have in common.
struct RunRequest {
  std::string program;                         ///< its version and commit
  std::map<std::string, std::string> options;  ///< those on the command line, by name; flags have empty values
};

/// To be called by all ranks right after they have joined: returns where all ask for the same. Otherwise RanksFailed
/// (together.hpp) on all of them, whose cause is on the first rank that differs from rank 0: a DeviceError for another
/// program, a UsageError for another option. What is exchanged first has the same size in all versions.
void require_agreement(Communicator& ranks, const RunRequest& mine);

}  // namespace spdnn
