// Typed weights: each form against plain loops, and refusals of arrays.

#include "spdnn/weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "model/oracle/evaluate.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

template <class T>
Array<std::byte> bytes_of_numbers(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

Values values_of_i8(const std::vector<std::int8_t>& numbers) {
  Values values;
  values.type = DataType::i8;
  values.count = numbers.size();
  values.bytes = bytes_of_numbers(numbers);
  return values;
}

std::string thrown_by(const std::function<void()>& work) { return testing::message_of<std::invalid_argument>(work); }
std::string error_of(const TypedMatrix& matrix) {
  return thrown_by([&] { matrix.validate(); });
}

/// 2 x 3: scales 0.1 and 3, zero points 1 and -2.
TypedMatrix quantised() {
  TypedMatrix matrix;
  matrix.rows = 2;
  matrix.cols = 3;
  matrix.values = values_of_i8({1, 127, -128, 5, -2, 0});
  matrix.values.scales = {0.1F, 3.F};
  matrix.values.zero_points = {1, -2};
  return matrix;
}

/// 2 x 6 in two groups each, of which the second has two inputs.
TypedMatrix half_zero() {
  TypedMatrix matrix;
  matrix.rows = 2;
  matrix.cols = 6;
  matrix.pattern = Pattern::two_of_four;
  matrix.values = values_of_i8({1, 2, 3, 4, 5, 0, 0, 7});
  // Row 0: inputs 0, 3; 4, 5. Row 1: inputs 1, 2 (the second is zero); 4, 5 (the first is zero).
  matrix.places = std::vector<std::uint8_t>{0b0100'1100, 0b0100'1001};
  return matrix;
}

std::vector<float> dense(const TypedMatrix& matrix) { return dense_rows(decoded(matrix), 0, matrix.rows); }

TEST(Weights, WholeNumbersAreScaledWithOneRounding) {
  const TypedMatrix matrix = quantised();
  matrix.validate();
  const auto product = [](float scale, int number) { return static_cast<float>(double{scale} * number); };
  EXPECT_EQ(dense(matrix), (std::vector<float>{0, product(0.1F, 126), product(0.1F, -129), 21, 0, 6}));
  EXPECT_EQ(decoded(matrix).entries(), 4U) << "a zero is no entry";
  EXPECT_NE(product(0.1F, 126), 0.1F * 127.F - 0.1F);  // two roundings would be another number
}

TEST(Weights, TwoOfFourInputsHaveValues) {
  const TypedMatrix matrix = half_zero();
  matrix.validate();
  EXPECT_EQ(dense(matrix), (std::vector<float>{1, 0, 0, 2, 3, 4, 0, 5, 0, 0, 0, 7}));
  EXPECT_EQ(decoded(matrix).entries(), 6U);
}

TEST(Weights, GroupsOfAConvolutionAreOfInputsAtOneTap) {
  // 5 channels x 2 taps: column = channel * 2 + tap.
  const CsrMatrix given = testing::make_matrix(10, {{{0, 1.F}, {5, 2.F}, {7, 3.F}, {8, 4.F}}});
  const TypedMatrix made = typed_matrix(given, Pattern::two_of_four, DataType::f32, 2);
  made.validate();
  EXPECT_EQ(made.groups(), 2U);
  // Tap 0: channels 0 to 3 have channel 0; channel 4. Tap 1: channels 2 and 3; none.
  EXPECT_EQ(made.values.value(0, 0), 1);
  EXPECT_EQ(made.values.value(0, 2), 4);
  EXPECT_EQ(made.values.value(0, 4), 2);
  EXPECT_EQ(made.values.value(0, 5), 3);
  testing::expect_equal(decoded(made), given);
}

/// 2 x 6 of 3 inputs at 2 taps, of which input 2 and then 1 and 0 are neighbours at the second; row 1 has three of
/// them.
TypedMatrix ordered() {
  const CsrMatrix given =
      testing::make_matrix(6, {{{0, 1.F}, {5, 2.F}}, {{0, 3.F}, {1, 4.F}, {3, 5.F}, {4, 6.F}, {5, 7.F}}});
  return typed_matrix(given, Pattern::two_of_four, DataType::i8, 2, std::vector<Index>{0, 1, 2, 2, 1, 0});
}

TEST(Weights, InputsOfATapMayHaveAnOrderOfTheirOwn) {
  const TypedMatrix matrix = ordered();
  EXPECT_EQ(error_of(matrix), "no error");
  EXPECT_EQ(dense(matrix), (std::vector<float>{1, 0, 0, 0, 0, 2, 3, 4, 0, 5, 6, 7}));
  EXPECT_EQ(matrix.values.value(0, 2), 2) << "input 3 is the first at the second tap";
  EXPECT_EQ(Weights(matrix).form(), "2:4 i8 ordered + 1 csr");
}

TEST(Weights, WhatDoesNotFitIntoGroupsIsStoredBeside) {
  const TypedMatrix matrix = ordered();
  EXPECT_EQ(matrix.group_values(), 8U);
  EXPECT_EQ(matrix.needed_values(), 9U);
  EXPECT_EQ(std::vector<Index>(matrix.indices.begin(), matrix.indices.end()), std::vector<Index>{1});
  EXPECT_EQ(std::vector<Offset>(matrix.offsets.begin(), matrix.offsets.end()), (std::vector<Offset>{0, 0, 1}));
  EXPECT_EQ(matrix.values.value(1, 8), 4);
  EXPECT_TRUE(half_zero().indices.empty());
}

TEST(Weights, AFormThatHasAllValuesIsTheSameMatrix) {
  testing::Rng rng(7);
  for (const Index cols : {1U, 3U, 4U, 7U, 12U}) {
    testing::Rows rows(9);
    for (auto& row : rows)
      for (Index column = 0; column < cols; ++column)
        if (column % 4 == row.size() % 3 || column % 4 == 3)
          row.emplace_back(column, static_cast<float>(rng.below(120)) + 1.F);
    const CsrMatrix given = testing::make_matrix(cols, rows);
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16, DataType::i8, DataType::u8})
      for (const Pattern pattern : {Pattern::dense, Pattern::csr, Pattern::two_of_four}) {
        const TypedMatrix made = typed_matrix(given, pattern, type);
        EXPECT_EQ(error_of(made), "no error") << Weights(made).form();
        testing::expect_equal(decoded(made), given);
        const TypedMatrix palette = with_palette(made);
        EXPECT_EQ(error_of(palette), "no error") << Weights(palette).form();
        testing::expect_equal(decoded(palette), given);
      }
  }
}

