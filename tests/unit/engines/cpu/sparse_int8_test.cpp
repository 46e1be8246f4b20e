#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/system/host_memory.hpp"
#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_int8/dispatch.hpp"
#include "engines/cpu/sparse_int8/lay.hpp"
#include "engines/cpu/sparse_int8/whole.hpp"
#include "model/graph/magnitudes.hpp"
#include "program/choose.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "prune/quantise.hpp"
#include "prune/quantise_values.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/random_window.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using sparse_conv::Filters;
using sparse_conv::Tiling;
using WholeKernels = sparse_int8::Kernels;

/// A convolution of integers with scale 1, and its exact sums.
struct WholeCase {
  std::string name;
  ByteForm form;  ///< of the input
  ConvolutionShape shape;
  CsrMatrix weights;
  WholeWeights whole;
  std::vector<std::int32_t> input;  ///< less the zero point
  std::vector<std::int64_t> sums;
};

std::vector<std::int64_t> exact_whole_sums(const WholeCase& one) {
  const ConvolutionShape& shape = one.shape;
  const ImageExtents& in = shape.in;
  const ImageExtents& out = shape.out;
  const CsrMatrix& weights = one.weights;
  std::vector<std::int64_t> sums;
  for (Extent image = 0; image < out.images; ++image)
    for (Extent filter = 0; filter < out.channels; ++filter)
      for (Extent y = 0; y < out.height; ++y)
        for (Extent x = 0; x < out.width; ++x) {
          std::int64_t sum = 0;
          const auto row = static_cast<std::size_t>(filter);
          for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
            const Extent tap = weights.indices[k] % shape.taps();
            const Extent channel = filter / shape.filters() * shape.channels() + weights.indices[k] / shape.taps();
            const Extent from_y = tap_position(shape.window, 0, y, tap / shape.window.kernel[1]);
            const Extent from_x = tap_position(shape.window, 1, x, tap % shape.window.kernel[1]);
            if (from_y < 0 || from_y >= in.height || from_x < 0 || from_x >= in.width) continue;
            const Extent place = ((image * in.channels + channel) * in.height + from_y) * in.width + from_x;
            sum += std::int64_t{std::lrint(weights.entry_value(k))} * one.input[static_cast<std::size_t>(place)];
          }
          sums.push_back(sum);
        }
  return sums;
}

/// The numbers that images, less their zero point, and weights consist of.
struct WholeRange {
  const char* name;
  std::vector<std::int32_t> pixels;
  std::vector<std::int32_t> weights;
  ByteForm form{};
};
const std::vector<WholeRange>& whole_ranges() {
  static const std::vector<WholeRange> all{{"largest bytes", {255}, {-128}},
                                           {"largest bytes and weights", {255}, {127}},
                                           {"bytes", {0, 255, 1, 128, 77}, {-128, 127, 1, -1, 64}},
                                           {"least signed", {-128}, {-128, 127}, {.is_signed = true}},
                                           {"signed", {-128, 127, -1, 3}, {-128, 127, 5}, {.is_signed = true}},
                                           {"below a zero point", {-255, 0, -17}, {-128, 127}, {.zero = 255}},
                                           {"above it", {0, 255, 17}, {-128, 127}, {.is_signed = true, .zero = -128}},
                                           {"unsigned weights", {255, 0, 254}, {255, 128, -255}}};
  return all;
}

