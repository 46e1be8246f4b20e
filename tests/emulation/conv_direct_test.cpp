// The kernels of conv_direct on the CPU, within the oracle's bound.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

#include "blocks_of_images.hpp"
#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_direct/direct.cuh"
#include "engines/cuda/conv_direct/groups.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda {
namespace {

struct Launch {
  DirectArgs args;
  unsigned blocks;
  std::size_t bytes;

  template <class Config>
  void run() const {
    emulation::launch(blocks, kDirectThreads, bytes,
                      [&] { direct_kernel<Config, ThreadsReader<Config::kForm.pixel_bytes()>>(args, {}); });
  }
  template <Index kColumns>
  void run_default() const {
    args.shape.stride[1] == 1 ? run<DirectConfig<kColumns, 1>>() : run<DirectConfig<kColumns, 0>>();
  }
  template <Index kImages, bool kHalf>
  void run_equal() const {
    args.shape.stride[1] == 1 ? run<DirectConfig<7, 1, kImages, true, kHalf>>()
                              : run<DirectConfig<7, 0, kImages, true, kHalf>>();
  }
  template <bool kHalf>
  void run_equal_as_tiled() const {
    const Index images = args.tiling.form.images;
    images == 2 ? run_equal<2, kHalf>() : images == 4 ? run_equal<4, kHalf>() : run_equal<8, kHalf>();
  }
  void run_as_tiled() const {
    const DirectForm& form = args.tiling.form;
    if (form.equal) return form.half ? run_equal_as_tiled<true>() : run_equal_as_tiled<false>();
    if (form.half)
      return args.shape.stride[1] == 1 ? run<DirectConfig<7, 1, 4, false, true>>()
                                       : run<DirectConfig<7, 0, 4, false, true>>();
    switch (args.tiling.columns) {
      case 7:
        return run_default<7>();
      case 4:
        return run_default<4>();
      case 2:
        return run_default<2>();
      default:
        return run_default<1>();
    }
  }
};

/// The bytes of numbers as the kernel reads them, and the numbers of its results.
std::vector<std::byte> stored(const std::vector<float>& numbers, const DirectForm& form) {
  std::vector<std::byte> bytes(numbers.size() * form.pixel_bytes() / 32);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (form.half)
      reinterpret_cast<std::uint16_t*>(bytes.data())[i] = nearest_f16(numbers[i]);
    else
      reinterpret_cast<float*>(bytes.data())[i] = numbers[i];
  return bytes;
}
std::vector<float> read(const std::vector<std::byte>& bytes, const DirectForm& form) {
  std::vector<float> numbers(bytes.size() * 32 / form.pixel_bytes());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = form.half ? float_of_f16(reinterpret_cast<const std::uint16_t*>(bytes.data())[i])
                           : reinterpret_cast<const float*>(bytes.data())[i];
  return numbers;
}

/// The same case with a function applied to all numbers.
template <class Function>
testing::ModelCase with_numbers(testing::ModelCase one, Function function) {
  auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const auto apply_to = [&](auto& numbers) {
    std::vector<float> changed(numbers.begin(), numbers.end());
    std::transform(changed.begin(), changed.end(), changed.begin(), function);
    return changed;
  };
  CsrMatrix weights = convolution.weights;
  std::vector<float> values;
  for (Offset i = 0; i < weights.entries(); ++i) values.push_back(function(weights.entry_value(i)));
  convolution.weights = make_csr(weights.rows, weights.cols, {weights.offsets.begin(), weights.offsets.end()},
                                 {weights.indices.begin(), weights.indices.end()}, values);
  convolution.bias = apply_to(convolution.bias);
  one.inputs[0].values = apply_to(one.inputs[0].values);
  return one;
}

/// Of a form for halves, whose numbers are rounded first: kTermsInHalves products are added with fp16's roundoff, and
/// the result is rounded to fp16. Otherwise the oracle's.
Bounded expected_of(testing::ModelCase& one, const DirectForm& form) {
  if (!form.half) return evaluate(one.model, one.inputs)[0];
  constexpr double kUnit = 0x1p-11;
  constexpr double kSmallest = 0x1p-24;
  one = with_numbers(one, [](float number) { return float_of_f16(nearest_f16(number)); });
  const testing::ModelCase absolute = with_numbers(one, [](float number) { return std::abs(number); });
  const Bounded magnitudes = evaluate(absolute.model, absolute.inputs)[0];
  Bounded expected = evaluate(one.model, one.inputs)[0];
  const double terms = kTermsInHalves * kUnit;
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    expected.bounds[i] += (terms / (1 - terms) + 2 * kUnit) * magnitudes.values[i] + 200 * kSmallest;
  return expected;
}

constexpr Index kMultiprocessors = 3;

/// Computes a group's results. `bias`: null, or of the first filter.
void compute(const DirectGroup& group, const float* bias, const DirectTiling& tiling, const std::byte* x, std::byte* y,
             const Functions& functions = {}) {
  const auto& [shape, weights, first_filter, x_at, y_at] = group;
  const std::size_t bytes = tiling.form.pixel_bytes();
  const std::size_t entries = DirectWeights::entries(shape, tiling, weights);
  EXPECT_GE(entries, weights.entries());
  std::vector<std::byte> packed(DirectWeights::bytes(shape, tiling, entries));
  DirectWeights::pack(shape, tiling, weights, bias, packed.data());
  const std::size_t part = DirectWeights::largest_part(shape, tiling, weights);
  const Launch launch{
      .args = direct_args(shape, tiling, packed.data(), part, x + x_at * bytes, functions, y + y_at * bytes),
      .blocks = static_cast<unsigned>(std::min<std::size_t>(kMultiprocessors, direct_items(shape, tiling))),
      .bytes = direct_shared_bytes(tiling, part)};
  launch.run_as_tiled();
}

/// Chooses a group's tiling; empty: none.
using Choice = std::function<std::optional<DirectTiling>(const DirectGroup& group)>;

Choice fastest(std::size_t block_bytes, const DirectForm& form = {}) {
  return [=](const DirectGroup& group) {
    return direct_tiling(group.shape, group.weights.entries(), {kMultiprocessors, block_bytes}, form);
  };
}

/// The largest ratio to the bound; infinite if no tile fits into a block's shared memory.
double ratio(testing::ModelCase one, const DirectForm& form, const Choice& tiling_of) {
  const Bounded expected = expected_of(one, form);
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const ImageExtents out = image_extents(expected.shape);
  const std::vector<std::byte> x = stored(blocked(one.inputs[0], in.images, in.channels * in.pixels()), form);
  const ConvolutionShape shape{in, out, convolution.groups, convolution.window};
  std::vector<std::byte> y(direct_shape(shape).blocks * direct_shape(shape).out_block * form.pixel_bytes());
  for (const DirectGroup& group : direct_groups(shape, convolution.weights)) {
    const float* const bias = convolution.bias.empty() ? nullptr : convolution.bias.data() + group.first_filter;
    const std::optional<DirectTiling> tiling = tiling_of(group);
    if (!tiling) return INFINITY;
    compute(group, bias, *tiling, x.data(), y.data());
  }
  return largest_ratio(expected, in_rows(read(y, form), out.images, out.channels * out.pixels()));
}

constexpr std::size_t kMuchMemory = std::size_t{200} << 10U;

/// With room for all channels, and for few of them at a time. A sample has every third convolution, of each form
/// others.
void expect_within_the_bound(const DirectForm& form, std::size_t little_memory) {
  int several_chunks = 0;
  std::size_t number = form.images + (form.half ? 1U : 0U);
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || number++ % testing::sampled(3U, 1U) != 0) continue;
    EXPECT_LE(ratio(one, form, fastest(kMuchMemory, form)), 1) << one.name;
    const double with_little_memory = ratio(one, form, fastest(little_memory, form));
    if (with_little_memory == INFINITY) continue;
    EXPECT_LE(with_little_memory, 1) << one.name;
    ++several_chunks;
  }
  EXPECT_GT(several_chunks, testing::sampled(3, 10));
}

