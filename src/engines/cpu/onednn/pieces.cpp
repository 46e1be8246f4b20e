#include "engines/cpu/onednn/pieces.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>

#include "program/arena.hpp"
#include "program/threads.hpp"
#include "spdnn/types.hpp"

namespace spdnn::onednn {

namespace {

using program::Constant;
using program::Offer;

/// Parts of one block of memory, one after another.
class Parts {
 public:
  void add(std::size_t bytes) { begins_.push_back(aligned(begins_.back() + bytes)); }
  std::size_t begin(std::size_t part) const { return begins_[part]; }
  std::size_t bytes() const { return begins_.back(); }

 private:
  std::vector<std::size_t> begins_{0};
};

/// The memory of pieces: their scratch, constants, and results.
struct Places {
  Parts scratch;
  std::vector<Parts> constants;
  std::vector<std::size_t> results;

  program::Operands of_piece(std::size_t piece, const program::Operands& all) const {
    program::Operands at = all;
    at.output += results[piece];
    for (std::size_t i = 1; i < at.inputs.size(); ++i) at.inputs[i] += results[piece];
    for (std::size_t i = 0; i < at.constants.size(); ++i) at.constants[i] += constants[i].begin(piece);
    if (at.scratch != nullptr) at.scratch += scratch.begin(piece);
    return at;
  }
};

class BoundPieces final : public program::Bound {
 public:
  BoundPieces(const std::vector<Piece>& pieces, Places places) : places_(std::move(places)) {
    const program::Threads one(1);
    for (const Piece& piece : pieces) pieces_.push_back(piece.offer.bind());
  }

  void place(const program::Operands& at) override {
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i]->place(places_.of_piece(i, at));
  }

  void run() override {
    if (pieces_.size() == 1) return pieces_.front()->run();  // even a team of one takes time to open
    std::exception_ptr thrown;
#pragma omp parallel for schedule(static) if (omp_get_max_threads() > 1)
    for (const std::unique_ptr<program::Bound>& piece : pieces_) try {
        piece->run();
      } catch (...) {
#pragma omp critical
        thrown = std::current_exception();
      }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  Places places_;
  std::vector<std::unique_ptr<program::Bound>> pieces_;
};

Places places_of(const std::vector<Piece>& pieces) {
  Places places{.scratch = {}, .constants = std::vector<Parts>(pieces[0].offer.constants.size()), .results = {}};
  for (const Piece& piece : pieces) {
    places.scratch.add(piece.offer.scratch);
    for (std::size_t i = 0; i < places.constants.size(); ++i) places.constants[i].add(piece.offer.constants[i].bytes);
    places.results.push_back(piece.at);
  }
  return places;
}

Constant joined(const std::vector<Piece>& pieces, std::size_t number, const Parts& places) {
  Constant constant{pieces[0].offer.constants[number].part, {}, places.bytes(), {}};
  std::vector<std::function<void(std::byte*)>> fills;
  for (const Piece& piece : pieces) {
    constant.form += (fills.empty() ? "" : " | ") + piece.offer.constants[number].form;
    fills.push_back(piece.offer.constants[number].fill);
  }
  constant.fill = [fills = std::move(fills), places](std::byte* to) {
    for (std::size_t i = 0; i < fills.size(); ++i) fills[i](to + places.begin(i));
  };
  return constant;
}

}  // namespace

std::vector<std::pair<Index, Index>> pieces_of(Index results, int threads) {
  constexpr Extent kLeast = 64;  // oneDNN adds the products of fewer results in another order
  constexpr Extent kRegister = 16;
  const Extent count = std::clamp<Extent>(results / kLeast, 1, threads);
  std::vector<std::pair<Index, Index>> all;
  Index begin = 0;
  for (Extent i = 1; i <= count; ++i) {
    const Extent end = i == count ? results : results * i / count / kRegister * kRegister;
    all.emplace_back(begin, narrow<Index>(end));
    begin = all.back().second;
  }
  return all;
}

std::optional<Offer> side_by_side(std::vector<Piece> pieces) {
  const Offer& first = pieces[0].offer;
  for (const auto& [offer, at] : pieces)
    if (!offer.takes() || offer.detail != first.detail || offer.fused != first.fused) return std::nullopt;
  Offer all = first;
  const Places places = places_of(pieces);
  all.scratch = places.scratch.bytes();
  for (std::size_t i = 0; i < all.constants.size(); ++i) all.constants[i] = joined(pieces, i, places.constants[i]);
  all.bind = [pieces = std::move(pieces), places] { return std::make_unique<BoundPieces>(pieces, places); };
  return all;
}

}  // namespace spdnn::onednn
