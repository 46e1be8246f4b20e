#include "engines/cuda/conv_2to4/columns.hpp"

#include <algorithm>

#include "core/types/groups_of_four.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t round_up(std::size_t number, std::size_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// Whether columns of kGroupInputs neighbours are left for one more, and each row in which that has a weight has fewer
/// than kGroupValues.
class OpenGroup {
 public:
  OpenGroup(Index rows, std::size_t first) : first_(first), counts_(rows) {}

  std::size_t next() const { return first_ + members_; }
  bool is_full() const { return members_ == kGroupInputs; }
  template <class Entries>
  bool has_room_for(const Entries& entries) const {
    return std::all_of(entries.begin(), entries.end(),
                       [&](const auto& entry) { return counts_[entry.row] < kGroupValues; });
  }
  template <class Entries>
  void add(const Entries& entries) {
    for (const auto& entry : entries) ++counts_[entry.row];
    ++members_;
  }

 private:
  std::size_t first_;
  Index members_ = 0;
  std::vector<std::uint8_t> counts_;
};

}  // namespace

GroupedFilters::GroupedFilters(const Weights& weights, const Window& window)
    : rows_(weights.rows()), channels_(weights.typed()->inputs()) {
  const TypedMatrix& typed = *weights.typed();
  const CsrMatrix& csr = weights.csr();
  const std::size_t of_tap = round_up(channels_, kGroupInputs);
  columns_.resize(typed.taps * of_tap);
  std::vector<std::size_t> place(std::size_t{typed.taps} * channels_);  // the column of each column of the weights
  for (Index tap = 0; tap < typed.taps; ++tap)
    for (Index at = 0; at < channels_; ++at) {
      const Index column = column_of(typed, tap, at);
      place[column] = tap * of_tap + at;
      columns_[place[column]] = {static_cast<std::int32_t>(column / typed.taps),
                                 static_cast<std::int32_t>(tap_position(window, 0, 0, tap / window.kernel[1])),
                                 static_cast<std::int32_t>(tap_position(window, 1, 0, tap % window.kernel[1]))};
    }
  std::vector<std::uint8_t> counts(columns_.size() / kGroupInputs);
  std::vector<std::vector<Entry>> rest(columns_.size());
  for (Index row = 0; row < rows_; ++row) {
    std::fill(counts.begin(), counts.end(), std::uint8_t{0});
    for (Offset at = csr.offsets[row]; at < csr.offsets[std::size_t{row} + 1]; ++at) {
      const std::size_t column = place[csr.indices[at]];
      const Entry entry{row, column, csr.entry_value(at)};
      if (counts[column / kGroupInputs]++ < kGroupValues)
        entries_.push_back(entry);
      else
        rest[column].push_back(entry);
    }
  }
  add_copies(rest);
  columns_.resize(round_up(columns_.size(), kColumnsTogether));
}

/// The copy of a column goes into the first group that has room for it.
void GroupedFilters::add_copies(const std::vector<std::vector<Entry>>& rest) {
  std::vector<OpenGroup> open;
  for (std::size_t column = 0; column < rest.size(); ++column) {
    if (rest[column].empty()) continue;
    auto group =
        std::find_if(open.begin(), open.end(), [&](const OpenGroup& one) { return one.has_room_for(rest[column]); });
    if (group == open.end()) {
      group = open.insert(open.end(), OpenGroup(rows_, columns_.size()));
      columns_.resize(columns_.size() + kGroupInputs);
    }
    columns_[group->next()] = columns_[column];
    for (const Entry& entry : rest[column]) entries_.push_back({entry.row, group->next(), entry.value});
    group->add(rest[column]);
    ++copies_;
    if (group->is_full()) open.erase(group);
  }
}

bool GroupedFilters::is_input() const {
  if (columns_.size() != channels_) return false;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const ColumnSource& source = columns_[column];
    if (!source.same_place({}) || source.channel != static_cast<std::int32_t>(column)) return false;
  }
  return true;
}

std::vector<float> GroupedFilters::weights() const {
  std::vector<float> all(rows_ * columns_.size());
  for (const Entry& entry : entries_) all[entry.row * columns_.size() + entry.column] = entry.value;
  return all;
}

std::size_t pixels_of_piece(std::size_t pixels, std::size_t columns, std::size_t bytes) {
  const std::size_t all = pixels / kPixelsTogether;
  const std::size_t together = kPixelsTogether * columns * sizeof(std::uint16_t);
  std::size_t pieces = std::min(all, std::max<std::size_t>(1, (all * together + bytes - 1) / bytes));
  while (all % pieces != 0) ++pieces;
  return pixels / pieces;
}

}  // namespace spdnn::cuda
