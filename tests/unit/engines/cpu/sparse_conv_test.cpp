#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engines/cpu/lanes/runnable.hpp"
#include "engines/cpu/sparse_conv/convolve.hpp"
#include "engines/cpu/sparse_conv/cycles.hpp"
#include "engines/cpu/sparse_conv/dispatch.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/random_window.hpp"
#include "support/sampled.hpp"
#include "support/sum_functions.hpp"

namespace spdnn {
namespace {

using sparse_conv::Filters;
using sparse_conv::Kernels;
using sparse_conv::Tiling;
using testing::ModelCase;

ConvolutionShape shape_of(const ModelCase& one) {
  const Model& model = one.model;
  const auto& convolution = std::get<Convolution>(model.nodes.front().operation);
  const Extent images = one.inputs.front().shape.front();
  return {image_extents(one.inputs.front().shape),
          image_extents(with_batch(model.values[model.outputs.front()].shape, images)), convolution.groups,
          convolution.window};
}

Tiling tiling_for(const ModelCase& one, const Kernels& kernels, int threads) {
  const auto& convolution = std::get<Convolution>(one.model.nodes.front().operation);
  return sparse_conv::best_tiling(shape_of(one), convolution.weights->entries(), threads, kernels);
}

/// The result of the model's convolution. The memory before and after it must stay unchanged.
std::vector<float> convolved(const ModelCase& one, const Tiling& tiling, const Kernels& kernels, int threads,
                             const program::Ending& ending = {}) {
  const auto& convolution = std::get<Convolution>(one.model.nodes.front().operation);
  const auto filters = allocate<float>(Filters::bytes(tiling, convolution.weights->entries()) / sizeof(float));
  auto* const packed = reinterpret_cast<std::byte*>(filters.get());
  Filters::pack(tiling, convolution.weights, convolution.bias, packed);
  const auto scratch = allocate<float>(sparse_conv::scratch_size(tiling, threads));
  std::fill_n(scratch.get(), sparse_conv::scratch_size(tiling, threads), std::numeric_limits<float>::quiet_NaN());
  const ImageExtents& out = tiling.shape.out;
  constexpr std::size_t kAround = 40;
  const auto size = static_cast<std::size_t>(out.images * out.channels * out.pixels());
  std::vector<float> results(size + 2 * kAround, -7.F);
  sparse_conv::convolve(tiling, kernels, Filters(tiling, packed), threads, one.inputs.front().values.data(),
                        scratch.get(), results.data() + kAround, ending);
  EXPECT_EQ(std::count(results.begin(), results.begin() + kAround, -7.F), kAround) << one.name;
  EXPECT_EQ(std::count(results.end() - kAround, results.end(), -7.F), kAround) << one.name;
  return {results.begin() + kAround, results.end() - kAround};
}

/// A convolution with random shape, window, groups and density.
ModelCase random_case(std::uint32_t seed) {
  testing::Rng rng(seed);
  const auto from = [&](Index least, Index most) { return least + static_cast<Index>(rng.below(most - least + 1)); };
  const Window window = testing::random_window(rng, {.kernel = 5, .stride = 3, .dilation = 3, .padding = 4});
  const Index groups = from(1, 3);
  const Shape shape{from(1, 3), Extent{groups} * from(1, 9), testing::covered(window, 0) + from(0, 20),
                    testing::covered(window, 1) + from(0, 40)};
  Convolution convolution = testing::random_convolution(rng, static_cast<Index>(shape[1]), groups * from(1, 12), window,
                                                        rng.real(0.01, 0.5), groups, rng.below(2) == 0);
  return testing::convolution_case(fmt::format("random {}", seed), std::move(convolution), shape,
                                   testing::random_tensor(rng, shape, 0.8));
}

std::vector<ModelCase> all_cases() {
  std::vector<ModelCase> cases = testing::convolution_battery();
  for (std::uint32_t seed = 0; seed < testing::sampled(20U, 60U); ++seed) cases.push_back(random_case(seed));
  testing::Rng rng(71);
  const Window pointwise{.kernel = {1, 1}};
  Window strided = pointwise;  // rows and columns must be told apart
  strided.stride = {2, 3};
  Window behind = pointwise;
  behind.pad_end = {1, 2};
  const Window far_behind{.kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {4, 5}};
  for (const Window& window : {strided, behind, far_behind}) {
    const Shape shape{2, 5, 9, 11};
    cases.push_back(testing::convolution_case(fmt::format("behind {}, stride {}", window.pad_end[1], window.stride[1]),
                                              testing::random_convolution(rng, 5, 6, window, 0.5), shape,
                                              testing::random_tensor(rng, shape)));
  }
  for (const Index down : {2U, 1U}) {  // as wide as registers, but of several rows that are not read one after another
    Window rows = pointwise;
    rows.stride = {down, 1};
    rows.pad_begin = {2 - down, 0};
    const Shape shape{2, 5, 5, 32};
    cases.push_back(testing::convolution_case(fmt::format("rows apart by {}", down),
                                              testing::random_convolution(rng, 5, 6, rows, 0.5), shape,
                                              testing::random_tensor(rng, shape)));
  }
  for (const Extent size : {7, 14, 28}) {  // the images of networks, with enough channels for several blocks
    const Shape shape{2, 48, size, size};
    for (const Index kernel : {1U, 3U})
      cases.push_back(
          testing::convolution_case(fmt::format("{} x {} by {}", size, size, kernel),
                                    testing::random_convolution(rng, 48, 20, testing::same_window(kernel, kernel), 0.1),
                                    shape, testing::random_tensor(rng, shape)));
  }
  return cases;
}

TEST(SparseConv, StaysWithinTheBoundOnEveryInstructionSetAndWithAnyThreads) {
  for (const ModelCase& one : all_cases()) {
    const Bounded expected = evaluate(one.model, one.inputs).front();
    for (const Kernels* const kernels : sparse_conv::available_kernels())
      for (const int threads : {1, 2, 5})
        EXPECT_LE(largest_ratio(expected, convolved(one, tiling_for(one, *kernels, threads), *kernels, threads)), 1)
            << one.name << " " << kernels->instruction_set << ", " << threads << " threads";
  }
}

/// Tilings of each kind, more than one where rows, columns or registers differ.
std::vector<Tiling> different_tilings(const ModelCase& one, const Kernels& kernels) {
  std::set<std::array<Extent, 5>> seen;
  std::vector<Tiling> different;
  for (const Tiling& tiling : sparse_conv::possible_tilings(shape_of(one), kernels)) {
    const Extent kind = 2 * Extent{tiling.across.most_shift > 0} + Extent{tiling.in_place};
    const Extent vectors = tiling.vectors(tiling.rows, tiling.columns);
    if (seen.insert({kind, tiling.column_tiles() > 1, tiling.row_tiles() > 1, tiling.blocks() > 1, vectors}).second)
      different.push_back(tiling);
  }
  return different;
}

TEST(SparseConv, StaysWithinTheBoundWithEachOfItsTilings) {
  for (const ModelCase& one : all_cases()) {
    const Bounded expected = evaluate(one.model, one.inputs).front();
    for (const Kernels* const kernels : sparse_conv::available_kernels())
      for (const Tiling& tiling : different_tilings(one, *kernels))
        EXPECT_LE(largest_ratio(expected, convolved(one, tiling, *kernels, 1)), 1)
            << one.name << " " << kernels->instruction_set << ", tiles of " << tiling.rows << " x " << tiling.columns
            << ", pitch " << tiling.pitch << ", " << tiling.channels << " channels";
  }
}

TEST(SparseConv, TilesOfAWideImageAreEquallyWideOrFillTheirRegisters) {
  testing::Rng rng(31);
  const Extent width = 101;
  const Shape shape{1, 2, 4, width};
  Convolution convolution = testing::random_convolution(rng, 2, 3, testing::same_window(3, 3), 0.5, 1);
  const ModelCase one =
      testing::convolution_case("wide", std::move(convolution), shape, testing::random_tensor(rng, shape));
  for (const Kernels* const kernels : sparse_conv::available_kernels()) {
    const Extent even =
        sparse_conv::divided(width, sparse_conv::divided(width, kernels->most_vectors * kernels->lanes) + 1);
    std::set<Extent> columns;
    for (const Tiling& tiling : sparse_conv::possible_tilings(shape_of(one), *kernels)) columns.insert(tiling.columns);
    EXPECT_TRUE(columns.contains(even)) << even;
    EXPECT_TRUE(columns.contains(sparse_conv::divided(even, kernels->lanes) * kernels->lanes)) << even;
  }
}

TEST(SparseConv, FinishesEachResultOnceWhateverItsTiles) {
  program::Ending ending;
  ending.finish = [](float* results, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) results[i] = 2 * results[i] + 1;
  };
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const ModelCase one = random_case(seed);
    const Kernels& kernels = *sparse_conv::available_kernels().front();
    for (const Tiling& tiling : different_tilings(one, kernels)) {
      std::vector<float> expected = convolved(one, tiling, kernels, 1);
      ending.finish(expected.data(), expected.size());
      EXPECT_EQ(convolved(one, tiling, kernels, 2, ending), expected)
          << one.name << ", tiles of " << tiling.rows << " x " << tiling.columns;
    }
  }
}

