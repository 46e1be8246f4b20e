#pragma once

#include <map>
#include <string>

#include "cluster/communicator.hpp"

namespace spdnn {

/// The properties that all ranks of a run must share.
struct RunRequest {
  std::string program;                         ///< its version and commit
  std::map<std::string, std::string> options;  ///< those on the command line, by name; flags have empty values
};

/// To be called by all ranks right after they have joined: returns if all agree. Otherwise throws RanksFailed
/// (together.hpp) on all of them, with the cause on the first rank that differs from rank 0: a DeviceError for another
/// program, a UsageError for another option. The first message has the same size in all versions.
void require_agreement(Communicator& ranks, const RunRequest& mine);

}  // namespace spdnn
