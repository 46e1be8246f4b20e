// Values flattened for sending and restored, and a plan that moves into memory that ranks share.

#include "cluster/parcel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/model_fields.hpp"
#include "cluster/shared_plan.hpp"
#include "plan/planner.hpp"
#include "support/equal.hpp"
#include "support/plan_nets.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

using plan_tests::to_vector;
using testing::expect_equal;

/// The receiver's form: the description and, in one piece, the arrays.
template <class T>
T sent(const T& value) {
  const Parcel parcel = pack(value);
  const std::shared_ptr<std::byte> memory = allocate_bytes(parcel.array_bytes);
  std::size_t begin = 0;
  for (const auto array : parcel.arrays) {
    if (!array.empty()) std::memcpy(memory.get() + begin, array.data(), array.size());
    begin += aligned_in_parcel(array.size());
  }
  EXPECT_EQ(begin, parcel.array_bytes);
  return unpack<T>(parcel.description, memory);
}

/// A plan in which no field has its default value.
Plan full_plan() {
  const auto storage = allocate<Index>(3);
  std::iota(storage.get(), storage.get() + 3, Index{0});
  const Array<Index> shared(storage, 3);
  const Array<Index> front(storage, 2);
  Plan in_order;
  Layer layer;
  layer.weights = {2, 3, Array<Offset>(std::vector<Offset>{0, 1, 3}), shared, Array<float>({0.5F, -1, 2}), 7};
  layer.bias = {-0.25, Array<double>({0.125, -3})};
  in_order.layers = {layer, layer};
  in_order.bias_rule = BiasRule::everywhere;
  in_order.cap = 32;
  in_order.passes = {.twins = true, .unused = true, .saturated = true};
  in_order.certificates = {3, 5};
  in_order.expansion = {shared, front, {}, Array<Index>({kAlwaysZero, kNotComputed})};
  in_order.provenance = {{.dead = true, .identical = true}, {"a note", ""}, 9, {3, 2, 2}, 0xfedcba9876543210};
  Plan plan = in_order;
  plan.passes.merge = true;
  plan.certificates = {4, 6};
  plan.provenance.notes.emplace_back("another");
  plan.fallback = Fallback{{0.5, 0.75}, std::make_shared<const Plan>(in_order)};
  return plan;
}

TEST(Parcel, HasEveryFieldOfAPlanWithItsFallback) {
  const Plan plan = full_plan();
  expect_equal(plan, sent(plan));
  const Fallback bounds{{0.5}, nullptr};
  EXPECT_EQ(sent(bounds).in_order, nullptr);
}

TEST(Parcel, HasAPlanThatThePlannerMade) {
  Network network;
  network.layers = {plan_tests::make_layer(3, {{{0, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}}, {-0.25, {}}),
                    plan_tests::make_layer(2, {{{0, 1.0F}, {1, 1.0F}}, {{1, 2.0F}}}, {-0.25, {}})};
  const Plan plan = make_plan(network, {.twins = true, .merge = true});
  ASSERT_TRUE(plan.fallback);
  expect_equal(plan, sent(plan));
}

TEST(Parcel, SendsArraysThatAreSharedOnceAndSharesThemAgain) {
  const Plan plan = full_plan();
  // Offsets, indices, weights, biases, two more of the expansion; and the empty array.
  EXPECT_EQ(pack(plan).arrays.size(), 7U);
  const Plan arrived = sent(plan);
  const Index* const indices = arrived.layers[0].weights.indices.data();
  EXPECT_EQ(arrived.layers[1].weights.indices.data(), indices);
  EXPECT_EQ(arrived.expansion[0].data(), indices);
  EXPECT_EQ(arrived.fallback->in_order->layers[1].weights.indices.data(), indices);
  EXPECT_NE(arrived.layers[0].weights.offsets.data(), plan.layers[0].weights.offsets.data());
}

TEST(Parcel, LaysEachArrayOnABoundOf64Bytes) {
  const Plan arrived = sent(full_plan());
  for (const void* const array : {static_cast<const void*>(arrived.layers[0].weights.values.data()),
                                  static_cast<const void*>(arrived.layers[0].bias.values.data())})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array) % Parcel::kAlignment, 0U);
}

