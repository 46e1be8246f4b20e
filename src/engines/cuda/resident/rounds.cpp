#include "engines/cuda/resident/rounds.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace spdnn {

namespace {

/// A warp's rounds while they are assigned.
struct Warp {
  Round split;  ///< empty: there is none
  WarpRounds whole;
  Offset load = 0;  ///< half chunks of all its neurons

  std::size_t rounds() const { return whole.size() + (split.empty() ? 0 : 1); }
};

/// One way to assign the groups, with a split round for `split` warps.
class Assignment {
 public:
  Assignment(std::span<const Index> halves, const TileShape& shape, Index split)
      : halves_(halves), shape_(shape), warps_(shape.warps()) {
    const Index in_bundle = shape.bundle() / shape.bank_groups();
    const Index in_piece = in_bundle / shape.pieces();
    const auto groups = narrow<Index>(halves.size());
    const Index pieces = (groups + in_piece - 1) / in_piece;
    const Index heavy = std::min(pieces, split);
    const Index light = std::min(pieces - heavy, heavy * (shape.pieces() - 1));
    const auto piece = [&](Index i) { return GroupRange{i * in_piece, std::min((i + 1) * in_piece, groups)}; };
    for (Index i = 0; i < heavy; ++i) add_piece(warps_[i], piece(i));
    const Index end = std::min((pieces - light) * in_piece, groups);
    for (Index first = heavy * in_piece; first < end; first += in_bundle) {
      const GroupRange bundle{first, std::min(first + in_bundle, end)};
      Warp* const warp = least_loaded([&](const Warp& w) { return w.rounds() < shape.rounds; });
      fits_ = warp != nullptr;
      if (!fits_) return;
      warp->whole.push_back({bundle});
      warp->load += longest(bundle) * shape.bundle();
    }
    for (Index i = pieces - light; i < pieces; ++i)
      add_piece(*least_loaded([&](const Warp& w) { return !w.split.empty() && w.split.size() < shape.pieces(); }),
                piece(i));
    for (Warp& warp : warps_)
      while (!warp.split.empty() && warp.split.size() < shape.pieces())
        add_piece(warp, GroupRange(warp.split.back()));  // repeated: the same outputs are written twice
    balance_schedulers();
  }

  bool fits() const { return fits_; }

  /// The load of the busiest scheduler.
  Offset cost() const { return busiest_; }

  std::vector<WarpRounds> rounds() && {
    std::vector<WarpRounds> all;
    for (Warp& warp : warps_) {
      if (!warp.split.empty()) warp.whole.insert(warp.whole.begin(), std::move(warp.split));
      all.push_back(std::move(warp.whole));
    }
    return all;
  }

 private:
  template <class May>
  Warp* least_loaded(May may) {
    Warp* best = nullptr;
    for (Warp& warp : warps_)
      if (may(warp) && (best == nullptr || warp.load < best->load)) best = &warp;
    return best;
  }

  /// Assigns warps their numbers in the block. A multiprocessor's schedulers, each of which has every kSchedulers-th
  /// warp, get equal shares of the bandwidth of shared memory, so they need equal loads.
  void balance_schedulers() {
    constexpr std::size_t kSchedulers = 4;
    std::stable_sort(warps_.begin(), warps_.end(), [](const Warp& a, const Warp& b) { return a.load > b.load; });
    std::vector<Warp> places(warps_.size());
    std::array<Offset, kSchedulers> loads{};
    std::array<std::size_t, kSchedulers> next;
    std::iota(next.begin(), next.end(), 0);
    for (Warp& warp : warps_) {
      std::size_t best = kSchedulers;
      for (std::size_t i = 0; i < kSchedulers; ++i)
        if (next[i] < places.size() && (best == kSchedulers || loads[i] < loads[best])) best = i;
      loads[best] += warp.load;
      places[next[best]] = std::move(warp);
      next[best] += kSchedulers;
    }
    warps_ = std::move(places);
    busiest_ = *std::max_element(loads.begin(), loads.end());
  }

  Offset longest(GroupRange range) const {
    return *std::max_element(halves_.begin() + range.first, halves_.begin() + range.last);
  }

  /// A piece costs more than its share of a bundle, because every read serves fewer neurons.
  void add_piece(Warp& warp, GroupRange piece) {
    warp.split.push_back(piece);
    warp.load += (longest(piece) + 1) / 2 * 2 * shape_.bundle() / shape_.pieces() * 9 / 8;
  }

  std::span<const Index> halves_;
  TileShape shape_;
  std::vector<Warp> warps_;
  Offset busiest_ = 0;
  bool fits_ = true;
};

}  // namespace

std::vector<WarpRounds> assign_rounds(std::span<const Index> halves, const TileShape& shape, bool may_split) {
  Assignment best(halves, shape, 0);
  if (!best.fits()) throw std::invalid_argument("more neurons than a tile shape has room for");
  for (Index split = 1; may_split && split <= shape.warps(); split *= 2) {
    Assignment other(halves, shape, split);
    if (other.fits() && other.cost() < best.cost()) best = std::move(other);
  }
  return std::move(best).rounds();
}

}  // namespace spdnn
