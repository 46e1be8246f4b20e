#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engines/cpu/depthwise/convolve.hpp"
#include "engines/cpu/depthwise/dispatch.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/random_window.hpp"
#include "support/sampled.hpp"
#include "support/sum_functions.hpp"

namespace spdnn {
namespace {

using testing::ModelCase;

const Convolution& convolution_of(const ModelCase& one) {
  return std::get<Convolution>(one.model.nodes.front().operation);
}

depthwise::Tiling depthwise_tiling(const ModelCase& one, const depthwise::Kernels& kernels, int threads) {
  const Extent images = one.inputs.front().shape.front();
  const Shape& output = one.model.values[one.model.outputs.front()].shape;
  const ConvolutionShape shape{image_extents(one.inputs.front().shape), image_extents(with_batch(output, images)),
                               convolution_of(one).groups, convolution_of(one).window};
  return {shape, kernels, threads};
}

/// The result of the model's convolution; the numbers before and behind it must stay as they were.
std::vector<float> by_planes(const ModelCase& one, const depthwise::Tiling& tiling, const depthwise::Kernels& kernels,
                             int threads, const program::Ending& ending = {}) {
  const Convolution& convolution = convolution_of(one);
  std::vector<std::byte> filters(depthwise::Filters::bytes(tiling));
  depthwise::Filters::pack(tiling, convolution.weights, convolution.bias, filters.data());
  const auto scratch = allocate<float>(depthwise::scratch_size(tiling, threads));
  std::fill_n(scratch.get(), depthwise::scratch_size(tiling, threads), std::numeric_limits<float>::quiet_NaN());
  const ImageExtents& out = tiling.shape.out;
  constexpr std::size_t kAround = 40;
  const auto size = static_cast<std::size_t>(out.images * out.channels * out.pixels());
  std::vector<float> results(size + 2 * kAround, -7.F);
  // Exactly as long as the images, so that sanitizers see what is read behind them.
  const std::vector<float> images(one.inputs.front().values.begin(), one.inputs.front().values.end());
  depthwise::convolve(tiling, kernels, depthwise::Filters(tiling, filters.data()), threads, images.data(),
                      scratch.get(), results.data() + kAround, ending);
  EXPECT_EQ(std::count(results.begin(), results.begin() + kAround, -7.F), kAround) << one.name;
  EXPECT_EQ(std::count(results.end() - kAround, results.end(), -7.F), kAround) << one.name;
  return {results.begin() + kAround, results.end() - kAround};
}

ModelCase case_of(const std::string& name, testing::Rng& rng, const Shape& shape, Index filters, const Window& window,
                  double density = 1) {
  const auto channels = static_cast<Index>(shape[1]);
  return testing::convolution_case(
      name,
      testing::random_convolution(rng, channels, channels * filters, window, density, channels, rng.below(2) == 0),
      shape, testing::random_tensor(rng, shape, 0.8));
}

/// One depthwise convolution after another with everything in which they may differ drawn at random.
ModelCase random_depthwise(std::uint32_t seed) {
  testing::Rng rng(seed);
  const auto from = [&](Index least, Index most) { return least + static_cast<Index>(rng.below(most - least + 1)); };
  Window window = testing::random_window(rng, {.kernel = 6, .stride = 3, .dilation = 3, .padding = 4});
  if (rng.below(2) == 0) {
    window.kernel = {3, 3};
    window.dilation = {1, 1};
  }
  const Shape shape{from(1, 3), from(1, 9), testing::covered(window, 0) + from(0, 20),
                    testing::covered(window, 1) + from(0, 60)};
  return case_of(fmt::format("random {}", seed), rng, shape, from(1, 3), window, rng.real(0.3, 1));
}

std::vector<ModelCase> depthwise_cases() {
  std::vector<ModelCase> cases;
  for (ModelCase& one : testing::convolution_battery())
    if (one.inputs.front().shape[1] == Extent{convolution_of(one).groups}) cases.push_back(std::move(one));
  for (std::uint32_t seed = 0; seed < testing::sampled(25U, 100U); ++seed) cases.push_back(random_depthwise(seed));
  testing::Rng rng(81);
  for (const Index kernel : {3U, 5U, 7U})
    for (const Index stride : {1U, 2U})
      for (const Extent size : {1, 2, 7, 14, 28, 33, 56}) {  // the images of networks among them
        Window window = testing::same_window(kernel, kernel);
        window.stride = {stride, stride};
        cases.push_back(case_of(fmt::format("{0} x {0} by {1}, stride {2}", size, kernel, stride), rng,
                                {2, 3, size, size}, 1, window));
      }
  Window wide = testing::same_window(3, 3);
  cases.push_back(case_of("several tiles of rows", rng, {1, 2, 30, 700}, 1, wide));
  wide.stride = {2, 2};
  cases.push_back(case_of("several tiles of rows, stride 2", rng, {1, 2, 30, 1400}, 1, wide));
  wide.stride = {3, 3};
  cases.push_back(case_of("several tiles of rows, none in common", rng, {1, 2, 30, 700}, 1, wide));
  for (const Index height : {2U, 3U}) {  // most rows of taps lie in the padding
    Window low = testing::same_window(5, 5);
    cases.push_back(case_of("low", rng, {1, 20, height, 40}, 1, low));
    low.stride = {2, 1};
    cases.push_back(case_of("low, stride 2 downwards", rng, {1, 20, height, 40}, 1, low));
    low.pad_begin = low.pad_end = {9, 9};
    cases.push_back(case_of("low, windows of padding alone", rng, {1, 20, height, 40}, 1, low));
  }
  for (const Index stride : {1U, 2U}) {  // more channels than a register has lanes
    Window window = testing::same_window(3, 3);
    window.stride = {stride, stride};
    cases.push_back(case_of(fmt::format("20 channels, stride {}", stride), rng, {1, 20, 9, 17}, 2, window));
  }
  for (const Window& window : {testing::same_window(3, 3), testing::same_window(5, 3)})
    cases.push_back(
        case_of(fmt::format("a row of images, {} rows of taps", window.kernel[0]), rng, {2, 5, 1, 20}, 2, window));
  cases.push_back(case_of("a sequence", rng, {2, 5, 1, 300}, 2, testing::same_window(1, 9)));
  Window apart{.kernel = {1, 5}, .stride = {1, 2}, .dilation = {1, 3}, .pad_begin = {0, 4}, .pad_end = {0, 7}};
  cases.push_back(case_of("a sequence, taps apart", rng, {2, 5, 1, 300}, 2, apart));
  cases.push_back(case_of("a long sequence", rng, {1, 19, 1, 3000}, 1, testing::same_window(1, 9)));
  for (const Index size : {3U, 5U}) {
    for (const auto& dilation : {std::array<Index, 2>{1, 2}, {2, 1}}) {
      Window dilated = testing::same_window(size, size);
      dilated.dilation = dilation;
      cases.push_back(case_of(fmt::format("{0} x {0}, dilated", size), rng, {1, 5, 12, 20}, 1, dilated));
    }
    Window beyond{.kernel = {size, size}, .pad_end = {0, 2 * size}};
    cases.push_back(case_of(fmt::format("{0} x {0}, padding behind", size), rng, {2, 5, 9, 20}, 1, beyond));
    beyond.kernel[0] = 4;
    cases.push_back(case_of(fmt::format("4 x {0}, padding behind", size), rng, {2, 5, 9, 20}, 1, beyond));
  }
  Window high = testing::same_window(1, 3);
  high.pad_begin[0] = high.pad_end[0] = 1;
  cases.push_back(case_of("a row between rows of padding", rng, {1, 5, 1, 9}, 2, high));
  cases.push_back(case_of("padding alone", rng, {1, 2, 1, 1}, 1, {.stride = {3, 3}, .pad_begin = {4, 4}}));
  return cases;
}

/// That tiling, and in tiles and in place where both are possible, whatever is predicted.
std::vector<depthwise::Tiling> tilings_of(const ModelCase& one, const depthwise::Kernels& kernels, int threads) {
  std::vector<depthwise::Tiling> tilings(2, depthwise_tiling(one, kernels, threads));
  tilings[0].in_place = false;
  tilings[1].in_place = true;
  if (!tilings[1].fits_in_place()) tilings.pop_back();
  return tilings;
}

TEST(Depthwise, StaysWithinTheBoundOnEveryInstructionSetAndWithAnyThreads) {
  for (const ModelCase& one : depthwise_cases()) {
    const Bounded expected = evaluate(one.model, one.inputs).front();
    for (const depthwise::Kernels* const kernels : depthwise::available_kernels())
      for (const int threads : {1, 2, 5})
        EXPECT_LE(
            largest_ratio(expected, by_planes(one, tilings_of(one, *kernels, threads).front(), *kernels, threads)), 1)
            << one.name << " " << kernels->instruction_set << ", " << threads << " threads";
  }
}

/// The order of sums is the same, so results are, to the last bit.
TEST(Depthwise, ComputesTheSameInTilesAndInPlace) {
  for (const ModelCase& one : depthwise_cases())
    for (const depthwise::Kernels* const kernels : depthwise::available_kernels())
      for (const int threads : {1, 5}) {
        const std::vector<depthwise::Tiling> tilings = tilings_of(one, *kernels, threads);
        if (tilings.size() < 2) continue;
        const std::vector<float> first = by_planes(one, tilings[0], *kernels, threads);
        EXPECT_EQ(first, by_planes(one, tilings[1], *kernels, threads))
            << one.name << " " << kernels->instruction_set << ", " << threads << " threads";
      }
}

/// The function that a kernel applies to its sums gives the bits of a separate node.
TEST(Depthwise, EndsItsSumsLikeASeparateNode) {
  for (const ModelCase& one : depthwise_cases())
    for (const depthwise::Kernels* const kernels : depthwise::available_kernels())
      for (const depthwise::Tiling& tiling : tilings_of(one, *kernels, 1)) {
        const std::vector<float> sums = by_planes(one, tiling, *kernels, 1);
        for (const testing::NamedFunction& named : testing::sum_functions()) {
          std::vector<float> expected = sums;
          for (float& x : expected) x = named(x);
          EXPECT_EQ(expected, by_planes(one, tiling, *kernels, 1, {named.function}))
              << one.name << " " << kernels->instruction_set << ", " << named.name;
        }
      }
}

TEST(Depthwise, FinishesEachResultOnce) {
  program::Ending ending;
  ending.finish = [](float* results, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) results[i] = 2 * results[i] + 1;
  };
  const depthwise::Kernels& kernels = *depthwise::available_kernels().front();
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const ModelCase one = random_depthwise(seed);
    for (const depthwise::Tiling& tiling : tilings_of(one, kernels, 1)) {
      std::vector<float> expected = by_planes(one, tiling, kernels, 1);
      ending.finish(expected.data(), expected.size());
      EXPECT_EQ(by_planes(one, tiling, kernels, 2, ending), expected) << one.name;
    }
  }
}

