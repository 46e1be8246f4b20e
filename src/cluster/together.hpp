#pragma once

#include <exception>

#include "cluster/communicator.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// Thrown on all ranks where work that they did side by side has failed on one of them: they can still talk to one
/// another.
struct RanksFailed : DeviceError {
  explicit RanksFailed(std::exception_ptr mine) : DeviceError("another rank failed"), own(std::move(mine)) {}
  std::exception_ptr own;  ///< the exception of this rank's work; null if another rank failed
};

/// Does work without communication between ranks, then waits for the others. Throws RanksFailed if the work throws on
/// any rank; exceptions of a single process are passed on.
template <class Work>
void together(Communicator& ranks, const Work& work) {
  if (ranks.is_alone()) return work();
  std::exception_ptr mine;
  try {
    work();
  } catch (...) {
    mine = std::current_exception();
  }
  if (!ranks.all(mine == nullptr, Communicator::Group::job)) throw RanksFailed(mine);
}

}  // namespace spdnn
