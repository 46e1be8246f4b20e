// The kernels that `bench conv` compares ours with, conv_uniform with all its numbers of images of a lane, conv_ecr,
// conv_pecr and conv_pixels, on the battery of convolutions, in all their precisions.

#include <cusparse.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/conv_bench.hpp"
#include "bench/conv_check.hpp"
#include "engines/devices.hpp"
#include "engines/kernel_families.hpp"
#include "model/operations/geometry.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "program/trial.hpp"
#include "prune/select.hpp"
#include "prune/two_of_four.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

const program::Family& family_named(std::string_view name) {
  for (const program::Family& family : kernel_families())
    if (family.name == name) return family;
  throw std::logic_error("no such family");
}

/// The model's convolution, then a ReLU and the maxima of 2 x 2 results as one step; an empty step if it has fewer.
Step add_maxima(Model& model) {
  const Shape results = model.values[model.nodes[0].output].shape;
  if (results.size() != 4 || results[2] < 2 || results[3] < 2) return {};
  Pool pool;
  pool.window.kernel = pool.window.stride = {2, 2};
  const auto first = static_cast<ValueId>(model.values.size());
  model.values.push_back({"relu", results, std::nullopt});
  model.values.push_back({"maxima", output_shape(pool, {results}), std::nullopt});
  model.nodes.push_back({"relu", Activation{}, {model.nodes[0].output}, first});
  model.nodes.push_back({"maxima", pool, {first}, first + 1});
  return {0, {1, 2}};
}

/// The largest ratio to the limit over the offers of a rival's kernels for a step, in all layouts, and how many there
/// are. The limit is the bound of a sum, and a hundred times that for Winograd's transforms, which cuDNN may find
/// fastest: on an H100 they exceeded it 46 times for 5 x 5. No wrong layout or stride stays within a hundred times.
struct RivalFound {
  double ratio = 0;
  int offers = 0;
};

std::vector<float> in_rows(const HostMemory<std::byte>& output, const program::Layout& layout, const Shape& shape) {
  const ImageExtents of = image_extents(shape);
  std::vector<float> rows;
  for (Extent image = 0; image < of.images; ++image)
    for (Extent channel = 0; channel < of.channels; ++channel)
      for (Extent pixel = 0; pixel < of.pixels(); ++pixel)
        rows.push_back(reinterpret_cast<const float*>(
            output.data())[program::place_of(layout.order, shape, image, channel, pixel / of.width, pixel % of.width)]);
  return rows;
}

/// `results`: null, or where to write those of the last offer, in rows.
RivalFound found_by(const bench::ConvRival& rival, const Model& model, const Step& step, Extent images, double zeros,
                    program::Target& target, std::vector<float>* results = nullptr) {
  program::LayoutsOfValues there;
  const program::CompileOptions options{.kernels_for = images, .compile_seconds = 600};
  const program::Request request =
      program::request_for(model, step, images, options, program::byte_forms_of(model), there);
  const bench::ConvProblem problem{std::get<Convolution>(model.nodes[0].operation), request.inputs[0].shape, zeros,
                                   !step.fused.empty()};
  const auto fill = [=](std::byte* to, const program::Layout& layout, const Shape& shape) {
    bench::fill_images(to, layout, shape, zeros);
  };
  RivalFound found;
  for (const program::Kernel* const kernel : family_named(rival.family).kernels(rival.precision).kernels)
    for (const program::Offer& offer : kernel->offers(request)) {
      if (!offer.takes() || (!offer.fused && !step.fused.empty())) continue;
      program::Trial trial(request, offer, fill, &target);
      trial.seconds(1);
      const Shape shape = request.output_shape();
      const double wider = offer.detail.find("Winograd") == std::string::npos ? 1 : 100;
      found.ratio = std::max(found.ratio, bench::sampled_ratio(problem, offer, shape, rival.precision, trial) / wider);
      ++found.offers;
      if (results != nullptr) *results = in_rows(trial.output(), offer.output, shape);
    }
  return found;
}

const bench::ConvRival uniform{"uniform", "conv_uniform", "conv_uniform", Precision::fp32};
const bench::ConvRival ecr{"ecr", "conv_ecr", "conv_ecr", Precision::fp32};
const bench::ConvRival pecr{"pecr", "conv_pecr", "conv_pecr", Precision::fp32};
const bench::ConvRival pixels{"pixels", "conv_pixels", "conv_pixels", Precision::fp32};

class ConvRivals : public ::testing::TestWithParam<std::string> {};