/// Blocks and parts are chosen by predicted times: small convolutions would never have several.
TEST(SparseConv, StaysWithinTheBoundHoweverItIsCut) {
  for (const ModelCase& one : all_cases()) {
    const Bounded expected = evaluate(one.model, one.inputs).front();
    for (const Kernels* const kernels : sparse_conv::available_kernels())
      for (const Extent channels : {1, 2, 5})
        for (const Extent parts : {1, 3}) {
          Tiling tiling = tiling_for(one, *kernels, 1);
          tiling.channels = std::min(channels, tiling.shape.channels());
          tiling.parts = std::min(parts, tiling.shape.filters());
          EXPECT_LE(largest_ratio(expected, convolved(one, tiling, *kernels, 2)), 1)
              << one.name << " " << kernels->instruction_set << ", " << channels << " channels, " << parts << " parts";
        }
  }
}

/// The kinds of tiles that the tests above must have run.
TEST(SparseConv, IsTestedWithAllKindsOfTiles) {
  std::set<std::string> kinds;
  for (const ModelCase& one : all_cases()) {
    const Tiling tiling = tiling_for(one, *sparse_conv::available_kernels().front(), 1);
    const auto note = [&](bool is, const char* kind) {
      if (is) kinds.insert(kind);
    };
    const bool shifts = tiling.across.most_shift > 0;
    note(shifts && tiling.plane_columns() > tiling.pitch, "padding shared by rows");
    note(shifts && tiling.pitch % tiling.lanes == 0, "rows on bounds");
    note(!shifts && tiling.shape.window.kernel[1] > 1, "columns copied for each tap");
    note(tiling.down.first.size() > 1, "phases of rows");
    note(tiling.row_tiles() > 1, "tiles of rows");
    note(tiling.column_tiles() > 1, "tiles of columns");
    note(tiling.shape.in.height != shape_of(one).in.height, "pixels of a pointwise convolution as one row");
    note(tiling.in_place && tiling.column_tiles() > 1, "tiles in place");
    EXPECT_TRUE(!tiling.in_place || tiling.shape.in.width % tiling.lanes == 0) << one.name << ": behind the image";
  }
  EXPECT_EQ(kinds.size(), 8U);
}

