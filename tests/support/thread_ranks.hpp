#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/communicator.hpp"

namespace spdnn::testing {

/// The messages in flight between threads that act as ranks.
class Mail {
 public:
  void put(int from, int to, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    waiting_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  void take(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& queue = waiting_[{from, to}];
    arrived_.wait(lock, [&] { return !queue.empty(); });
    std::copy(queue.front().begin(), queue.front().end(), bytes.begin());
    queue.pop_front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> waiting_;
};

class ThreadRank : public Communicator {
 public:
  /// Of one node, or of several nodes with as many ranks each; the last may have fewer.
  ThreadRank(Mail& mail, int rank, int ranks, int of_node = 0)
      : Communicator(place_of(rank, ranks, of_node == 0 ? ranks : of_node)),
        mail_(mail),
        of_node_(of_node == 0 ? ranks : of_node) {}

  void broadcast(std::span<std::byte> bytes, Group group) override {
    const std::vector<int> members = members_of(group);
    if (place().rank != members.front()) return receive(bytes, members.front());
    for (const int to : members)
      if (to != place().rank) send(bytes, to);
  }
  bool all(bool mine, Group group) override {
    const std::vector<int> members = members_of(group);
    std::byte flag{mine ? std::uint8_t{1} : std::uint8_t{0}};
    if (place().rank != members.front()) send({&flag, 1}, members.front());
    for (const int from : members) {
      if (place().rank != members.front() || from == place().rank) continue;
      std::byte theirs{};
      receive({&theirs, 1}, from);
      flag &= theirs;
    }
    broadcast({&flag, 1}, group);
    return flag != std::byte{0};
  }
  std::vector<std::size_t> gather_size(std::size_t mine) override {
    std::vector<std::size_t> all(is_root() ? static_cast<std::size_t>(place().ranks) : 0);
    const std::vector<std::size_t> sizes(all.size(), sizeof mine);
    gather(std::as_bytes(std::span(&mine, 1)), sizes, std::as_writable_bytes(std::span(all)));
    return all;
  }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> sizes, std::span<std::byte> all) override {
    send(mine, 0);
    if (is_root()) receive_all(all, sizes);
  }
  std::vector<std::size_t> exchange_sizes(std::span<const std::size_t> mine) override {
    std::vector<std::size_t> theirs(mine.size());
    const std::vector<std::size_t> sizes(mine.size(), sizeof mine[0]);
    exchange(std::as_bytes(mine), sizes, std::as_writable_bytes(std::span(theirs)), sizes);
    return theirs;
  }
  void exchange(std::span<const std::byte> out, std::span<const std::size_t> out_sizes, std::span<std::byte> in,
                std::span<const std::size_t> in_sizes) override {
    std::size_t begin = 0;
    for (int to = 0; to < place().ranks; begin += out_sizes[to++]) send(out.subspan(begin, out_sizes[to]), to);
    receive_all(in, in_sizes);
  }

 private:
  static RankPlace place_of(int rank, int ranks, int of_node) {
    return {rank, ranks, rank % of_node, std::min(of_node, ranks - rank / of_node * of_node)};
  }
  std::vector<int> members_of(Group group) const {
    std::vector<int> members;
    for (int rank = 0; rank < place().ranks; ++rank)
      if (group == Group::job || (group == Group::leaders && rank % of_node_ == 0) ||
          (group == Group::node && rank / of_node_ == place().rank / of_node_))
        members.push_back(rank);
    return members;
  }
  void send(std::span<const std::byte> bytes, int to) { mail_.put(place().rank, to, bytes); }
  void receive(std::span<std::byte> bytes, int from) { mail_.take(from, place().rank, bytes); }
  void receive_all(std::span<std::byte> all, std::span<const std::size_t> sizes) {
    std::size_t begin = 0;
    for (int from = 0; from < place().ranks; begin += sizes[from++]) receive(all.subspan(begin, sizes[from]), from);
  }

  Mail& mail_;
  int of_node_;
};

/// Ranks of which each node has two; the last has one where their number is odd.
class RankOfTwo final : public ThreadRank {
 public:
  RankOfTwo(Mail& mail, int rank, int ranks) : ThreadRank(mail, rank, ranks, 2) {}
};

/// Runs `work` on `ranks` ranks, each on a thread of its own, and returns each rank's exception, or null. It never ends
/// if one rank leaves a collective call out.
template <class Rank = ThreadRank>
std::vector<std::exception_ptr> on_ranks(int ranks, const std::function<void(Communicator&)>& work) {
  Mail mail;
  std::vector<std::exception_ptr> thrown(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Rank own(mail, rank, ranks);
      try {
        work(own);
      } catch (...) {
        thrown[rank] = std::current_exception();
      }
    });
  threads.clear();
  return thrown;
}

}  // namespace spdnn::testing
