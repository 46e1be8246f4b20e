// Weights rounded to fp16, int8 and codebooks: errors, exactness, forms, refusals.

#include "prune/quantise.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "model/oracle/evaluate.hpp"
#include "prune/quantise_values.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::random_weights;
using testing::Rng;
using StoredAs = Quantisation::Kind;

constexpr Quantisation kHalf{StoredAs::fp16, 16};
constexpr Quantisation kWhole{StoredAs::int8, 8};

std::vector<float> rounded_values(const CsrMatrix& weights, const Quantisation& quantisation) {
  const TypedMatrix matrix = rounded(weights, quantisation);
  matrix.validate();
  return dense_rows(decoded(matrix), 0, weights.rows);
}

double rounding_error(const CsrMatrix& weights, const Quantisation& quantisation) {
  const std::vector<float> given = dense_rows(weights, 0, weights.rows);
  const std::vector<float> found = rounded_values(weights, quantisation);
  double error = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    error += (double{given[i]} - found[i]) * (double{given[i]} - found[i]);
    EXPECT_TRUE(given[i] != 0 || found[i] == 0);
  }
  return error;
}

TEST(Quantise, HalvesAreTheNearest) {
  // Ties between 1 and 1 + 2^-10 and between that and 1 + 2^-9, a subnormal, and the largest.
  const CsrMatrix weights = make_matrix(
      6, {{{0, 1 + 0x1p-11F}, {1, 1 + 3 * 0x1p-11F}, {2, -0x1.4p-24F}, {3, 65519.F}, {4, 0.1F}, {5, 0x1p-26F}}});
  EXPECT_EQ(rounded_values(weights, kHalf),
            (std::vector<float>{1, 1 + 0x1p-9F, -0x1p-24F, 65504, 0.0999755859375F, 0}));
  EXPECT_NE(testing::message_of<std::invalid_argument>([] {
              rounded(make_matrix(1, {{{0, 65520.F}}}), kHalf);
            }),
            "no error");
}

TEST(Quantise, Int8OfTheLargestWeightsIsReadableOrRefused) {
  const CsrMatrix large = make_matrix(2, {{{0, 3e38F}, {1, -1e38F}}});
  const std::vector<float> found = rounded_values(large, kWhole);  // validates
  EXPECT_NEAR(found[0], 3e38, 1e36);
  const std::string error = testing::message_of<std::invalid_argument>([] {
    const TypedMatrix matrix = rounded(make_matrix(2, {{{0, std::numeric_limits<float>::max()}, {1, 1}}}), kWhole);
    EXPECT_TRUE(std::isfinite(decoded(matrix).entry_value(0)));
  });
  EXPECT_TRUE(error == "no error" || error.ends_with("is too large for fp32")) << error;
}

TEST(Quantise, Int8HasAScaleForEachRow) {
  Rng rng(3);
  for (const double density : {1.0, 0.1}) {
    CsrMatrix weights = random_weights(rng, 7, 90, density);
    std::vector<float> values(weights.values.begin(), weights.values.end());
    for (Offset k = weights.offsets[3]; k < weights.offsets[4]; ++k) values[k] *= 1000;
    weights.values = std::move(values);
    const TypedMatrix matrix = rounded(weights, kWhole);
    EXPECT_EQ(matrix.pattern, density == 1 ? Pattern::dense : Pattern::csr);
    EXPECT_EQ(matrix.values.type, DataType::i8);
    ASSERT_EQ(matrix.values.scales.size(), 7U);
    const std::vector<float> given = dense_rows(weights, 0, 7);
    const std::vector<float> found = rounded_values(weights, kWhole);
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_LE(std::abs(given[i] - found[i]), 0.5001F * matrix.values.scales[i / 90]);
  }
  const TypedMatrix empty = rounded(make_matrix(3, {{}, {{1, -2.F}}}), kWhole);
  EXPECT_EQ(empty.values.scales[0], 1);
  EXPECT_EQ(dense_rows(decoded(empty), 1, 2), (std::vector<float>{0, -2, 0}));
}

TEST(Quantise, ACodebookHasSoManyNumbersAndMoreBitsLoseLess) {
  Rng rng(4);
  for (const double density : {1.0, 0.6, 0.05}) {
    const CsrMatrix weights = random_weights(rng, 40, 50, density);
    double before = 1e30;
    for (int bits = 4; bits <= 8; ++bits) {
      const Quantisation codes{StoredAs::codebook, bits};
      const TypedMatrix matrix = rounded(weights, codes);
      const std::vector<float> found = rounded_values(weights, codes);
      std::set<float> different(found.begin(), found.end());
      EXPECT_LE(matrix.values.bytes.size() / sizeof(float), std::size_t{1} << bits);
      EXPECT_EQ(matrix.values.code_bits, bits == 4 ? 4 : 8);
      EXPECT_GE(different.size(), std::min<std::size_t>(weights.entries() / 2, (std::size_t{1} << bits) / 2));
      const double error = rounding_error(weights, codes);
      EXPECT_LT(error, before);
      before = error > 0 ? error : 1e-30;
    }
  }
}