TEST(Weights, APaletteHasTheFewestBits) {
  for (const auto& [different, bits] : {std::pair{2, 1}, {3, 2}, {16, 4}, {17, 8}, {256, 8}, {257, 16}}) {
    testing::Rows rows(1);
    for (Index column = 0; column < 600; ++column)
      rows[0].emplace_back(column, static_cast<float>(1 + column % static_cast<Index>(different)));
    const CsrMatrix given = testing::make_matrix(600, rows);
    const TypedMatrix made = with_palette(typed_matrix(given, Pattern::csr, DataType::f32));
    made.validate();
    EXPECT_EQ(made.values.code_bits, bits) << different;
    EXPECT_EQ(made.values.codes.size(), (600U * static_cast<unsigned>(bits) + 7) / 8);
    testing::expect_equal(decoded(made), given);
    EXPECT_EQ(Weights(made).form(), "csr f32 palette of " + std::to_string(different));
  }
}

TEST(Weights, WhatATypeDoesNotHaveIsRefused) {
  const auto error = [](float value, DataType type) {
    const CsrMatrix given = testing::make_matrix(2, {{}, {{1, value}}});
    return thrown_by([&] { typed_matrix(given, Pattern::dense, type); });
  };
  EXPECT_EQ(error(0.1F, DataType::f16), "row 2: f16 has no value 0.1");
  EXPECT_EQ(error(65504.F, DataType::f16), "no error");
  EXPECT_EQ(error(65536.F, DataType::f16), "row 2: f16 has no value 65536");
  EXPECT_EQ(error(0x1p-24F, DataType::f16), "no error");
  EXPECT_EQ(error(0x1p-25F, DataType::f16), "row 2: f16 has no value 2.9802322e-08");
  EXPECT_EQ(error(1.0078125F, DataType::bf16), "no error");
  EXPECT_EQ(error(1.00390625F, DataType::bf16), "row 2: bf16 has no value 1.0039062");
  EXPECT_EQ(error(-128, DataType::i8), "no error");
  EXPECT_EQ(error(128, DataType::i8), "row 2: i8 has no value 128");
  EXPECT_EQ(error(-1, DataType::u8), "row 2: u8 has no value -1");
  EXPECT_EQ(error(2.5F, DataType::u8), "row 2: u8 has no value 2.5");
  const CsrMatrix three = testing::make_matrix(8, {{}, {{4, 1.F}, {5, 1.F}, {7, 0.1F}}});
  EXPECT_EQ(thrown_by([&] { typed_matrix(three, Pattern::two_of_four, DataType::f16); }), "row 2: f16 has no value 0.1")
      << "beside a group, too";
}