/// The cases that the tests above must cover.
TEST(Depthwise, IsTestedWithAllKindsOfTiles) {
  std::set<std::string> kinds;
  for (const ModelCase& one : depthwise_cases()) {
    const depthwise::Tiling tiling = depthwise_tiling(one, *depthwise::available_kernels().front(), 1);
    const auto note = [&](bool is, const char* kind) {
      if (is) kinds.insert(kind);
    };
    const auto lanes = tiling.lanes;
    const Extent pixels = tiling.rows * tiling.shape.out.width;
    note(tiling.rows < tiling.rows_of_part && tiling.common_rows() > 0, "tiles with common rows");
    note(tiling.rows < tiling.rows_of_part && tiling.common_rows() == 0, "tiles without common rows");
    note(pixels < lanes, "fewer pixels than a register has");
    note(pixels > lanes && pixels % lanes != 0, "registers that overlap");
    note(tiling.shape.in.height * tiling.shape.in.width < lanes, "small images");
    note(tiling.shape.groups % lanes != 0 && tiling.blocks() > 1, "a block of fewer channels");
    note(tiling.shape.filters() > 1, "several filters of a channel");
    note(tiling.shape.out.width == 1 && tiling.shape.out.height > 1, "a sequence");
    note(depthwise_tiling(one, *depthwise::available_kernels().front(), 5).parts > 1, "parts for threads");
    if (!tiling.fits_in_place()) continue;
    const bool strided = tiling.shape.window.stride[1] == 2;
    if (lanes == 16) {
      const depthwise::PlaneForm form(tiling.square, tiling.shape.window.stride[1], tiling.shape.out.width,
                                      tiling.rows_of_part);
      const Extent rows = form.down * form.together;
      note(tiling.square == 5, "windows of 5 x 5 filters");
      note(form.together == 2 && tiling.shape.out.height % 2 == 1, "windows of two rows, an odd number of them");
      note(form.together == 2 && tiling.shape.out.height > rows, "windows of two rows, several blocks");
      note(form.together == 1 && form.down == 7 && tiling.shape.out.height > rows, "windows, 7 registers down");
      note(form.together == 1 && form.down == 4 && tiling.shape.out.height > rows, "windows, 4 registers down");
      note(form.together == 1 && tiling.shape.out.width > 2 * form.columns, "windows without padding");
    }
    note(tiling.in_place, "in place as predicted");
    note(!tiling.in_place, "in tiles as predicted");
    note(strided, "a stride of 2 in place");
    note(tiling.shape.out.width < lanes, "in place, rows of less than a register");
    note(tiling.shape.out.width >= 4 * lanes && !strided, "in place, registers without padding");
    note(tiling.shape.out.height < 4, "in place, few rows");
  }
  const auto lanes = depthwise::available_kernels().front()->lanes;
  EXPECT_EQ(kinds.size(), lanes == 16 ? 21U : lanes == 8 ? 15U : 9U);
}

