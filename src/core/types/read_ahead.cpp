#include "core/types/read_ahead.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace spdnn {

ReadAhead::ReadAhead(const LayerChain& chain, Index kept) : chain_(chain) {
  if (!chain.streamed || depth() == 0) return;
  most_ = std::max<std::size_t>(1, chain.streamed->at_once - std::min(chain.streamed->at_once, kept));
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  } catch (const std::system_error&) {
    // Without a thread, layers are read on request.
  }
}

Layer ReadAhead::layer(Index k) {
  if (!chain_.streamed) return chain_.layers[k];
  if (!thread_.joinable()) return chain_.streamed->stream->read(k);
  std::unique_lock lock(mutex_);
  if (k != next_) {
    ready_.clear();
    next_ = k;
    skipped_ = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return !ready_.empty(); });
  Slot slot = std::move(ready_.front());
  ready_.pop_front();
  next_ = k + 1;
  changed_.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.layer);
}

auto ReadAhead::read(Index k) const -> Slot {
  try {
    return {chain_.streamed->stream->read(k), nullptr};
  } catch (...) {
    return {{}, std::current_exception()};
  }
}

void ReadAhead::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] { return ready_.size() < most_ && next_ + ready_.size() < depth(); };
  while (changed_.wait(lock, stop, wanted)) {
    if (stop.stop_requested()) return;
    skipped_ = false;
    const auto k = static_cast<Index>(next_ + ready_.size());
    lock.unlock();
    Slot slot = read(k);
    lock.lock();
    if (!skipped_) ready_.push_back(std::move(slot));
    changed_.notify_all();
  }
}

}  // namespace spdnn