TEST(Weights, DamagedOrdersAndEntriesBesideGroupsAreRefused) {
  const auto with = [](const auto& damage) {
    TypedMatrix matrix = ordered();
    damage(matrix);
    return error_of(matrix);
  };
  EXPECT_EQ(with([](auto& m) { m.order = std::vector<Index>{0, 1, 2, 2, 1}; }), "an order of 5 inputs, expected 6");
  EXPECT_EQ(with([](auto& m) { m.order = std::vector<Index>{0, 1, 2, 2, 1, 2}; }),
            "the order at tap 2 has input 3 twice, or there is none");
  EXPECT_EQ(with([](auto& m) { m.order = std::vector<Index>{0, 1, 3, 2, 1, 0}; }),
            "the order at tap 1 has input 4 twice, or there is none");
  EXPECT_EQ(with([](auto& m) { m.indices = std::vector<Index>{0}; }),
            "row 2: column 1 has a value in a group and another");
  EXPECT_EQ(with([](auto& m) { m.indices = std::vector<Index>{6}; }), "a column is outside the matrix");
  EXPECT_EQ(with([](auto& m) { m.indices = {}; }), "9 values, expected 8");
  EXPECT_EQ(with([](auto& m) {
              m.places = std::vector<std::uint8_t>{0b0001'0100, 0b0100'0100};
            }),
            "row 1, places 1 to 4 at tap 2: places 1 and 0 do not ascend");
  TypedMatrix matrix = quantised();
  matrix.order = std::vector<Index>{0, 1, 2};
  EXPECT_EQ(error_of(matrix), "an order of inputs, which only 2:4 has");
}

