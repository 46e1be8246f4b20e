#pragma once

#include <functional>
#include <memory>

#include "cluster/communicator.hpp"

namespace spdnn::cli {

/// The other ranks, once all of them are there; the program ends where they are not in time.
std::unique_ptr<Communicator> join_within(int seconds);
/// What `work` returns, which all ranks do together. Where it fails on one of them, that rank tells, and ends all.
int end_together(Communicator& ranks, const std::function<int()>& work);

}  // namespace spdnn::cli