TEST_P(ConvRivals, StayWithinTheBound) {
  std::vector<bench::ConvRival> rivals = bench::conv_rivals(Device::cuda);
  rivals.insert(rivals.end(), {uniform, ecr, pecr, pixels});
  const bench::ConvRival* rival = nullptr;
  for (const bench::ConvRival& one : rivals)
    if (one.key == GetParam()) rival = &one;
  ASSERT_NE(rival, nullptr);
  const std::string absent = family_named(rival->family).kernels(rival->precision).why_not;
  if (!absent.empty()) {
    RecordProperty("absent", absent);
    return;  // a library that this machine lacks
  }
  const auto target = family_named("conv_direct").kernels(Precision::fp32).target(0);
  target->use();
  int offers = 0;
  double largest = 0;
  for (testing::ModelCase one : testing::convolution_battery()) {
    auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr) continue;
    if (rival->key == "lowered") convolution->bias.clear();
    const Step step = rival->key == "pecr" ? add_maxima(one.model) : Step{};
    const RivalFound found = found_by(*rival, one.model, step, one.inputs[0].shape.front(), 0, *target);
    EXPECT_LE(found.ratio, 1) << one.name;
    offers += found.offers;
    largest = std::max(largest, found.ratio);
  }
  RecordProperty("largest_ratio_to_bound", std::to_string(largest));
  EXPECT_GT(offers, 20);
}

INSTANTIATE_TEST_SUITE_P(All, ConvRivals,
                         ::testing::Values("uniform", "ecr", "pecr", "pixels", "direct", "direct16", "uniform16",
                                           "generated16", "lowered", "fp32", "tf32", "fp16", "bf16"),
                         [](const auto& one) { return one.param; });

/// Layers of which a multiprocessor computes many tiles: the copies of the next ones overtake its sums.
TEST(ConvDirect, StaysWithinTheBoundInManyRounds) {
  const auto target = family_named("conv_direct").kernels(Precision::fp32).target(0);
  target->use();
  testing::Rng rng(5);
  struct Layer {
    Index channels, extent, filters, kernel, stride;
  };
  for (const auto& [channels, extent, filters, kernel, stride] :
       {Layer{64, 40, 256, 1, 1}, {256, 28, 64, 1, 1}, {40, 30, 100, 3, 1}, {33, 41, 70, 3, 2}, {500, 4, 700, 1, 1}}) {
    Window window = testing::same_window(kernel, kernel);
    window.stride = {stride, stride};
    const testing::ModelCase one = testing::convolution_case(
        "", testing::random_convolution(rng, channels, filters, window, 0.1), {70, channels, extent, extent}, {});
    for (const bench::ConvRival& rival : bench::conv_rivals(Device::cuda)) {
      if (!rival.ours) continue;
      EXPECT_LE(found_by(rival, one.model, {}, 70, 0, *target).ratio, 1) << rival.key << ", " << channels;
    }
    EXPECT_LE(found_by(uniform, one.model, {}, 70, 0, *target).ratio, 1) << channels;
  }
}

/// 4.4e9 results: their places do not fit into 32 bits.
TEST(ConvLargeOutput, StaysWithinTheBound) {
  constexpr Extent kImages = 2080;
  const auto target = family_named("conv_direct").kernels(Precision::fp32).target(0);
  target->use();
  testing::Rng rng(11);
  const testing::ModelCase one = testing::convolution_case(
      "", testing::random_convolution(rng, 4, 512, testing::same_window(1, 1), 1), {kImages, 4, 64, 64}, {});
  int offers = 0;
  std::vector<bench::ConvRival> rivals = bench::conv_rivals(Device::cuda);
  rivals.push_back(uniform);
  for (const bench::ConvRival& rival : rivals) {
    if (std::string_view(rival.family) != "conv_direct" && std::string_view(rival.family) != "conv_uniform") continue;
    const RivalFound found = found_by(rival, one.model, {}, kImages, 0, *target);
    EXPECT_LE(found.ratio, 1) << rival.key;
    offers += found.offers;
  }
  EXPECT_EQ(offers, 8);  // conv_uniform has three in each precision
}

/// What this process says of libraries that are missing, then ends.
void report_absent_rivals() {
  for (const std::string& why_not : bench::absent_rivals(Device::cuda)) std::fprintf(stderr, "%s\n", why_not.c_str());
  std::_Exit(1);
}

