#pragma once

// The order in which a group of neurons reads its terms from shared memory; see layout.hpp.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engines/cuda/resident/layout.hpp"

namespace spdnn {

/// A term as a thread block reads it: the slot of its input, and the weight.
struct Term {
  std::uint16_t slot;
  float weight;
};
using Terms = std::vector<Term>;  ///< of one neuron, padded

/// Orders the reads of a group so that no two in one step use the same bank group, unless they read the same slot. In
/// each step the rows with most remaining terms choose first; a row may be moved to its other slot to make room for
/// another (an augmenting path of a bipartite matching of rows and bank groups).
class GroupScheduler {
 public:
  GroupScheduler(const CsrMatrix& weights, const ResidentLayout& layout, std::span<const std::uint16_t> replicas)
      : weights_(weights), zero_slot_(layout.zero_slot), mask_(layout.shape.bank_groups() - 1), replicas_(replicas) {}

  /// `padded[i]` becomes the terms of row `rows[i]`.
  void run(std::span<const Index> rows, std::span<Terms> padded) {
    Index active = narrow<Index>(rows.size());
    for (Index i = 0; i < active; ++i) {
      rows_[i] = {weights_.offsets[rows[i]], weights_.offsets[Offset{rows[i]} + 1]};
      order_[i] = static_cast<std::uint8_t>(i);
      padded[i].clear();
      padded[i].reserve(2 * weights_.degree(rows[i]));
    }
    while (true) {
      sort_by_left(active);
      while (active > 0 && rows_[order_[active - 1]].left() == 0) --active;
      if (active == 0) return;
      reader_of_.fill(kFree);
      broadcast_ = 0;
      for (Index row = 0; row < rows.size(); ++row) rows_[row].chosen = kNoReplica;
      for (Index k = 0; k < active; ++k) choose_slot(order_[k]);
      for (Index row = 0; row < rows.size(); ++row) padded[row].push_back(take(rows_[row]));
    }
  }

 private:
  static constexpr std::uint8_t kFree = 0xff;

  struct Row {
    Offset next = 0;  ///< entry
    Offset end = 0;
    std::array<std::uint16_t, 2> slots{};  ///< of the next entry
    std::uint16_t chosen = kNoReplica;     ///< the slot that it reads in this step

    Offset left() const { return end - next; }
  };

  /// Most terms left first; stable. Insertion sort: a step changes little.
  void sort_by_left(Index count) {
    for (Index i = 1; i < count; ++i) {
      const std::uint8_t row = order_[i];
      Index at = i;
      for (; at > 0 && rows_[order_[at - 1]].left() < rows_[row].left(); --at) order_[at] = order_[at - 1];
      order_[at] = row;
    }
  }

  void choose_slot(std::uint8_t number) {
    Row& row = rows_[number];
    const Index input = weights_.indices[row.next];
    row.slots = {static_cast<std::uint16_t>(input), replicas_[input]};
    for (const std::uint16_t slot : row.slots) {
      const std::uint8_t reader = reader_of_[slot & mask_];
      if (slot == kNoReplica || reader == kFree || rows_[reader].chosen != slot) continue;
      row.chosen = slot;
      broadcast_ |= 1U << (slot & mask_);
      return;
    }
    std::uint32_t seen = broadcast_;
    find_augmenting_path(number, seen);
  }

  bool find_augmenting_path(std::uint8_t number, std::uint32_t& seen) {
    Row& row = rows_[number];
    for (const std::uint16_t slot : row.slots) {
      if (slot == kNoReplica) continue;
      const Index bank_group = slot & mask_;
      if ((seen >> bank_group & 1U) != 0) continue;
      seen |= 1U << bank_group;
      if (reader_of_[bank_group] != kFree && !find_augmenting_path(reader_of_[bank_group], seen)) continue;
      reader_of_[bank_group] = number;
      row.chosen = slot;
      return true;
    }
    return false;
  }

  Term take(Row& row) {
    if (row.chosen == kNoReplica) return {idle_slot(), 0.0F};
    return {row.chosen, weights_.entry_value(row.next++)};
  }

  /// A slot of zeros in a bank group that no read of this step uses.
  std::uint16_t idle_slot() const {
    Index bank_group = 0;
    while (bank_group < mask_ && reader_of_[bank_group] != kFree) ++bank_group;
    return static_cast<std::uint16_t>(zero_slot_ + ((bank_group - zero_slot_) & mask_));
  }

  const CsrMatrix& weights_;
  Index zero_slot_;
  Index mask_;  ///< bank groups - 1: their number is a power of two
  std::span<const std::uint16_t> replicas_;
  std::array<Row, 32> rows_;
  std::array<std::uint8_t, 32> order_{};
  std::array<std::uint8_t, 32> reader_of_{};  ///< by bank group: the row that reads it in this step
  std::uint32_t broadcast_ = 0;               ///< bank groups whose slot several rows read: their reader stays
};

}  // namespace spdnn