/// The cycles of a tile of 32 pixels of 64 channels that is read in place.
double cycles_in_place(Extent pixels_of_image) {
  Tiling tiling;
  tiling.shape = {{1, 64, 1, pixels_of_image}, {1, 64, 1, pixels_of_image}};
  tiling.columns = tiling.pitch = 32;
  tiling.channels = 64;
  tiling.lanes = 8;
  tiling.in_place = true;
  return sparse_conv::cycles_of(tiling, 1000, 1) / static_cast<double>(tiling.column_tiles());
}

TEST(SparseConv, ATileInPlaceTakesLongerWhereTheChannelsOfAnImageShareSetsOfACache) {
  EXPECT_GT(cycles_in_place(1024), 1.1 * cycles_in_place(1056)) << "4096 bytes from channel to channel, and 4224";
  EXPECT_EQ(cycles_in_place(1056), cycles_in_place(1120));
}

/// Predicted times choose between AVX-512 and AVX2 where a register of the former is computed as two halves.
TEST(SparseConv, IsOfferedInBothInstructionSetsWhereAvx512IsComputedInHalves) {
  testing::Rng rng(32);
  const Shape shape{1, 8, 7, 7};
  const ModelCase one =
      testing::convolution_case("one", testing::random_convolution(rng, 8, 8, testing::same_window(3, 3), 0.3), shape,
                                testing::random_tensor(rng, shape));
  const program::Request request{.model = one.model, .step = {0, {}}, .images = 1, .inputs = {{0, shape, {{}}}}};
  const bool in_halves = lanes::halves_avx512();
  EXPECT_TRUE(!in_halves || (lanes::runs_avx512() && lanes::runs_avx2()));
  std::vector<std::string> expected;
  if (lanes::runs_avx512()) expected.emplace_back("AVX-512");
  if (lanes::runs_avx2() && (in_halves || expected.empty())) expected.emplace_back("AVX2");
  if (expected.empty()) expected.emplace_back("portable");
  for (const char* const family : {"sparse_conv", "depthwise"}) {
    std::vector<std::string> found;
    const ModelCase depthwise =
        testing::convolution_case("depthwise", testing::random_convolution(rng, 8, 8, testing::same_window(3, 3), 1, 8),
                                  shape, testing::random_tensor(rng, shape));
    const program::Request of_channels{
        .model = depthwise.model, .step = {0, {}}, .images = 1, .inputs = {{0, shape, {{}}}}};
    const bool sparse = std::string(family) == "sparse_conv";
    for (const program::Offer& offer : testing::kernels_of(family).front()->offers(sparse ? request : of_channels))
      found.push_back(offer.detail.substr(0, offer.detail.find(',')));
    EXPECT_EQ(found, expected) << family;
  }
}