/// Rows of taps that lie in the padding are left out, and predictions know it.
TEST(Depthwise, PredictsTheRowsOfTapsThatLieInTheImage) {
  Window window = testing::same_window(5, 5);
  const auto shape_of = [&](Extent height) {
    return ConvolutionShape{{1, 16, height, 64}, {1, 16, height, 64}, 16, window};
  };
  EXPECT_DOUBLE_EQ(share_of_rows_inside(shape_of(2)), 0.4);
  EXPECT_DOUBLE_EQ(share_of_rows_inside(shape_of(3)), 0.6);
  EXPECT_DOUBLE_EQ(share_of_rows_inside(shape_of(10)), 44.0 / 50);
  const depthwise::Kernels& kernels = *depthwise::available_kernels().front();
  const double low = depthwise::Tiling(shape_of(2), kernels, 1).cycles(1);
  window.pad_begin[0] = window.pad_end[0] = 0;
  ConvolutionShape inside{{1, 16, 6, 64}, {1, 16, 2, 64}, 16, window};
  EXPECT_LT(low, 0.6 * depthwise::Tiling(inside, kernels, 1).cycles(1));
}

/// No row of taps may lie in the image, and yet sums take time.
TEST(Depthwise, SumsOfPaddingAloneTakeTime) {
  testing::Rng rng(83);
  const Window window{.kernel = {1, 1}, .stride = {3, 1}, .pad_begin = {4, 0}, .pad_end = {4, 0}};
  const auto seconds = [&](const program::Kernel& kernel, const Shape& shape) {
    const ModelCase one = case_of("padding", rng, shape, 1, window);
    const program::Request request{.model = one.model, .step = {0, {}}, .images = 1, .inputs = {{0, shape, {{}}}}};
    return kernel.offers(request).front().seconds;
  };
  for (const char* const family : {"onednn", "depthwise"}) {
    for (const program::Kernel* const kernel : testing::kernels_of(family)) {
      if (kernel->name() != "depthwise" && kernel->name() != "onednn_convolution") continue;
      EXPECT_GT(seconds(*kernel, {1, 256, 1, 4096}), seconds(*kernel, {1, 16, 1, 64})) << kernel->name();
    }
  }
}

