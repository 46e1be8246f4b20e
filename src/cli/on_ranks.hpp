#pragma once

#include <functional>
#include <memory>

#include "cli/options.hpp"
#include "cluster/communicator.hpp"

namespace spdnn::cli {

/// Connects the ranks once all have started; an error if their command lines or programs differ. The program ends if
/// they do not all start within --join-timeout.
std::unique_ptr<Communicator> join_ranks(const po::variables_map& values);
/// The result of `work`, which all ranks do together. If it fails on a rank, that rank reports the error and ends the
/// job; if several fail in the same way, the first one does.
int end_together(Communicator& ranks, const std::function<int()>& work);

}  // namespace spdnn::cli