TEST(SparseConv, PermutedFiltersPermuteTheResults) {
  testing::Rng rng(72);
  const Shape shape{2, 20, 9, 11};
  const Convolution given = testing::random_convolution(rng, 20, 31, testing::same_window(3, 3), 0.2);
  std::vector<Index> order(31);
  for (Index i = 0; i < 31; ++i) order[i] = (i * 7 + 3) % 31;
  Convolution permuted = given;
  testing::Rows rows(31);
  for (Index i = 0; i < 31; ++i) {
    for (Offset k = given.weights->offsets[order[i]]; k < given.weights->offsets[order[i] + 1]; ++k)
      rows[i].emplace_back(given.weights->indices[k], given.weights->entry_value(k));
    permuted.bias[i] = given.bias[order[i]];
  }
  permuted.weights = testing::make_matrix(180, rows);
  const Tensor images = testing::random_tensor(rng, shape);
  const ModelCase first = testing::convolution_case("given", given, shape, images);
  const ModelCase second = testing::convolution_case("permuted", permuted, shape, images);
  for (const Kernels* const kernels : sparse_conv::available_kernels()) {
    const std::vector<float> results = convolved(first, tiling_for(first, *kernels, 1), *kernels, 1);
    const std::vector<float> others = convolved(second, tiling_for(second, *kernels, 1), *kernels, 1);
    for (std::size_t image = 0; image < 2; ++image)
      for (std::size_t i = 0; i < 31; ++i)
        EXPECT_TRUE(std::equal(others.begin() + static_cast<long>((image * 31 + i) * 99),
                               others.begin() + static_cast<long>((image * 31 + i + 1) * 99),
                               results.begin() + static_cast<long>((image * 31 + order[i]) * 99)))
            << kernels->instruction_set << " filter " << i;
  }
}

/// A batch gives the bits of its images one by one, as tiles do not cross images.
TEST(SparseConv, ImagesDoNotDependOnTheirBatch) {
  testing::Rng rng(73);
  const Shape shape{7, 6, 9, 9};
  const Convolution convolution = testing::random_convolution(rng, 6, 9, testing::same_window(3, 3), 0.3);
  const Tensor images = testing::random_tensor(rng, shape);
  const ModelCase all = testing::convolution_case("all", convolution, shape, images);
  const Kernels& kernels = *sparse_conv::available_kernels().front();
  const std::vector<float> together = convolved(all, tiling_for(all, kernels, 1), kernels, 1);
  for (std::size_t image = 0; image < 7; ++image) {
    const auto values = images.values.span().subspan(image * 486, 486);
    const ModelCase one = testing::convolution_case("one", convolution, {1, 6, 9, 9},
                                                    testing::make_tensor({1, 6, 9, 9}, {values.begin(), values.end()}));
    const std::vector<float> alone = convolved(one, tiling_for(one, kernels, 1), kernels, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<long>(image * 729))) << image;
  }
}