TEST(AbsentRivalsDeathTest, AreNamedWithWhatTheyNeed) {
  const TemporaryDirectory directory;  // of files that are no libraries, which are found before those of the machine
  const std::string cusparse = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
  for (const std::string& name :
       {cusparse, std::string("libcudnn.so.9"), std::string("libcudnn.so.8"), std::string("libcusparseLt.so.0")})
    std::ofstream(directory / name) << "no library";
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string earlier = before == nullptr ? "" : before;
  ::setenv("LD_LIBRARY_PATH", (directory.path().string() + ":" + earlier).c_str(), 1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, which looks for libraries anew
  EXPECT_EXIT(report_absent_rivals(), ::testing::ExitedWithCode(1),
              cusparse +
                  ": cannot be used: .*; it comes with the CUDA toolkit; conv_lowered and the variants named "
                  "cusparse_\\* and cublas_\\* need theirs\n"
                  "libcusparseLt.so.0: cannot be used: .*\n"
                  "libcudnn.so.8: cannot be used: .*; dense convolutions on a GPU need NVIDIA's cuDNN 8 or 9; "
                  "LD_LIBRARY_PATH may name its folder\n$");
  ::setenv("LD_LIBRARY_PATH", earlier.c_str(), 1);
}

/// A layer of which each filter keeps the share of its weights, or with `fits` two of four neighbours, stored as 2:4.
struct GroupedLayer {
  Index channels;
  Index filters;
  Window window;
  Shape images;
  double share;
  bool fits = false;

  Model model() const {
    testing::Rng rng(7);
    Convolution convolution = testing::random_convolution(rng, channels, filters, window, fits ? 1 : share);
    convolution.bias.clear();
    if (fits) {
      const CsrMatrix all = convolution.weights;
      convolution.weights =
          kept(all, scores_of(all, {}, 1), {Structure::Kind::n_of_m, 2, 4}, 0, window.kernel[0] * window.kernel[1]);
    }
    testing::ModelBuilder builder;
    const ValueId input = builder.input(with_batch(images, kBatchExtent));
    Model model = builder.finish({builder.add(std::move(convolution), {input})});
    store_two_of_four(model);
    return model;
  }
};

TEST(ConvTwoOfFour, StaysWithinTheBound) {
  Window strided{.kernel = {5, 3}, .stride = {2, 1}, .dilation = {1, 2}, .pad_begin = {2, 0}, .pad_end = {1, 1}};
  const std::vector<GroupedLayer> layers{{36, 48, strided, {16, 36, 11, 9}, 0.2},
                                         {128, 64, testing::same_window(1, 1), {8, 128, 8, 8}, 0.5, true},
                                         {256, 128, testing::same_window(1, 1), {128, 256, 1, 1}, 0.1},
                                         {64, 32, testing::same_window(3, 3), {8, 64, 64, 64}, 0.3}};  // 38 MB unfolded
  const auto target = family_named("conv_direct").kernels(Precision::fp32).target(0);
  target->use();
  std::size_t compared = 0;
  for (const bench::ConvRival& rival : bench::conv_rivals(Device::cuda)) {
    if (!rival.grouped) continue;
    const std::string absent = family_named(rival.family).kernels(rival.precision).why_not;
    if (!absent.empty()) GTEST_SKIP() << absent;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const RivalFound found = found_by(rival, layers[i].model(), {}, layers[i].images[0], 0, *target);
      EXPECT_EQ(found.offers, 1) << i << ' ' << rival.key;
      EXPECT_LE(found.ratio, 1) << i << ' ' << rival.key;
      RecordProperty(rival.key + "_" + std::to_string(i), std::to_string(found.ratio));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 2 * layers.size());  // in fp16 and bf16
}

TEST(ConvEcr, HasTheBitsOfConvDirectWhateverTheZerosOfTheInput) {
  const bench::ConvRival& direct = bench::conv_rivals(Device::cuda).front();
  ASSERT_EQ(direct.key, "direct");
  const auto target = family_named("conv_direct").kernels(Precision::fp32).target(0);
  target->use();
  int compared = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    if (std::get_if<Convolution>(&one.model.nodes[0].operation) == nullptr) continue;
    for (const double zeros : {0.5, 0.95}) {
      const auto by = [&](const bench::ConvRival& rival) {
        std::vector<float> results;
        found_by(rival, one.model, {}, one.inputs[0].shape.front(), zeros, *target, &results);
        return results;
      };
      const std::vector<float> results = by(ecr);
      if (results.empty()) continue;
      EXPECT_EQ(results, by(direct)) << one.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace spdnn
