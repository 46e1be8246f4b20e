#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>
#include <vector>

#include "engines/cuda/spmm/work_items.hpp"
#include "support/matrix_builder.hpp"
#include "support/random_layer.hpp"

namespace spdnn {
namespace {

using testing::random_layer;

TEST(WorkItems, LongestRowsFirst) {
  std::mt19937 random(1);
  const CsrMatrix weights = random_layer(50, 40, 20, false, false, random).weights;
  const WorkList list = rows_by_length(weights);
  ASSERT_EQ(list.items.size(), weights.rows);
  std::set<Index> rows;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    rows.insert(list.items[i].row);
    if (i > 0) {
      EXPECT_GE(weights.degree(list.items[i - 1].row), weights.degree(list.items[i].row));
    }
  }
  EXPECT_EQ(rows.size(), weights.rows);
  EXPECT_TRUE(rows_by_length(random_layer(50, 40, 20, true, false, random).weights).items.empty());
}

TEST(WorkItems, RowsOfTheSameInputsAreTogether) {
  MatrixBuilder builder(9);
  const auto add = [&](std::initializer_list<Index> inputs) {
    for (const Index input : inputs) builder.add(input, static_cast<float>(input) + 0.5F);
    builder.end_row();
  };
  for (int i = 0; i < 20; ++i) {
    add({1, 2, 3});
    add({3, 2, 1});  // another order is another sum
    if (i % 4 == 0) add({});
    if (i % 5 == 0) add({0, 4, 5, 8});
    if (i == 7) add({1, 2, 7});
  }
  const CsrMatrix weights = builder.valued();
  const WorkList list = rows_by_inputs(weights);
  EXPECT_TRUE(list.items.empty());
  std::set<Index> rows;
  Offset last = weights.degree(list.shared.front().rows.front());
  for (const SharedRows& shared : list.shared) {
    const Index first = shared.rows.front();
    EXPECT_LE(weights.degree(first), last);
    last = weights.degree(first);
    bool ended = false;
    for (const Index row : shared.rows) {
      ended = ended || row == SharedRows::kNone;
      ASSERT_EQ(row == SharedRows::kNone, ended);
      if (ended) continue;
      EXPECT_TRUE(rows.insert(row).second);
      EXPECT_TRUE(std::ranges::equal(weights.row(row), weights.row(first)));
    }
  }
  EXPECT_EQ(rows.size(), weights.rows);
  EXPECT_EQ(list.shared.size(), 1 + 2 + 2 + 1 + 1U);  // of four, of three twice 20, of {1, 2, 7}, of nothing

  Plan plan;
  EXPECT_EQ(share_of_reads(plan), 1.0);
  plan.layers.push_back({weights, {}});
  EXPECT_DOUBLE_EQ(share_of_reads(plan), (4 + 2 * 3 + 2 * 3 + 3) / (4 * 4 + 2 * 20 * 3 + 3.0));
  EXPECT_TRUE(rows_by_inputs(MatrixBuilder(4).uniform()).shared.empty());
}

TEST(WorkItems, EqualSharesCoverEveryTermOnce) {
  std::mt19937 random(2);
  const CsrMatrix weights = random_layer(50, 90, 40, false, false, random).weights;
  const Index share = 32;
  const WorkList list = equal_shares(weights, share);
  std::vector<Offset> terms(weights.rows, 0);
  std::set<Index> cut;
  for (const CutRow& row : list.cuts) cut.insert(row.row);
  Index pieces = 0;
  for (const WorkItem& item : list.items) {
    if (item.piece != WorkItem::kWhole) {
      EXPECT_EQ(item.piece, pieces++);
      EXPECT_EQ(item.first, terms[item.row]);
      EXPECT_LE(item.terms, share);
      terms[item.row] += item.terms;
      continue;
    }
    Offset size = 0;
    for (Index row = item.row; row < item.row + item.rows; ++row) {
      EXPECT_EQ(cut.count(row), 0U);
      terms[row] += weights.degree(row);
      size += weights.degree(row) + 1;
    }
    EXPECT_LE(size, Offset{share} + 1);
  }
  for (Index row = 0; row < weights.rows; ++row) EXPECT_EQ(terms[row], weights.degree(row));
  EXPECT_EQ(pieces, list.pieces);
}

}  // namespace
}  // namespace spdnn