TEST(Parcel, HasImagesInBothForms) {
  ImageSet images;
  images.data = make_csr(2, 5, {0, 2, 3}, {1, 4, 0}, {0.5F, 2, 1});
  expect_equal(images.sparse(), sent(images).sparse());
  images.data = BitMatrix{2, 5, Array<std::uint64_t>({3, 16})};
  const ImageSet arrived = sent(images);
  ASSERT_TRUE(arrived.is_bits());
  EXPECT_EQ(arrived.bits().rows, 2U);
  EXPECT_EQ(arrived.bits().cols, 5U);
  EXPECT_EQ(to_vector(arrived.bits().words), to_vector(images.bits().words));
}

/// Weights in the form in which a model has them.
TEST(Parcel, HasEveryFieldOfTypedWeights) {
  TypedMatrix matrix;
  matrix.rows = 3;
  matrix.cols = 4;
  matrix.pattern = Pattern::csr;
  matrix.taps = 2;
  matrix.offsets = Array<Offset>({0, 1, 2, 3});
  matrix.indices = Array<Index>({3, 1, 0});
  matrix.places = Array<std::uint8_t>({5, 6});
  matrix.order = Array<Index>({1, 0, 0, 1});
  matrix.values.type = DataType::u8;
  matrix.values.count = 3;
  matrix.values.bytes = Array<std::byte>({std::byte{7}, std::byte{8}, std::byte{9}});
  matrix.values.code_bits = 4;
  matrix.values.codes = Array<std::byte>({std::byte{1}, std::byte{2}});
  matrix.values.scales = {0.5F, 0.25F, 2};
  matrix.values.zero_points = {128, 3, 4};
  const Weights arrived = sent(Weights(matrix));
  ASSERT_NE(arrived.typed(), nullptr);
  const TypedMatrix& found = *arrived.typed();
  EXPECT_EQ(std::tie(found.rows, found.cols, found.pattern, found.taps),
            std::tie(matrix.rows, matrix.cols, matrix.pattern, matrix.taps));
  EXPECT_EQ(to_vector(found.offsets), to_vector(matrix.offsets));
  EXPECT_EQ(to_vector(found.indices), to_vector(matrix.indices));
  EXPECT_EQ(to_vector(found.places), to_vector(matrix.places));
  EXPECT_EQ(to_vector(found.order), to_vector(matrix.order));
  const Values& values = found.values;
  EXPECT_EQ(std::tie(values.type, values.count, values.code_bits),
            std::tie(matrix.values.type, matrix.values.count, matrix.values.code_bits));
  EXPECT_EQ(to_vector(values.bytes), to_vector(matrix.values.bytes));
  EXPECT_EQ(to_vector(values.codes), to_vector(matrix.values.codes));
  EXPECT_EQ(values.scales, matrix.values.scales);
  EXPECT_EQ(values.zero_points, matrix.values.zero_points);
}

TEST(Parcel, HasEveryFieldOfAnOutcome) {
  const Outcome outcome{{1, 5}, {3, 2}, {3, -1}, 4, 6, {0, 2}, {{1, 2}, {3, 4}}};
  const Outcome arrived = sent(outcome);
  EXPECT_EQ(arrived.categories, outcome.categories);
  EXPECT_EQ(arrived.alive, outcome.alive);
  EXPECT_EQ(arrived.active, outcome.active);
  EXPECT_EQ(arrived.saturated, 4);
  EXPECT_EQ(arrived.identical, 6);
  EXPECT_EQ(arrived.borderline, outcome.borderline);
  EXPECT_EQ(arrived.overflow, outcome.overflow);
}