TEST(Weights, DamagedArraysAreRefused) {
  const auto with = [](TypedMatrix matrix, const auto& damage) {
    damage(matrix);
    return error_of(matrix);
  };
  EXPECT_EQ(with(half_zero(), [](auto&) {}), "no error");
  const auto places = [&](std::vector<std::uint8_t> bytes) {
    return with(half_zero(), [&](auto& m) { m.places = std::move(bytes); });
  };
  EXPECT_EQ(places({0b0100'1100, 0b0100'0101}), "row 2, inputs 1 to 4: places 1 and 1 do not ascend");
  EXPECT_EQ(places({0b0100'0011, 0b0100'1001}), "row 1, inputs 1 to 4: places 3 and 0 do not ascend");
  EXPECT_EQ(places({0b1100'1100, 0b0100'1001}), "row 1, inputs 5 to 8: a value beyond the last input, 6");
  EXPECT_EQ(places({0b0100'1100}), "1 bytes of places, expected 2 for 4 groups of four");
  EXPECT_EQ(with(half_zero(), [](auto& m) { m.cols = 9; }), "8 values, expected 12");
  EXPECT_EQ(with(half_zero(), [](auto& m) { m.taps = 4; }), "4 taps do not fit 6 columns of a matrix of this pattern");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto values = [&](const auto& damage) { return with(quantised(), [&](auto& m) { damage(m.values); }); };
  EXPECT_EQ(values([&](Values& v) { v.scales[1] = nan; }), "scale nan, expected a positive number");
  EXPECT_EQ(values([](Values& v) { v.scales[0] = -1; }), "scale -1, expected a positive number");
  EXPECT_EQ(values([](Values& v) { v.scales[0] = 3e38F; }), "scale 3e+38 is too large for fp32");
  EXPECT_EQ(values([](Values& v) { v.scales.push_back(1); }), "3 scales, expected 1 or one for each of 2 rows");
  EXPECT_EQ(values([](Values& v) { v.zero_points[0] = 128; }), "zero point 128, expected -128 to 127");
  EXPECT_EQ(values([](Values& v) { v.count = 5; }), "5 values, expected 6");
  EXPECT_EQ(values([](Values& v) { v.bytes = std::vector<std::byte>(7); }), "7 values, expected 6");
  EXPECT_EQ(values([](Values& v) { v.codes = v.bytes; }), "codes without a palette");
  EXPECT_EQ(values([](Values& v) { v.type = DataType::f32; }), "6 bytes are not a whole number of f32");
  const TypedMatrix palette = with_palette(quantised());
  EXPECT_EQ(with(palette, [](auto& m) { m.values.code_bits = 3; }), "codes of 3 bits, expected 1, 2, 4, 8 or 16");
  EXPECT_EQ(with(palette,
                 [](auto& m) {
                   m.values.bytes = bytes_of_numbers<std::int8_t>({1, 2, 3});
                 }),
            "value 4 has code 3, outside a palette of 3");
  EXPECT_EQ(with(palette, [](auto& m) { m.values.code_bits = 2; }), "a palette of 6 values, expected at most 4");
  TypedMatrix floats = typed_matrix(testing::make_matrix(2, {{{0, 1.F}, {1, 2.F}}}), Pattern::csr, DataType::f16);
  EXPECT_EQ(with(floats, [](auto& m) { m.values.zero_points = {1}; }), "zero points of f16, which has none");
  EXPECT_EQ(with(floats, [](auto& m) { m.values.scales = {3e38F}; }), "scale 3e+38 is too large for fp32");
  floats.values.scales = {0.1F};
  EXPECT_EQ(error_of(floats), "no error");
  EXPECT_EQ(dense_rows(decoded(floats), 0, 1), (std::vector<float>{0.1F, 0.2F}));
  floats.values.bytes = bytes_of_numbers<std::uint16_t>({0x3c00, 0x7c00});
  EXPECT_EQ(error_of(floats), "number 2 is not finite");
  floats.indices = std::vector<Index>{0, 2};
  EXPECT_EQ(error_of(floats), "a column is outside the matrix");
}

TEST(Weights, EveryPairOfBytesIsTheHalfPrecisionNumberOrNone) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const std::uint32_t exponent = bits >> 10U & 31U;
    const double fraction = static_cast<double>(bits & 1023U) / 1024;
    TypedMatrix matrix;
    matrix.rows = matrix.cols = 1;
    matrix.values.type = DataType::f16;
    matrix.values.count = 1;
    matrix.values.bytes = bytes_of_numbers<std::uint16_t>({static_cast<std::uint16_t>(bits)});
    if (exponent == 31) {
      ASSERT_NE(error_of(matrix), "no error") << bits;
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, int(exponent) - 15);
    const auto value = static_cast<float>(bits >= 0x8000 ? -magnitude : magnitude);
    ASSERT_EQ(matrix.values.value(0, 0), value) << bits;
    if (value == 0) continue;
    const TypedMatrix again = typed_matrix(decoded(matrix), Pattern::dense, DataType::f16);
    ASSERT_EQ(std::memcmp(again.values.bytes.data(), matrix.values.bytes.data(), 2), 0) << bits;
  }
}

/// The reference's sums over forms are those over the decoded numbers, by a plain loop.
TEST(Weights, TheReferenceComputesWithTheDefinedNumbers) {
  for (const TypedMatrix& matrix : {quantised(), half_zero(), with_palette(quantised()), with_palette(half_zero())}) {
    testing::Rng rng(9);
    testing::ModelBuilder builder;
    const ValueId x = builder.input({1, Extent{matrix.cols}});
    Linear linear;
    linear.weights = Weights(matrix);
    const Model model = builder.finish({builder.add(linear, {x})});
    const Tensor images = testing::random_tensor(rng, {1, Extent{matrix.cols}});
    const Bounded y = evaluate(model, {images}).front();
    const std::vector<float> weights = dense(matrix);
    for (Index row = 0; row < matrix.rows; ++row) {
      double sum = 0;
      for (Index column = 0; column < matrix.cols; ++column)
        sum += double{weights[std::size_t{row} * matrix.cols + column]} * images.values[column];
      EXPECT_NEAR(y.values[row], sum, 1e-12 * std::abs(sum));
    }
  }
}

TEST(Weights, AConvolutionRefusesGroupsOfOtherTaps) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({1, 3, 4, 4});
  Convolution convolution;
  convolution.window = testing::same_window(1, 2);
  convolution.weights = Weights(half_zero());
  EXPECT_EQ(thrown_by([&] {
              builder.finish({builder.add(convolution, {x})});
            }).find("taps for each input, expected 2") != std::string::npos,
            true);
}

TEST(Weights, ThreadsShareOneDecodedMatrix) {
  const Weights weights(half_zero());
  std::vector<const float*> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] { found[i] = Weights(weights).csr().values.data(); });
  for (std::thread& thread : threads) thread.join();
  for (const float* const one : found) EXPECT_EQ(one, weights.csr().values.data());
}

}  // namespace
}  // namespace spdnn