TEST(EmulatedConvDirect, StaysWithinTheBound) { expect_within_the_bound({}, std::size_t{60} << 10U); }

TEST(EmulatedConvDirect, StaysWithinTheBoundOfHalves) {
  expect_within_the_bound({.half = true}, std::size_t{30} << 10U);
}

/// 1x1, so that planes may be one row, with more filters than a block has, and two blocks of images.
TEST(EmulatedConvDirect, StaysWithinTheBoundInEachTiling) {
  testing::Rng rng(11);
  int spread = 0;
  for (const auto [extent, kernel, stride] : {std::array{4U, 1U, 1U}, {5U, 1U, 1U}, {7U, 1U, 2U}, {6U, 3U, 1U}}) {
    Window window = testing::same_window(kernel, kernel);
    window.stride = {stride, stride};
    const Shape shape{33, 6, extent, extent};
    const testing::ModelCase one = testing::convolution_case("", testing::random_convolution(rng, 6, 150, window, 0.4),
                                                             shape, testing::random_tensor(rng, shape, 0.8));
    std::size_t count = 1;
    for (std::size_t number = 0; number < count; ++number)
      EXPECT_LE(ratio(one, {},
                      [&](const DirectGroup& group) {
                        const std::vector<DirectTiling> all =
                            direct_tilings(group.shape, group.weights.entries(), {kMultiprocessors, kMuchMemory});
                        count = all.size();
                        spread += all[number].filter_blocks * kDirectWarps * all[number].filters > 150 + 64 ? 1 : 0;
                        return all[number];
                      }),
                1)
          << extent << ", " << kernel << ", tiling " << number;
  }
  EXPECT_GT(spread, 0);
}

