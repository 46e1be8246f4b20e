#include "prune/channel_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace spdnn {

namespace {

constexpr std::size_t kMembers = 4;       ///< channels of a group
constexpr std::size_t kCandidates = 256;  ///< channels, or groups to exchange with, that are looked at for one place
constexpr int kRounds = 8;                ///< of exchanges
constexpr std::size_t kMostTries = 10'000'000;  ///< of exchanges of two groups of up to 64 rows: some seconds
constexpr std::size_t kBits = 64;
constexpr std::size_t kNoChannel = std::numeric_limits<std::size_t>::max();  ///< fills the last group

using Group = std::array<std::size_t, kMembers>;

/// The rows of a tap that have a weight on each channel.
class ChannelRows {
 public:
  ChannelRows(const CsrMatrix& weights, Index taps, Index tap)
      : words_((weights.rows + kBits - 1) / kBits), bits_(words_ * (weights.cols / taps)) {
    for (Index row = 0; row < weights.rows; ++row)
      for (const Index column : weights.row(row))
        if (column % taps == tap) bits_[words_ * (column / taps) + row / kBits] |= std::uint64_t{1} << row % kBits;
  }

  std::uint64_t word(std::size_t channel, std::size_t w) const {
    return channel == kNoChannel ? 0 : bits_[words_ * channel + w];
  }
  std::size_t words() const { return words_; }
  int count(std::size_t channel) const {
    int sum = 0;
    for (std::size_t w = 0; w < words_; ++w) sum += std::popcount(word(channel, w));
    return sum;
  }

  /// Non-zeros beyond two in a row of the group.
  int excess(const Group& group) const {
    int sum = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t one = 0;
      std::uint64_t two = 0;
      for (const std::size_t channel : group) {
        const std::uint64_t bits = word(channel, w);
        sum += std::popcount(two & bits);
        two |= one & bits;
        one |= bits;
      }
    }
    return sum;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Forms groups one after another: the fullest channel that is left, then three times the one that adds the least
/// excess, and of these the one that fills the fewest rows with two.
class Grouping {
 public:
  Grouping(const ChannelRows& rows, std::size_t channels) : rows_(rows), left_(channels) {
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    std::vector<int> counts;
    for (const std::size_t channel : left_) counts.push_back(rows.count(channel));
    std::stable_sort(left_.begin(), left_.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    while (!left_.empty()) groups_.push_back(next());
  }
  std::vector<Group> groups() && { return std::move(groups_); }

 private:
  Group next() {
    one_.assign(rows_.words(), 0);
    two_.assign(rows_.words(), 0);
    Group group;
    group.fill(kNoChannel);
    for (std::size_t member = 0; member < kMembers && !left_.empty(); ++member) {
      const auto chosen = left_.begin() + static_cast<std::ptrdiff_t>(member == 0 ? 0 : best());
      group.at(member) = *chosen;
      for (std::size_t w = 0; w < rows_.words(); ++w) {
        two_[w] |= one_[w] & rows_.word(*chosen, w);
        one_[w] |= rows_.word(*chosen, w);
      }
      left_.erase(chosen);
    }
    return group;
  }

  std::size_t best() const {
    std::pair least{std::numeric_limits<int>::max(), std::numeric_limits<int>::max()};
    std::size_t found = 0;
    for (std::size_t i = 0; i < std::min(kCandidates, left_.size()); ++i) {
      std::pair cost{0, 0};
      for (std::size_t w = 0; w < rows_.words(); ++w) {
        const std::uint64_t bits = rows_.word(left_[i], w);
        cost.first += std::popcount(two_[w] & bits);
        cost.second += std::popcount(one_[w] & bits);
      }
      if (cost >= least) continue;
      least = cost;
      found = i;
    }
    return found;
  }

  const ChannelRows& rows_;
  std::vector<std::size_t> left_;  ///< the fullest first
  std::vector<Group> groups_;
  std::vector<std::uint64_t> one_;  ///< the rows of the group with a weight
  std::vector<std::uint64_t> two_;  ///< those with two
};

/// Exchanges a channel of `group` for one of another where that lowers their excess; whether it did. The last group
/// stays the only one that is not full.
bool exchange(const ChannelRows& rows, Group& group, Group& other) {
  const int before = rows.excess(group) + rows.excess(other);
  for (std::size_t& mine : group)
    for (std::size_t& theirs : other) {
      if (mine == kNoChannel || theirs == kNoChannel) continue;
      std::swap(mine, theirs);
      if (rows.excess(group) + rows.excess(other) < before) return true;
      std::swap(mine, theirs);
    }
  return false;
}

void improve(const ChannelRows& rows, std::vector<Group>& groups) {
  std::size_t tries = kMostTries / (rows.words() + 1);
  bool improved = true;
  for (int round = 0; improved && round < kRounds; ++round) {
    improved = false;
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (std::size_t step = 1; step < std::min(kCandidates, groups.size()) && rows.excess(groups[g]) > 0; ++step) {
        if (tries-- == 0) return;
        improved = exchange(rows, groups[g], groups[(g + step) % groups.size()]) || improved;
      }
  }
}

}  // namespace

Array<Index> channel_order(const CsrMatrix& weights, Index taps) {
  const std::size_t channels = weights.cols / taps;
  std::vector<Index> order;
  for (Index tap = 0; tap < taps; ++tap) {
    const ChannelRows rows(weights, taps, tap);
    std::vector<Group> groups = Grouping(rows, channels).groups();
    improve(rows, groups);
    for (const Group& group : groups)
      for (const std::size_t channel : group)
        if (channel != kNoChannel) order.push_back(static_cast<Index>(channel));
  }
  return order;
}

}  // namespace spdnn
