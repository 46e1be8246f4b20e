#pragma once

#include <array>
#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// A warp's share of a sparse product: consecutive whole rows, or a piece of one long row.
struct WorkItem {
  static constexpr Index kWhole = 0xffffffff;

  Index row = 0;         ///< first row
  Index rows = 1;        ///< 1 for a piece
  Index piece = kWhole;  ///< number of the piece's partial sums, kWhole for whole rows
  Index first = 0;       ///< of a piece: its first term within the row
  Index terms = 0;       ///< of a piece: how many
};

/// A row that was cut: the sums of pieces first_piece, first_piece + 1, ... are added in this order.
struct CutRow {
  Index row = 0;
  Index first_piece = 0;
  Index pieces = 0;
};

/// Rows that have the same inputs in the same order, so that a warp reads an input once for all of their sums.
struct SharedRows {
  static constexpr Index kMost = 16;
  static constexpr Index kNone = 0xffffffff;

  std::array<Index, kMost> rows;  ///< those that there are, then kNone
};

struct WorkList {
  std::vector<WorkItem> items;  ///< empty: item i is row i
  std::vector<CutRow> cuts;
  Index pieces = 0;
  std::vector<SharedRows> shared;  ///< not empty: these are all of the work
};

/// One row per item, longest first, so that no long row is begun last. (Gale et al., SC20: row swizzle.)
WorkList rows_by_length(const CsrMatrix& weights);

/// Items of about `share` rows and terms together, in the matrix's order: short rows share an item, rows of more than
/// `share` terms are split into pieces of that length. Merrill & Garland's merge path cuts at exactly equal shares;
/// here cuts move to the next row's start, so that only long rows are summed in pieces, each in the same way in every
/// matrix.
WorkList equal_shares(const CsrMatrix& weights, Index share);

/// All rows in SharedRows, longest first: as many of the same inputs together as these hold. O(terms + rows log(rows)).
WorkList rows_by_inputs(const CsrMatrix& weights);

/// Inputs that sums read by rows_by_inputs(), as a share of the terms: 1 where no two rows have the same inputs. Of a
/// few of the plan's layers; 1 where layers are streamed.
double share_of_reads(const Plan& plan);

/// How much a layer's work list holds at most.
struct WorkSize {
  std::size_t items = 0;
  std::size_t cuts = 0;
  std::size_t pieces = 0;
};
/// The largest of any layer, and the sum over all (`pieces`: the largest), by equal_shares(), or with `cut_at` 0 by
/// rows_by_length(); rows_by_inputs() makes no more SharedRows than a layer has outputs. Cost: one pass over the
/// offsets of rows, unless they are streamed.
WorkSize most_work(const Plan& plan, Index cut_at);
WorkSize all_work(const Plan& plan, Index cut_at);

}  // namespace spdnn