/// The functions and the addition that a kernel does with its sums give the bits of separate nodes.
TEST(SparseConv, EndsItsSumsLikeSeparateNodes) {
  testing::Rng rng(76);
  const auto case_of = [&](const Shape& shape, const Window& window) {
    const auto channels = static_cast<Index>(shape[1]);
    return testing::convolution_case(shape_text(shape), testing::random_convolution(rng, channels, 7, window, 0.3),
                                     shape, testing::random_tensor(rng, shape, 0.8));
  };
  Window strided = testing::same_window(5, 5);
  strided.stride = {2, 2};
  std::size_t number = 0;
  for (const ModelCase& one : {case_of({2, 20, 7, 7}, {}), case_of({1, 20, 16, 32}, {}),
                               case_of({2, 5, 9, 9}, testing::same_window(3, 3)), case_of({1, 5, 11, 45}, strided)})
    for (const Kernels* const kernels : sparse_conv::available_kernels())
      for (const Tiling& tiling : different_tilings(one, *kernels)) {
        const std::vector<float> sums = convolved(one, tiling, *kernels, 1);
        std::vector<float> added;  // exactly as long as the results, so that sanitizers see what is read behind them
        for (std::size_t i = 0; i < sums.size(); ++i) added.push_back(static_cast<float>(rng.real(-1, 1)));
        for (const bool adds : {false, true})
          for (const testing::NamedFunction& before : testing::sum_functions())
            for (const testing::NamedFunction& after : testing::sum_functions()) {
              if (number++ % testing::sampled(3U, 1U) != 0) continue;
              std::vector<float> expected = sums;
              for (std::size_t i = 0; i < sums.size(); ++i)
                expected[i] = adds ? after(before(sums[i]) + added[i]) : before(sums[i]);
              EXPECT_EQ(expected, convolved(one, tiling, *kernels, 2,
                                            {before.function, adds ? added.data() : nullptr, after.function}))
                  << one.name << " " << kernels->instruction_set << ", tiles of " << tiling.rows << " x "
                  << tiling.columns << ", " << before.name << (adds ? ", an addition, " : " alone, not ") << after.name;
            }
      }
}

/// A convolution, followed by a relu and other functions that are fused with it as well.
std::vector<ModelCase> functions_around_an_addition() {
  testing::Rng rng(75);
  std::vector<ModelCase> cases;
  for (const bool multiplied : {false, true}) {
    testing::ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 6, 9, 9});
    ValueId y = builder.add(testing::random_convolution(rng, 6, 6, testing::same_window(3, 3), 0.3), {x});
    y = builder.add(Activation{}, {y});
    const ValueId half = builder.constant(testing::make_tensor({}, {-0.5F}));
    if (multiplied) y = builder.add(Elementwise{Elementwise::Kind::multiply}, {y, half});
    y = builder.add(Elementwise{}, {y, x});
    y = builder.add(testing::make_clip(-1, 0.5F), {y});
    y = builder.add(testing::make_activation(Activation::Kind::hard_swish), {y});
    cases.push_back({multiplied ? "with a product" : "without a product",
                     builder.finish({y}),
                     {testing::random_tensor(rng, {2, 6, 9, 9})}});
  }
  return cases;
}

/// In whole models, with the functions that are fused.
TEST(SparseConv, KeepsTheContractOfKernels) {
  const program::Kernel& kernel = *testing::kernels_of("sparse_conv").front();
  EXPECT_EQ(testing::contract_fault(kernel, testing::convolution_battery()), "");
  std::vector<ModelCase> cases = functions_around_an_addition();
  for (const double density : {0.01, 0.1, 0.5})
    for (const Extent batch : {1, 7}) cases.push_back(testing::small_network(74, density, batch));
  for (std::uint32_t seed = 0; seed < 40; ++seed) cases.push_back(testing::RandomModel(seed).make(5 + seed, 2));
  EXPECT_EQ(testing::contract_fault(kernel, cases), "");
}

}  // namespace
}  // namespace spdnn
