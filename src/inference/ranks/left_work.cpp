#include "inference/ranks/left_work.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<LeftPiece> auto& piece) {
  archive(piece.rank, piece.place, piece.layer, piece.ids, piece.neurons, piece.entries);
}

namespace {

std::size_t csr_bytes(Index rows, Offset entries) {
  return (std::size_t{rows} + 1) * sizeof(Offset) + entries * (sizeof(Index) + sizeof(float));
}

Index rows_of(const LeftPiece& piece) { return static_cast<Index>(piece.ids.size()); }

bool piece_begun(const LeftPiece& piece) { return piece.layer > 0; }

/// The rows of a part, on the root; pieces come one after another.
class Part {
 public:
  explicit Part(const std::vector<LeftPiece>& pieces) {
    Offset entries = 0;
    for (const LeftPiece& piece : pieces) {
      rows_.rows += rows_of(piece);
      rows_.cols = std::max(rows_.cols, piece.neurons);
      entries += piece.entries;
    }
    offsets_ = allocate<Offset>(std::size_t{rows_.rows} + 1);
    indices_ = allocate<Index>(entries);
    values_ = allocate<float>(entries);
    offsets_[0] = 0;
    rows_.indices = {indices_, entries};
    rows_.values = {values_, entries};
  }
  std::span<Index> indices(const LeftPiece& piece) { return {indices_.get() + offsets_[row_], piece.entries}; }
  std::span<float> values(const LeftPiece& piece) { return {values_.get() + offsets_[row_], piece.entries}; }
  /// After its entries are written.
  void end_piece(std::span<const Index> degrees) {
    for (const Index degree : degrees) {
      offsets_[row_ + 1] = offsets_[row_] + degree;
      ++row_;
    }
  }
  ImageSet images() && {
    rows_.offsets = {offsets_, std::size_t{rows_.rows} + 1};
    return {std::move(rows_)};
  }

 private:
  CsrMatrix rows_;
  std::shared_ptr<Offset[]> offsets_;
  std::shared_ptr<Index[]> indices_;
  std::shared_ptr<float[]> values_;
  std::size_t row_ = 0;  ///< the first of the piece that comes next
};

/// The numbers of a rank on the root, which may be that rank itself. All ranks call it together.
template <class T>
void bring_to_root(Communicator& ranks, int from, std::span<const T> out, std::span<T> in) {
  const auto count = static_cast<std::size_t>(ranks.place().ranks);
  std::vector<std::size_t> out_sizes(count, 0);
  std::vector<std::size_t> in_sizes(count, 0);
  if (ranks.place().rank == from) out_sizes[0] = out.size_bytes();
  if (ranks.is_root()) in_sizes[static_cast<std::size_t>(from)] = in.size_bytes();
  ranks.exchange(std::as_bytes(out), out_sizes, std::as_writable_bytes(in), in_sizes);
}

/// On all ranks; the root has `part`.
void bring_piece(Communicator& ranks, const LeftPiece& piece, const std::vector<Work>& mine, Part* part) {
  std::vector<Index> degrees;
  std::vector<float> same;  // where all entries have one value
  CsrMatrix own;
  if (ranks.place().rank == piece.rank) {
    own = mine[piece.place].images.to_csr();
    for (Index row = 0; row < own.rows; ++row) degrees.push_back(static_cast<Index>(own.degree(row)));
    if (own.uniform()) same.assign(own.entries(), own.value);
  }
  std::vector<Index> all_degrees(part == nullptr ? 0 : piece.ids.size());
  bring_to_root<Index>(ranks, piece.rank, degrees, all_degrees);
  bring_to_root<Index>(ranks, piece.rank, own.indices.span(),
                       part == nullptr ? std::span<Index>() : part->indices(piece));
  bring_to_root<float>(ranks, piece.rank, own.uniform() ? std::span<const float>(same) : own.values.span(),
                       part == nullptr ? std::span<float>() : part->values(piece));
  if (part != nullptr) part->end_piece(all_degrees);
}

}  // namespace

LeftWork::LeftWork(Communicator& ranks, const std::vector<Work>& mine, std::size_t part_bytes)
    : ranks_(ranks), mine_(mine), part_bytes_(part_bytes) {
  std::vector<LeftPiece> own;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    own.push_back({ranks.place().rank, i, mine[i].layer, mine[i].ids, 0, 0});
    if (!piece_begun(own.back())) continue;
    own.back().neurons = mine[i].images.neurons();
    own.back().entries = mine[i].images.to_csr().entries();
  }
  for (const std::vector<LeftPiece>& of_rank : gather(ranks, own))
    all_.insert(all_.end(), of_rank.begin(), of_rank.end());
}

void LeftWork::on_root(const std::function<void()>& work) {
  if (ranks_.is_root()) {
    next_ = 0;
    work();
    broadcast(ranks_, std::vector<LeftPiece>{});
    return;
  }
  for (;;) {
    const auto part = broadcast(ranks_, std::vector<LeftPiece>{});
    if (part.empty()) return;
    for (const LeftPiece& piece : part) bring_piece(ranks_, piece, mine_, nullptr);
  }
}

std::vector<Work> LeftWork::outline() const {
  std::vector<Work> all;
  for (const LeftPiece& piece : all_) all.push_back({piece.layer, piece.ids, {}});
  return all;
}

std::vector<LeftPiece> LeftWork::pieces_of_next_part() {
  std::vector<LeftPiece> part;
  Index rows = 0;
  Offset entries = 0;
  for (; next_ < all_.size(); ++next_) {
    const LeftPiece& piece = all_[next_];
    if (!piece_begun(piece)) continue;
    rows += rows_of(piece);
    entries += piece.entries;
    if (!part.empty() && csr_bytes(rows, entries) > part_bytes_) break;
    part.push_back(piece);
  }
  return part;
}

std::optional<ImageSet> LeftWork::next_part() {
  const std::vector<LeftPiece> pieces = pieces_of_next_part();
  if (pieces.empty()) return {};
  if (pieces.size() == 1 && pieces[0].rank == ranks_.place().rank) return mine_[pieces[0].place].images;
  broadcast(ranks_, pieces);
  Part part(pieces);
  for (const LeftPiece& piece : pieces) bring_piece(ranks_, piece, mine_, &part);
  return std::move(part).images();
}

}  // namespace spdnn