/// The first message has 2040 bytes of a parcel, which are whole units of 64.
TEST(Exchange, ValuesThatJustFillTheFirstMessageArriveWhole) {
  const auto text_of = [](std::size_t letters) {
    std::string text(letters, ' ');
    for (std::size_t i = 0; i < letters; ++i) text[i] = static_cast<char>('a' + i % 23);
    return text;
  };
  const auto work = [&](Communicator& rank) {
    for (std::size_t letters = 1900; letters < 2200; letters += 4) {
      EXPECT_EQ(broadcast(rank, rank.is_root() ? text_of(letters) : ""), text_of(letters));
      const std::vector<std::string> all = gather(rank, text_of(letters + static_cast<std::size_t>(rank.place().rank)));
      for (std::size_t from = 0; from < all.size(); ++from) EXPECT_EQ(all[from], text_of(letters + from));
    }
  };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
}

TEST(Parcel, ADescriptionThatEndsEarlyIsNoPlan) {
  const Parcel parcel = pack(full_plan());
  const auto cut = std::span(parcel.description).first(parcel.description.size() - 1);
  EXPECT_THROW(unpack<Plan>(cut, allocate_bytes(parcel.array_bytes)), std::logic_error);
}

/// The root of a job whose other ranks join every collective call and send nothing.
class RootOfSilentRanks final : public Communicator {
 public:
  RootOfSilentRanks() : Communicator({0, 2, 0, 1}) {}
  void broadcast(std::span<std::byte> /*bytes*/, Group /*group*/) override {}
  bool all(bool mine, Group /*group*/) override { return mine; }
  std::vector<std::size_t> gather_size(std::size_t mine) override { return {mine}; }
  void gather(std::span<const std::byte>, std::span<const std::size_t>, std::span<std::byte>) override {}
  std::vector<std::size_t> exchange_sizes(std::span<const std::size_t>) override { return {}; }
  void exchange(std::span<const std::byte>, std::span<const std::size_t>, std::span<std::byte>,
                std::span<const std::size_t>) override {}
};

TEST(SharePlan, OnTheRootThePlanIsTheSameInOnePieceOfMemoryButOfExpansionsThereIsTheLast) {
  RootOfSilentRanks ranks;
  Plan plan = full_plan();
  std::fill(plan.expansion.begin(), plan.expansion.end() - 1, Array<Index>{});
  const Plan shared = share_plan(ranks, full_plan());
  expect_equal(plan, shared);
  const Index* const indices = shared.layers[0].weights.indices.data();
  EXPECT_EQ(shared.fallback->in_order->expansion[0].data(), indices);
  const auto* const first = reinterpret_cast<const std::byte*>(shared.layers[0].weights.offsets.data());
  EXPECT_EQ(reinterpret_cast<const std::byte*>(indices) - first, 64);
}

/// On all ranks of one node, or of three.
template <class Rank>
void expect_full_plan_on(int ranks) {
  const auto work = [&](Communicator& rank) {
    Plan expected = full_plan();
    std::fill(expected.expansion.begin(), expected.expansion.end() - (rank.is_root() ? 1 : 0), Array<Index>{});
    expect_equal(share_plan(rank, rank.is_root() ? full_plan() : Plan{}), expected);
  };
  for (const auto& thrown : testing::on_ranks<Rank>(ranks, work)) EXPECT_EQ(thrown, nullptr);
}

TEST(SharePlan, HasEveryFieldOnEachRankOfEachNode) {
  expect_full_plan_on<testing::ThreadRank>(3);
  expect_full_plan_on<testing::RankOfTwo>(5);
}

TEST(SharePlan, BoundsWithoutAnotherPlanStayThat) {
  RootOfSilentRanks ranks;
  Plan plan = full_plan();
  plan.fallback = Fallback{{0.5}, nullptr};
  const Plan shared = share_plan(ranks, std::move(plan));
  EXPECT_EQ(shared.fallback->error_bounds, std::vector<double>{0.5});
  EXPECT_EQ(shared.fallback->in_order, nullptr);
}

TEST(SharePlan, AloneThePlanStaysWhereItIs) {
  Plan plan = full_plan();
  const Index* const indices = plan.layers[0].weights.indices.data();
  EXPECT_EQ(share_plan(*alone(), std::move(plan)).layers[0].weights.indices.data(), indices);
}

}  // namespace
}  // namespace spdnn
