#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "spdnn/plan.hpp"

namespace spdnn {

/// The layers of a plan, one after another, as often as they are wanted. Where they are streamed, a thread of its own
/// reads those that come next, up to the last, while the caller works on those that it has; otherwise they are simply
/// the plan's.
class ReadAhead {
 public:
  /// Of the layers that may be in memory at a time, the caller keeps up to `kept`: the others, at least one, are read
  /// ahead. `chain` must outlive this.
  explicit ReadAhead(const LayerChain& chain, Index kept = 1);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Layer k, once it is there; throws what reading it threw. Cheap for the layer after the one before. Not for several
  /// threads at once.
  Layer layer(Index k);

 private:
  struct Slot {
    Layer layer;
    std::exception_ptr error;
  };

  Index depth() const { return chain_.depth(); }
  Slot read(Index k) const;
  void work(const std::stop_token& stop);

  const LayerChain& chain_;
  std::size_t most_ = 1;  ///< layers that are read ahead
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Slot> ready_;  ///< layers next_, next_ + 1, ...
  Index next_ = 0;          ///< depth(): none, until one is asked for
  bool skipped_ = false;    ///< the layer that is being read is not wanted any more
  std::jthread thread_;     ///< the last member, so that it has ended before the others are destroyed
};

}  // namespace spdnn
