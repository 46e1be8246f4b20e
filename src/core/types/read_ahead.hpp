#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/types/plan.hpp"

namespace spdnn {

/// The layers of a plan in order, any number of times. If they are streamed, a separate thread reads the next ones
/// while the caller works; otherwise they are the plan's own.
class ReadAhead {
 public:
  /// The caller keeps up to `kept` of the layers that may be in memory; the others, at least one, are read ahead.
  /// `chain` must outlive this object.
  explicit ReadAhead(const LayerChain& chain, Index kept = 1);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Waits for layer k; rethrows errors of reading it. Cheap if layers are requested in order. Not thread-safe.
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
  std::size_t most_ = 1;  ///< number of layers read ahead
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Slot> ready_;  ///< layers next_, next_ + 1, ...
  Index next_ = 0;          ///< depth() if none was requested yet
  bool skipped_ = false;    ///< the layer being read is no longer wanted
  std::jthread thread_;     ///< the last member, so that it has ended before the others are destroyed
};

}  // namespace spdnn