/// Blocks of 32 images whose items do not fit into 31 bits have no tiling: their taps are read from device memory.
TEST(DirectTilings, AreNoneForMoreItemsThanCanBeCounted) {
  const auto tilings_of = [](Extent blocks) {
    const ImageExtents images{32 * blocks, 1, 1, 1};
    return direct_tilings(direct_shape({images, images, 1, {.kernel = {1, 1}}}), 1, {132, 232448});
  };
  EXPECT_FALSE(tilings_of(0x7fffffff).empty());
  EXPECT_TRUE(tilings_of(0x80000000).empty());
}

TEST(EmulatedConvDirect, AppliesFunctionsOneAfterAnother) {
  using Kind = Function::Kind;
  struct Applied {
    Function function;
    float (*expected)(float x, float other);
  };
  const Applied all[] = {
      {{Kind::line, 0.5F, 2}, [](float x, float) { return 0.5F * x + 2; }},
      {{Kind::addition}, [](float x, float other) { return x + other; }},
      {{Kind::clip, -1, 1.5F}, [](float x, float) { return std::clamp(x, -1.F, 1.5F); }},
      {{Kind::leaky, 0.25F}, [](float x, float) { return x < 0 ? 0.25F * x : x; }},
      {{Kind::sigmoid}, [](float x, float) { return 1 / (1 + std::exp(-x)); }},
      {{Kind::hard_swish}, [](float x, float) { return x * std::clamp(x / 6 + 0.5F, 0.F, 1.F); }},
      {{Kind::hard_sigmoid, 0.3F, 0.4F}, [](float x, float) { return std::clamp(0.3F * x + 0.4F, 0.F, 1.F); }},
      {{Kind::tanh}, [](float x, float) { return std::tanh(x); }}};
  testing::Rng rng(9);
  const Convolution convolution = testing::random_convolution(rng, 3, 50, testing::same_window(3, 3), 0.5);
  const DirectGroup whole =
      std::move(direct_groups({{33, 3, 5, 9}, {33, 50, 5, 9}, 1, convolution.window}, convolution.weights)[0]);
  std::size_t number = 0;
  for (const DirectTiling& tiling :
       direct_tilings(whole.shape, whole.weights.entries(), {kMultiprocessors, kMuchMemory})) {
    if (number++ % testing::sampled(4U, 1U) != 0) continue;
    const std::vector<float> x = testing::random_values(rng, whole.shape.blocks * whole.shape.in_block * 32, -1, 1);
    std::vector<float> expected(whole.shape.blocks * whole.shape.out_block * 32);
    const std::vector<float> other = testing::random_values(rng, expected.size(), -1, 1);
    const auto run = [&](const Functions& functions, std::vector<float>& y) {
      compute(whole, convolution.bias.data(), tiling, reinterpret_cast<const std::byte*>(x.data()),
              reinterpret_cast<std::byte*>(y.data()), functions);
    };
    run({}, expected);
    std::vector<float> found(expected.size());
    Functions functions;
    for (const Applied& one : all) {
      functions.all[functions.count] = one.function;
      if (one.function.kind == Kind::addition) functions.all[functions.count].other = other.data();
      ++functions.count;
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = one.expected(expected[i], other[i]);
      run(functions, found);
      ASSERT_EQ(found, expected) << tiling.columns << " columns, function " << static_cast<int>(one.function.kind);
      if (functions.count < kMostFunctions) continue;
      functions.count = 0;
      run({}, expected);
    }
  }
}

class EmulatedConvUniform : public ::testing::TestWithParam<Index> {};

TEST_P(EmulatedConvUniform, StaysWithinTheBound) {
  expect_within_the_bound({.images = GetParam(), .equal = true}, std::size_t{60} << 10U);
}

TEST_P(EmulatedConvUniform, StaysWithinTheBoundOfHalves) {
  expect_within_the_bound({.images = GetParam(), .equal = true, .half = true}, std::size_t{30} << 10U);
}

INSTANTIATE_TEST_SUITE_P(SubBatches, EmulatedConvUniform, ::testing::Values(2, 4, 8));

}  // namespace
}  // namespace spdnn::cuda
