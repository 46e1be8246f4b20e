#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"
#include "support/engines.hpp"

namespace spdnn::testing {

// Equality field by field and bit by bit. A repeated value may be stored once or each time.

inline void expect_equal(const CsrMatrix& a, const CsrMatrix& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  EXPECT_TRUE(std::equal(a.offsets.begin(), a.offsets.end(), b.offsets.begin(), b.offsets.end()));
  ASSERT_TRUE(std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end()));
  for (Offset k = 0; k < a.entries(); ++k)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a.entry_value(k)), std::bit_cast<std::uint32_t>(b.entry_value(k))) << k;
}

inline void expect_equal(const std::vector<Layer>& a, const std::vector<Layer>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    expect_equal(a[k].weights, b[k].weights);
    for (Index j = 0; j < a[k].outputs(); ++j) EXPECT_EQ(a[k].bias[j], b[k].bias[j]);
  }
}

inline void expect_equal(const Network& a, const Network& b) {
  EXPECT_EQ(a.cap, b.cap);
  EXPECT_EQ(a.bias_rule, b.bias_rule);
  expect_equal(a.layers, b.layers);
}

inline void expect_equal(const Plan& a, const Plan& b) {
  expect_equal(a.layers, b.layers);
  EXPECT_EQ(a.bias_rule, b.bias_rule);
  EXPECT_EQ(a.cap, b.cap);
  EXPECT_EQ(a.passes, b.passes);
  EXPECT_EQ(a.provenance.requested, b.provenance.requested);
  EXPECT_EQ(a.provenance.notes, b.provenance.notes);
  ASSERT_EQ(a.expansion.size(), b.expansion.size());
  for (std::size_t k = 0; k < a.expansion.size(); ++k)
    EXPECT_TRUE(std::equal(a.expansion[k].begin(), a.expansion[k].end(), b.expansion[k].begin(), b.expansion[k].end()));
  EXPECT_EQ(a.certificates.dead_from, b.certificates.dead_from);
  EXPECT_EQ(a.certificates.saturated_from, b.certificates.saturated_from);
  EXPECT_EQ(a.provenance.given_edges, b.provenance.given_edges);
  EXPECT_EQ(a.provenance.given_neurons, b.provenance.given_neurons);
  EXPECT_EQ(a.provenance.network_digest, b.provenance.network_digest);
  ASSERT_EQ(a.fallback.has_value(), b.fallback.has_value());
  if (!a.fallback) return;
  EXPECT_EQ(a.fallback->error_bounds, b.fallback->error_bounds);
  expect_equal(*a.fallback->in_order, *b.fallback->in_order);
}

/// Whether two engines that hold the same images compute the same bits, layer by layer, in a second trial too and in
/// one go.
inline void expect_same_bits(InspectableEngine& found, InspectableEngine& expected, const ImageSet& images,
                             Index depth) {
  expected.load(images);
  found.load(images);
  for (int trial = 0; trial < 2; ++trial) {
    for (Index layer = 0; layer < depth; ++layer) {
      advance_to(expected, layer, layer + 1);
      advance_to(found, layer, layer + 1);
      const std::vector<double> a = found.activations();
      const std::vector<double> b = expected.activations();
      ASSERT_EQ(a.size(), b.size());
      ASSERT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0)
          << "layer " << layer + 1;
      ASSERT_TRUE(sparse_agrees(found, a)) << "layer " << layer + 1;
    }
    EXPECT_EQ(found.outcome().categories, expected.outcome().categories);
    expected.reset();
    found.reset();
  }
  EXPECT_EQ(run_through(found, depth).categories, run_through(expected, depth).categories);
}

}  // namespace spdnn::testing