/// Each row's weights are numbers of one codebook times the row's largest, and no other of these is nearer.
TEST(Quantise, ACodebookIsScaledByRows) {
  Rng rng(5);
  CsrMatrix weights = random_weights(rng, 30, 40, 0.5);
  std::vector<float> values(weights.values.begin(), weights.values.end());
  for (Offset k = weights.offsets[3]; k < weights.offsets[4]; ++k) values[k] *= 1000;
  weights.values = std::move(values);
  const TypedMatrix matrix = rounded(weights, {StoredAs::codebook, 4});
  ASSERT_EQ(matrix.values.scales.size(), 30U);
  std::vector<float> codebook(matrix.values.bytes.size() / sizeof(float));
  EXPECT_LE(codebook.size(), 16U);
  std::memcpy(codebook.data(), matrix.values.bytes.data(), matrix.values.bytes.size());
  const std::vector<float> given = dense_rows(weights, 0, 30);
  const std::vector<float> found = dense_rows(decoded(matrix), 0, 30);
  for (std::size_t row = 0; row < 30; ++row) {
    float largest = 0;
    for (std::size_t i = 0; i < 40; ++i) largest = std::max(largest, std::abs(given[row * 40 + i]));
    EXPECT_EQ(matrix.values.scales[row], largest);
  }
  std::map<float, std::pair<double, double>> means;  // of what each number stands for: rounding errors count by rows
  for (std::size_t i = 0; i < given.size(); ++i) {
    const float scale = matrix.values.scales[i / 40];
    EXPECT_EQ(found[i] == 0, given[i] == 0);
    const auto nearest = std::min_element(codebook.begin(), codebook.end(), [&](float a, float b) {
      return std::abs(found[i] - a * scale) < std::abs(found[i] - b * scale);
    });
    auto& [weight, moment] = means[*nearest];
    weight += double{scale} * scale;
    moment += double{scale} * given[i];
    for (const float number : codebook)
      if (given[i] != 0 && number != 0) {  // zero is for zeros alone
        EXPECT_LE(std::abs(given[i] - found[i]), std::abs(given[i] - number * scale) + 1e-6 * scale);
      }
  }
  for (const auto& [number, sums] : means) EXPECT_NEAR(number, sums.second / sums.first, 1e-4);
}

TEST(Quantise, FewDifferentWeightsStay) {
  const CsrMatrix weights = make_matrix(3, {{{0, 0.3F}, {1, -7.F}}, {{1, 0.3F}, {2, 0.1F}}});
  EXPECT_EQ(rounding_error(weights, {StoredAs::codebook, 4}), 0);
  EXPECT_EQ(decoded(rounded(make_matrix(3, {{}, {}}), {StoredAs::codebook, 4})).entries(), 0U);
  // Without zeros a palette has room for as many weights as there are codes, and with one for one less.
  const auto error_of_different = [](Index count, bool zero) {
    testing::Rows rows(1);
    for (Index i = 0; i < count; ++i) rows[0].emplace_back(i, 0.3F + static_cast<float>(i * i));
    return rounding_error(make_matrix(zero ? count + 1 : count, rows), {StoredAs::codebook, 4});
  };
  EXPECT_EQ(error_of_different(16, false), 0);
  EXPECT_GT(error_of_different(17, false), 0);
  EXPECT_EQ(error_of_different(15, true), 0);
  EXPECT_GT(error_of_different(16, true), 0);
}

/// How far the weights of one model are from another's, of their size.
double relative_change(const Model& given, const Model& found) {
  double change = 0;
  double all = 0;
  for (std::size_t n = 0; n < given.nodes.size(); ++n) {
    const CsrMatrix* const weights = matrix_or_null(given.nodes[n].operation);
    if (weights == nullptr) continue;
    const std::vector<float> before = dense_rows(*weights, 0, weights->rows);
    const std::vector<float> after = dense_rows(*matrix_or_null(found.nodes[n].operation), 0, weights->rows);
    for (std::size_t i = 0; i < before.size(); ++i) {
      change += (double{before[i]} - after[i]) * (double{before[i]} - after[i]);
      all += double{before[i]} * before[i];
    }
  }
  return std::sqrt(change / all);
}

