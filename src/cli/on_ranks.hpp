#pragma once

#include <functional>
#include <memory>

#include "cli/options.hpp"
#include "cluster/communicator.hpp"

namespace spdnn::cli {

/// The other ranks, once all of them are there and have the same command line and program; an error where they have
/// not. The program ends where they are not there within --join-timeout.
std::unique_ptr<Communicator> join_ranks(const po::variables_map& values);
/// What `work` returns, which all ranks do together. Where it fails on one of them, that rank reports the error and
/// ends all; of several that fail in the same way, the first.
int end_together(Communicator& ranks, const std::function<int()>& work);

}  // namespace spdnn::cli