/// Terms stay below the 514 up to which every sum is an fp32 number.
WholeCase random_whole_case(std::uint32_t seed, const WholeRange& range) {
  testing::Rng rng(seed);
  const auto from = [&](Index least, Index most) { return least + static_cast<Index>(rng.below(most - least + 1)); };
  const Window window = rng.below(3) == 0
                            ? testing::random_window(rng, {.dilation = 2})
                            : testing::random_window(rng, {.kernel = 3, .stride = 3, .dilation = 2, .padding = 3});
  const Index groups = from(1, 3);
  const Shape shape{from(1, 3), Extent{groups} * from(1, 11), testing::covered(window, 0) + from(0, 12),
                    testing::covered(window, 1) + from(0, 40)};
  const Index filters = groups * from(1, 9);
  const Index columns = static_cast<Index>(shape[1]) / groups * window.kernel[0] * window.kernel[1];
  const double density = rng.below(4) == 0 ? 1 : rng.real(0.02, 0.6);
  const auto one_of = [&](const std::vector<std::int32_t>& numbers) {
    return numbers[rng.below(static_cast<Index>(numbers.size()))];
  };
  testing::Rows rows(filters);
  for (auto& row : rows)
    for (Index column = 0; column < columns; ++column)
      if (rng.real(0, 1) < density) row.emplace_back(column, static_cast<float>(one_of(range.weights)));
  Convolution convolution{
      .weights = testing::make_matrix(columns, rows), .bias = {}, .groups = groups, .window = window};
  WholeCase one{fmt::format("{} {}", range.name, seed), range.form, {}, {}, {}, {}, {}};
  one.shape = {image_extents(shape), image_extents(output_shape(convolution, {shape})), groups, window};
  one.weights = convolution.weights;
  one.whole.scales.assign(filters, 1);
  for (Offset k = 0; k < one.weights.entries(); ++k) {
    one.whole.numbers.push_back(static_cast<std::int32_t>(one.weights.entry_value(k)));
    one.whole.in_bytes = one.whole.in_bytes && one.whole.numbers.back() >= -128 && one.whole.numbers.back() <= 127;
  }
  one.input.resize(static_cast<std::size_t>(*elements(shape)));
  for (std::int32_t& number : one.input) number = one_of(range.pixels);
  one.sums = exact_whole_sums(one);
  return one;
}

/// Whether the loops take such numbers.
bool takes_whole(const WholeKernels& kernels, const WholeCase& one) {
  return kernels.together == 2 || (sparse_int8::are_unsigned_bytes(one.form) && one.whole.in_bytes);
}

/// The first wrong result; empty if there is none. `cut`: channels of a block; 0: as chosen.
std::string first_wrong_sum(const WholeCase& one, const WholeKernels& kernels, int threads, Extent cut, Extent parts) {
  const auto filters = sparse_int8::whole_filters(one.weights, one.whole, static_cast<Index>(one.shape.channels()),
                                                  static_cast<Index>(one.shape.taps()), kernels.together);
  if (sparse_int8::whole_entries(one.weights, static_cast<Index>(one.shape.channels()),
                                 static_cast<Index>(one.shape.taps()), kernels.together) != filters.offsets.back())
    return one.name + ": the entries are miscounted";
  ConvolutionShape shape = one.shape;
  shape.in.channels = shape.groups * sparse_int8::groups_of(shape.channels(), kernels.together);
  Tiling tiling = sparse_conv::best_tiling(shape, filters.offsets.back(), threads, kernels.loops);
  if (cut > 0) tiling.channels = std::min(cut, tiling.shape.channels());
  if (parts > 0) tiling.parts = std::min(parts, tiling.shape.filters());
  std::vector<float> bias(static_cast<std::size_t>(shape.out.channels));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
  const auto memory = [](std::size_t numbers) {
    auto got = allocate<float>(numbers + 16);
    std::fill_n(got.get(), numbers + 16, std::numeric_limits<float>::quiet_NaN());
    return got;
  };
  const auto packed = memory(Filters::bytes(tiling, filters.offsets.back()) / sizeof(float));
  auto* const data = reinterpret_cast<std::byte*>(packed.get());
  Filters::pack(tiling, filters.rows(bias), data);
  const auto laid = memory(sparse_int8::laid_size(tiling.shape));
  const auto scratch = memory(sparse_conv::scratch_size(tiling, threads));
  std::vector<std::byte> bytes;
  for (const std::int32_t number : one.input) bytes.push_back(static_cast<std::byte>(number + one.form.zero));
  sparse_int8::lay_images(kernels, {bytes.data(), one.form}, one.shape.in, shape.groups, threads, laid.get());
  std::vector<float> results(one.sums.size(), -7.5F);
  sparse_conv::convolve(tiling, kernels.loops, Filters(tiling, data), threads, laid.get(), scratch.get(),
                        results.data(), {});
  const auto pixels = static_cast<std::size_t>(shape.out.pixels());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const double wanted = static_cast<double>(one.sums[i]) + bias[i / pixels % bias.size()]; results[i] != wanted)
      return fmt::format("{} {}, {} threads, {} channels: result {} is {}, not {}", one.name,
                         kernels.loops.instruction_set, threads, cut, i, results[i], wanted);
  return {};
}