TEST(Quantise, AModelKeepsWhatHasNoWeights) {
  Rng rng(6);
  testing::ModelBuilder builder;
  ValueId x = builder.input({testing::kN, 40});
  x = builder.add(testing::random_linear(rng, 40, 20, 0.2), {x});
  x = builder.add(testing::make_activation(Activation::Kind::relu), {x});
  x = builder.add(testing::random_linear(rng, 20, 5, 1), {x});
  const Model given = builder.finish({x});
  for (const char* const text : {"fp16", "int8", "codebook4", "codebook7"}) {
    Model model = given;
    const QuantisationLoss loss = quantise(model, parse_quantisation(text));
    model.validate();
    EXPECT_EQ(loss.nodes, 2U);
    EXPECT_NEAR(loss.change, relative_change(given, model), 1e-9 * loss.change);
    EXPECT_GT(loss.change, 0);
    EXPECT_LT(loss.change, 0.1);
    EXPECT_LT(loss.bytes_after, loss.bytes_before);
    EXPECT_EQ(std::get<Linear>(model.nodes[0].operation).bias, std::get<Linear>(given.nodes[0].operation).bias);
    if (std::string(text) == "fp16") continue;
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "node 1 \"node0\" (linear): its weights are quantised already",
                        testing::message_of<DataError>([&] { quantise(model, kHalf); }));
  }
  Model large = given;
  std::get<Linear>(large.nodes[2].operation).weights = make_matrix(20, {{{0, 1e9F}}, {}, {}, {}, {}});
  EXPECT_EQ(testing::message_of<DataError>([&] { quantise(large, kHalf); }),
            "node 3 \"node2\" (linear): 1000000000 exceeds fp16");
}

/// What a linear node of one weight, 1, gives for a number, with the range of its input.
double through(const ValueRange& range, float x) {
  testing::ModelBuilder builder;
  const ValueId input = builder.input({testing::kN, 1});
  Model model = builder.finish({builder.add(Linear{make_matrix(1, {{{0, 1.F}}}), {}}, {input})});
  EXPECT_EQ(quantise_values(model, {{input, range}}), range.low == range.high ? 0U : 1U);
  return evaluate(model, {Tensor{{1, 1}, std::vector<float>{x}}})[0].values[0];
}

TEST(Quantise, ValuesAreRoundedToTheStepsOfTheirRange) {
  for (const float x : {-2.F, -0.31F, 0.F, 0.004F, 1.F}) EXPECT_NEAR(through({-2, 1}, x), x, 1.0001 / 127) << x;
  EXPECT_NEAR(through({-2, 1}, 0.9F), 57 * 2.0 / 127, 1e-6);
  EXPECT_NEAR(through({-2, 1}, 5), 2, 1e-6);
  EXPECT_NEAR(through({-2, 1}, -5), -128 * 2.0 / 127, 1e-6);
  EXPECT_NEAR(through({0, 3}, 1.234F), 105 * 3.0 / 255, 1e-6);
  EXPECT_EQ(through({0, 3}, -1), 0);
  EXPECT_NEAR(through({0, 3}, 4), 3, 1e-6);
  EXPECT_EQ(through({0, 0}, 0.77F), 0.77F);
}

TEST(Quantise, AValueThatTwoNodesReadIsRoundedOnce) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 1});
  const Linear linear{make_matrix(1, {{{0, 1.F}}}), {}};
  Model model = builder.finish({builder.add(linear, {x}), builder.add(linear, {x})});
  EXPECT_EQ(quantise_values(model, {{x, {0, 1}}}), 1U);
  const auto reads_both = [&](const Node& node) { return node.inputs[0] == model.nodes.back().inputs[0]; };
  EXPECT_EQ(std::count_if(model.nodes.begin(), model.nodes.end(), reads_both), 2);
  const std::vector<Bounded> y = evaluate(model, {Tensor{{1, 1}, std::vector<float>{0.3F}}});
  EXPECT_EQ(y[0].values, y[1].values);
  EXPECT_NE(y[0].values[0], double{0.3F});
}

TEST(Quantise, AModelWithRoundedValuesIsRefused) {
  Rng rng(7);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 40});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 40, 20, 0.2), {x})});
  quantise_values(model, {{x, {0, 1}}});
  EXPECT_EQ(testing::message_of<DataError>([&] { quantise(model, kHalf); }),
            "the model's values are quantised already and it cannot be rounded again; begin with the model in floating "
            "point");
}

TEST(Quantise, WeightsOfZeroChangeByNothing) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 2});
  Model model = builder.finish({builder.add(Linear{testing::make_matrix(2, {{}, {}}), {}}, {x})});
  EXPECT_EQ(quantise(model, parse_quantisation("int8")).change, 0);
}

TEST(Quantise, ReadsNames) {
  for (int bits = 4; bits <= 8; ++bits) EXPECT_EQ(parse_quantisation(fmt::format("codebook{}", bits)).bits, bits);
  for (const char* const text : {"codebook3", "codebook9", "codebook", "int4", "fp8", ""})
    EXPECT_NE(testing::message_of<UsageError>([&] { parse_quantisation(text); }), "no error") << text;
}

}  // namespace
}  // namespace spdnn