/// A batch is the images one by one, to the last bit.
TEST(Depthwise, ImagesDoNotDependOnTheirBatch) {
  testing::Rng rng(82);
  const ModelCase all = case_of("all", rng, {7, 6, 9, 9}, 1, testing::same_window(3, 3));
  const depthwise::Kernels& kernels = *depthwise::available_kernels().front();
  const std::vector<float> together = by_planes(all, depthwise_tiling(all, kernels, 1), kernels, 1);
  for (std::size_t image = 0; image < 7; ++image) {
    const auto values = all.inputs.front().values.span().subspan(image * 486, 486);
    const ModelCase one = testing::convolution_case("one", convolution_of(all), {1, 6, 9, 9},
                                                    testing::make_tensor({1, 6, 9, 9}, {values.begin(), values.end()}));
    const std::vector<float> alone = by_planes(one, depthwise_tiling(one, kernels, 1), kernels, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<long>(image * 486))) << image;
  }
}

/// Permuted channels with permuted filters permute the results, to the last bit.
TEST(Depthwise, ChannelsDoNotDependOnTheirOrder) {
  testing::Rng rng(83);
  const ModelCase given = case_of("given", rng, {1, 5, 10, 12}, 1, testing::same_window(5, 5));
  Convolution reversed = convolution_of(given);
  testing::Rows rows(5);
  std::vector<float> values;
  for (Index i = 0; i < 5; ++i) {
    const CsrMatrix& weights = convolution_of(given).weights;
    for (Offset k = weights.offsets[4 - i]; k < weights.offsets[5 - i]; ++k)
      rows[i].emplace_back(weights.indices[k], weights.entry_value(k));
    if (!reversed.bias.empty()) reversed.bias[i] = convolution_of(given).bias[4 - i];
    const auto plane = given.inputs.front().values.span().subspan((4 - i) * 120, 120);
    values.insert(values.end(), plane.begin(), plane.end());
  }
  reversed.weights = testing::make_matrix(25, rows);
  const Shape shape{1, 5, 10, 12};
  const ModelCase other = testing::convolution_case("reversed", reversed, shape, testing::make_tensor(shape, values));
  for (const depthwise::Kernels* const kernels : depthwise::available_kernels()) {
    const std::vector<float> first = by_planes(given, depthwise_tiling(given, *kernels, 1), *kernels, 1);
    const std::vector<float> second = by_planes(other, depthwise_tiling(other, *kernels, 1), *kernels, 1);
    for (long i = 0; i < 5; ++i)
      EXPECT_TRUE(std::equal(first.begin() + i * 120, first.begin() + (i + 1) * 120, second.begin() + (4 - i) * 120))
          << kernels->instruction_set << " channel " << i;
  }
}

/// In whole models, with the functions that are fused.
TEST(Depthwise, KeepsTheContractOfKernels) {
  const program::Kernel& kernel = *testing::kernels_of("depthwise").front();
  std::vector<ModelCase> cases = depthwise_cases();
  for (const Extent batch : {1, 7}) cases.push_back(testing::small_network(84, 0.7, batch));
  for (std::uint32_t seed = 0; seed < 40; ++seed) cases.push_back(testing::RandomModel(seed).make(5 + seed, 2));
  EXPECT_EQ(testing::contract_fault(kernel, cases), "");
}

}  // namespace
}  // namespace spdnn