TEST(SparseInt8, EverySumIsExactOnEveryInstructionSetHoweverItIsCut) {
  std::set<std::string> run;
  for (const WholeRange& range : whole_ranges())
    for (std::uint32_t seed = 0; seed < testing::sampled(4U, 12U); ++seed) {
      const WholeCase one = random_whole_case(seed, range);
      for (const WholeKernels* const kernels : sparse_int8::available_kernels()) {
        if (!takes_whole(*kernels, one)) continue;
        run.insert(fmt::format("{} {}", kernels->loops.instruction_set, range.name));
        EXPECT_EQ(first_wrong_sum(one, *kernels, 1, 0, 0), "");
        EXPECT_EQ(first_wrong_sum(one, *kernels, 2, 1, 3), "");
        EXPECT_EQ(first_wrong_sum(one, *kernels, 2, 2, 1), "");
      }
    }
  // Bytes on each, and the others on those that lay two channels together.
  std::size_t expected = 0;
  for (const WholeKernels* const kernels : sparse_int8::available_kernels())
    expected += kernels->together == 2 ? whole_ranges().size() : 3;
  EXPECT_EQ(run.size(), expected);
}

/// A model of one node whose input and weights are rounded, `low` being the least number of the input.
testing::ModelCase rounded_case(testing::ModelCase one, float low) {
  quantise(one.model, {Quantisation::Kind::int8, 8});
  quantise_values(one.model, {{one.model.inputs[0], {low, 1}}});
  one.model.validate();
  std::vector<float> values(one.inputs.front().values.begin(), one.inputs.front().values.end());
  for (float& value : values) value = low < 0 ? value : std::abs(value);
  one.inputs.front().values = std::move(values);
  return one;
}

std::vector<testing::ModelCase> rounded_whole_cases() {
  std::vector<testing::ModelCase> cases;
  testing::Rng rng(91);
  for (const float low : {0.F, -1.F})
    for (const Index kernel : {1U, 3U})
      for (const double density : {0.02, 0.1, 0.5})
        for (const Index groups : {1U, 2U}) {
          const Shape shape{3, 22, 9, 13};
          cases.push_back(rounded_case(
              testing::convolution_case(
                  fmt::format("{} of {} groups from {}", kernel, groups, low),
                  testing::random_convolution(rng, 22, 10, testing::same_window(kernel, kernel), density, groups),
                  shape, testing::random_tensor(rng, shape)),
              low));
        }
  return cases;
}

TEST(SparseInt8, KeepsTheContractOfKernelsOnRoundedModels) {
  const program::Kernels kernels = testing::kernels_of("sparse_int8");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(testing::contract_fault(*kernels[0], rounded_whole_cases()), "");
}

/// One node: y = W x + b, of as many rows.
testing::ModelCase whole_linear_case(testing::Rng& rng, Extent rows, Index inputs, Index outputs) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, inputs});
  const ValueId y = builder.add(Linear{.weights = testing::random_weights(rng, outputs, inputs, 0.2),
                                       .bias = testing::random_values(rng, outputs, -1, 1)},
                                {x});
  const ValueId z = builder.add(Activation{.kind = Activation::Kind::relu}, {y});
  return {fmt::format("{} rows of {} to {}", rows, inputs, outputs),
          builder.finish({z}),
          {testing::random_tensor(rng, {rows, inputs})}};
}

TEST(SparseInt8, MultipliesMatricesOfAnyNumberOfRows) {
  const program::Kernels kernels = testing::kernels_of("sparse_int8");
  testing::Rng rng(92);
  std::vector<testing::ModelCase> cases;
  for (const Extent rows : {1, 3, 8, 16, 33})
    for (const Index inputs : {1U, 5U, 64U, 130U})
      for (const float low : {0.F, -1.F}) cases.push_back(rounded_case(whole_linear_case(rng, rows, inputs, 19), low));
  EXPECT_EQ(testing::contract_fault(*kernels[1], cases), "");
}

/// The kernel's offer for the last node of a model.
std::vector<program::Offer> whole_offers_of(const Model& model) {
  program::LayoutsOfValues there;
  const auto last = static_cast<Index>(model.nodes.size() - 1);
  return testing::kernels_of("sparse_int8")[0]->offers(program::request_for(
      model, {last, {}}, 1, {.kernels_for = 1, .threads = 1}, program::byte_forms_of(model), there));
}

TEST(WholeWeights, TwoOfARowFitIntoProductsOf16BitsWhereverTheyStand) {
  const auto fit = [](const std::vector<float>& values) {
    testing::Rows rows(2);
    rows[0] = {{0, 1.F}};
    for (const float value : values) rows[1].emplace_back(static_cast<Index>(rows[1].size()), value);
    const CsrMatrix weights = testing::make_matrix(8, rows);
    return pairs_fit(weights, whole_weights(weights).value());
  };
  EXPECT_TRUE(fit({127, 1, 1})) << "127 and 1 times 255 are 32640";
  for (const std::vector<float>& values : {std::vector<float>{127, 2, 1}, {127, 1, 2}, {1, 2, 127}, {2, 127, 1}})
    EXPECT_FALSE(fit(values)) << values[0] << " " << values[1] << " " << values[2];
  EXPECT_FALSE(fit({-127, -2, 1}));
}

TEST(WholeWeights, AreFoundInTheValuesWhateverTheScale) {
  testing::Rng rng(94);
  for (const std::int32_t most : {127, 128, 255, 1, 77})
    for (int trial = 0; trial < 50; ++trial) {
      const auto scale = static_cast<float>(rng.real(1e-6, 10));
      testing::Rows rows(4);
      for (Index row = 0; row < 3; ++row)  // the last one is empty
        for (Index column = 0; column < 30; ++column) {
          const auto number = static_cast<std::int32_t>(rng.below(static_cast<Index>(2 * most + 1))) - most;
          if (const float value = scale * static_cast<float>(column == 0 ? -most : number); value != 0)
            rows[row].emplace_back(column, value);
        }
      const CsrMatrix weights = testing::make_matrix(30, rows);
      const std::optional<WholeWeights> found = whole_weights(weights);
      ASSERT_TRUE(found) << most << " times " << scale;
      for (Index row = 0; row < 4; ++row)
        for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
          EXPECT_EQ(found->scales[row] * static_cast<float>(found->numbers[k]), weights.entry_value(k));
      if (most <= 127) {
        EXPECT_TRUE(found->in_bytes);
      }
    }
  EXPECT_FALSE(whole_weights(testing::random_weights(rng, 3, 50, 1)));
  EXPECT_FALSE(whole_weights(testing::make_matrix(2, {{{0, 1.F}, {1, 256.F}}}))) << "9 bits";
}

TEST(WholeWeights, OfAMatrixAreFoundOnce) {
  const CsrMatrix weights = testing::make_matrix(2, {{{0, 1.F}, {1, 127.F}}});
  const CsrMatrix others = testing::make_matrix(2, {{{0, 1.F}, {1, 256.F}}});
  KnownWholeWeights known;
  const auto found = whole_weights(&known, weights);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->numbers, whole_weights(weights)->numbers);
  EXPECT_EQ(whole_weights(&known, others), nullptr);
  EXPECT_EQ(whole_weights(&known, weights), found);
  EXPECT_NE(whole_weights(nullptr, weights), found);
}

TEST(WholeWeights, AreRememberedForAllRequestsOfAProgram) {
  testing::Rng rng(95);
  const Model model = rounded_case(whole_linear_case(rng, 4, 30, 7), 0).model;
  program::Kernels kernels = testing::kernels_of("plain");
  for (const program::Kernel* const kernel : testing::kernels_of("sparse_int8")) kernels.push_back(kernel);
  std::set<const KnownWholeWeights*> known;
  const auto chooser = [&](const program::Request& request) {
    known.insert(request.known);
    return program::choose(kernels, request);
  };
  program::compile(model, Magnitudes(model), 4, {.kernels = kernels, .chooser = chooser});
  EXPECT_EQ(known.size(), 1U);
  EXPECT_EQ(known.count(nullptr), 0U);
}

TEST(SparseInt8, RefusesSumsThatMayExceed32Bits) {
  constexpr Index kMost = 33024;  // each product is at most 255 x 255
  const auto row_of = [](Index terms) {
    testing::Rows rows(2);
    for (Index column = 0; column < terms; ++column) rows[1].emplace_back(column, 1.F);
    rows[0].assign(rows[1].begin(), rows[1].begin() + kMost);
    return testing::make_matrix(terms, rows);
  };
  EXPECT_LT(std::int64_t{kMost} * 255 * 255, std::int64_t{1} << 31);
  EXPECT_EQ(why_not_exact(row_of(kMost)), "");
  EXPECT_EQ(why_not_exact(row_of(kMost + 1)), "a sum of more than 33024 products may exceed 32 bits");
}

TEST(SparseInt8, OffersOnlyWhatIsRoundedAndSaysWhatElseItLacks) {
  testing::Rng rng(93);
  const Shape shape{1, 8, 5, 5};
  const auto given = [&](double density) {
    return testing::convolution_case("", testing::random_convolution(rng, 8, 6, testing::same_window(1, 1), density),
                                     shape, testing::random_tensor(rng, shape));
  };
  EXPECT_TRUE(whole_offers_of(given(0.2).model).empty()) << "the input is not rounded";
  Model values_alone = given(0.2).model;
  quantise_values(values_alone, {{values_alone.inputs[0], {0, 1}}});
  EXPECT_EQ(whole_offers_of(values_alone).at(0).why_not, "the weights of a row are not int8 numbers times a scale");
  EXPECT_EQ(whole_offers_of(rounded_case(given(1), 0).model).at(0).why_not, "most weights are not zero");
  const std::vector<program::Offer> offers = whole_offers_of(rounded_case(given(0.2), 0).model);
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_TRUE(offers[0].takes());
  EXPECT_NE(offers[0].detail.find(sparse_int8::available_kernels().front()->loops.instruction_set), std::string::npos);
}

/// Loops that take four bytes at a time are for unsigned ones and weights of a byte; two of 16 bits are for all.
TEST(SparseInt8, TakesImagesAsTheyAreRoundedAndLaysThemByWhatTheyHold) {
  testing::Rng rng(96);
  const Shape shape{1, 8, 5, 5};
  const auto offered = [&](float low, float most_weight) {
    testing::Rows rows(6);
    for (Index row = 0; row < 6; ++row) rows[row] = {{row, most_weight}, {row + 1, 1.F}};
    Convolution convolution{.weights = testing::make_matrix(8, rows), .bias = {}};
    Model model =
        testing::convolution_case("", std::move(convolution), shape, testing::random_tensor(rng, shape)).model;
    quantise_values(model, {{model.inputs[0], {low, 1}}});
    const program::Offer offer = whole_offers_of(model).at(0);
    EXPECT_EQ(offer.why_not, "");
    return std::pair(offer.inputs.at(0).type, offer.detail.find(", 2 channels together") != std::string::npos);
  };
  const bool only_two = sparse_int8::available_kernels().front()->together == 2;
  using program::ElementType;
  EXPECT_EQ(offered(0, 127), std::pair(ElementType::u8, only_two));
  EXPECT_EQ(offered(0, 255), std::pair(ElementType::u8, true));
  EXPECT_EQ(offered(-1, 127), std::pair(ElementType::s8, true));
}

}  // namespace
}  // namespace spdnn
