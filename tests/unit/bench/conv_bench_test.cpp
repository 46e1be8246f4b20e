// What `bench conv` prints and writes of a measurement, and which kernels make it fail. tests/cli/bench_conv.bats has
// the rest of it.

#include "bench/conv_bench.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/conv_check.hpp"
#include "bench/conv_models.hpp"
#include "bench/conv_published.hpp"
#include "core/text/json_text.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "support/printed_json.hpp"

namespace spdnn::bench {
namespace {

const ConvRival& rival(std::string_view key) {
  for (const ConvRival& one : conv_rivals(Device::cuda))
    if (one.key == key) return one;
  throw std::invalid_argument(std::string(key));
}

BeyondBounds beyond_bounds(double ours, std::string_view key, double deviation, bool whole = false) {
  ConvTiming timing;
  timing.whole = whole;
  timing.ours.kernel = "conv_generated";
  timing.ours.deviation = ours;
  ConvPeer& peer = timing.with.emplace_back();
  peer.rival = &rival(key);
  peer.timed.kernel = peer.rival->family;
  peer.timed.deviation = deviation;
  ConvCase layer;
  layer.layer = conv_table("skimcaffe").front();
  BeyondBounds beyond;
  add_beyond_bounds(layer, timing, beyond);
  return beyond;
}

TEST(BeyondBounds, OfALibraryIsReportedAlone) {
  const BeyondBounds found = beyond_bounds(0.5, "fp32", 5.7);
  EXPECT_NE(found.text.find("cuDNN's conv_dense in fp32 deviates by 5.7 times its bound\n"), std::string::npos);
  EXPECT_FALSE(found.ours);
}

TEST(BeyondBounds, OfOursFailsInEitherColumn) {
  EXPECT_TRUE(beyond_bounds(1.5, "fp32", 1).ours);
  EXPECT_TRUE(beyond_bounds(NAN, "fp32", 1).ours);
  const BeyondBounds found = beyond_bounds(1, "direct16", 2);
  EXPECT_TRUE(found.ours);
  EXPECT_NE(found.text.find(": conv_direct in fp16 deviates by 2 times its bound\n"), std::string::npos);
  EXPECT_EQ(beyond_bounds(1, "direct", 1).text, "");
  EXPECT_NE(beyond_bounds(2, "fp32", 1, true).text.find(": conv_generated in int8 deviates by 2 "), std::string::npos);
}

/// Ours deviates, and the library, which comes later, does as well.
TEST(BeyondBounds, OfOursIsNotForgottenForALibrarys) {
  const BeyondBounds found = beyond_bounds(1.5, "bf16", 2);
  EXPECT_TRUE(found.ours);
  EXPECT_EQ(found.text,
            "spdnn: 96x27x27 5x5 -> 256 in 2 groups: conv_generated in fp32 deviates by 1.5 times its bound\n"
            "spdnn: 96x27x27 5x5 -> 256 in 2 groups: cuDNN's conv_dense in bf16 deviates by 2 times its bound\n");
}

const ConvRival& on_cpu(std::string_view key) {
  for (const ConvRival& one : conv_rivals(Device::cpu))
    if (one.key == key) return one;
  throw std::invalid_argument(std::string(key));
}

/// A quarter of the weights are not zero; ours takes 2 ms, oneDNN in bf16 4 ms. Neither fp32 nor int8 was timed.
ConvTiming some_timing() {
  ConvTiming timing{.multiply_adds = 8e9, .kept = 0.25, .bytes = 123, .variant = "sparse"};
  timing.ours = {.kernel = "ours", .detail = "in lanes", .predicted = 0.5, .deviation = 0.75};
  timing.ours.times.seconds = {0.001, 0.002, 0.008};
  timing.load = 0.375;
  ConvPeer& peer = timing.with.emplace_back();
  peer.rival = &on_cpu("bf16");
  peer.timed = {.kernel = "theirs", .detail = "brg", .predicted = 0.25, .deviation = INFINITY};
  peer.timed.times.seconds = {0.004, 0.016};
  peer.ratio = {0.25, 0.4, 0.5, 0};
  return timing;
}

ConvCase some_case(std::size_t layer = 0) {
  return {.table = "skimcaffe",
          .layer = conv_table("skimcaffe").at(layer),
          .sparsity = 0.75,
          .input_sparsity = 0.125,
          .batch = 16,
          .threads = 3};
}

TEST(ConvLines, ATableHasOursAndEachOtherUnderItsName) {
  EXPECT_EQ(conv_titles(Device::cpu),
            "layer                               zeros  input  batch threads kernel             p50 ms   GFMA/s     "
            "fp32 ms   times     bf16 ms   times     int8 ms   times   load\n");
  EXPECT_EQ(conv_text(some_case(), some_timing()),
            "96x27x27 5x5 -> 256 in 2 groups     75.0%  12.5%     16       3 ours               2.0000  1000.00       "
            "    -       -      4.0000    2.50           -       -   0.38\n");
}

TEST(ConvLines, HaveAllThatWasMeasured) {
  Json line = conv_json(some_case(), some_timing());
  EXPECT_EQ(line["machine"]["threads"], 3);
  line.erase("machine");
  line.erase("build");
  const Json with = line["with"]["bf16"];
  for (const Device device : {Device::cpu, Device::cuda})
    for (const ConvRival& one : conv_rivals(device))
      EXPECT_EQ(line["with"].at(one.key).is_null(), one.key != "bf16") << one.key;
  line.erase("with");
  EXPECT_EQ(
      line,
      parse_json(
          R"({"schema":"spdnn-conv-bench-1","table":"skimcaffe","layer":"96x27x27 5x5 -> 256 in 2 groups","batch":16,)"
          R"("sparsity":0.75,"kept":0.25,"input_sparsity":0.125,"multiply_adds":8e9,"bytes":123.0,"variant":"sparse",)"
          R"("kernel":"ours","detail":"in lanes","predicted_seconds":0.5,"runs":3,"seconds":{"min":0.001,"p50":0.002,)"
          R"("p90":0.008,"p99":0.008,"max":0.008},"images_per_second":8000.0,"deviation":{"outputs":256,)"
          R"("largest_ratio":0.75},"load":0.375,"published":null})"));
  EXPECT_EQ(
      with,
      parse_json(
          R"({"library":"oneDNN","precision":"bf16","kernel":"theirs","detail":"brg","predicted_seconds":0.25,"runs":2,)"
          R"("seconds":{"min":0.004,"p50":0.004,"p90":0.016,"p99":0.016,"max":0.016},"images_per_second":4000.0,)"
          R"("deviation":{"outputs":256,"largest_ratio":null},"ratio":{"min":0.25,"median":0.4,"max":0.5}})"));
  ConvCase first = some_case();
  first.layer.channels = 3;
  first.layer.groups = 1;
  EXPECT_EQ(conv_json(first, some_timing())["sparsity"], 0) << "first layers are not pruned";
  EXPECT_EQ(on_cpu("int8").number(), "int8");
  EXPECT_EQ(on_cpu("bf16").number(), "bf16");
}

/// Of the paper's shares of zeros and batch, on a GPU.
TEST(ConvLines, HaveTheTimesOfAPaperForItsProblemsAlone) {
  ConvCase one{
      .table = "vgg16", .layer = conv_table("vgg16").at(7), .sparsity = 0.9, .batch = 128, .device = Device::cuda};
  const std::optional<PublishedTimes> found = published_times(one);
  ASSERT_TRUE(found);
  std::string text;
  for (const auto& [kernel, seconds] : found->seconds) text += fmt::format("{} {:g};", kernel, seconds);
  EXPECT_EQ(text, "escoin_fp32 0.0161;escoin_fp16 0.014;cudnn_fp32 0.015;cudnn_fp16 0.0168;");
  for (const auto change :
       {+[](ConvCase& other) { other.device = Device::cpu; }, +[](ConvCase& other) { other.batch = 64; },
        +[](ConvCase& other) { other.input_sparsity = 0.5; }, +[](ConvCase& other) { other.sparsity = 0.8; },
        +[](ConvCase& other) { other.layer.width = 29; }}) {
    ConvCase other = one;
    change(other);
    EXPECT_FALSE(published_times(other));
  }
  one.layer = conv_table("vgg16").front();  // which is not pruned
  one.sparsity = 0.5;
  EXPECT_TRUE(published_times(one));
}

/// A layer of its own on all axes: 2 groups of 3 of 6 channels, 5 x 9 in, 4 filters of 3 x 2, steps of 1 x 2.
ConvCase odd_case(double zeros) {
  ConvCase one{.table = "t", .layer = {6, 5, 9, 4, {}, 2}, .sparsity = zeros, .batch = 3};
  one.layer.window.kernel = {3, 2};
  one.layer.window.stride = {1, 2};
  return one;
}

TEST(ConvTimes, CountTheWorkAndTheLeastTraffic) {
  for (const double zeros : {0.0, 0.9}) {
    const std::vector<ConvTiming> found =
        time_conv(odd_case(zeros), {.kernels = {{"sparse"}}, .with = std::vector<std::string>{}}, {0, 0, 1});
    ASSERT_EQ(found.size(), 1U);
    const ConvTiming& timing = found[0];
    EXPECT_EQ(timing.multiply_adds, 3.0 * 4 * 3 * 4 * (3 * 3 * 2));
    const double entries = std::round(timing.kept * 4 * 18);
    EXPECT_NEAR(entries, 72 * (1 - zeros), 4);
    EXPECT_EQ(timing.bytes, 4 * (3 * 6 * 5 * 9 + 3 * 4 * 3 * 4) + std::min(8 * entries, 4 * 72.0));
    EXPECT_EQ(timing.variant, "sparse");
    EXPECT_LE(timing.ours.deviation, 1);
    EXPECT_EQ(timing.ours.times.seconds.size(), 1U);
    EXPECT_TRUE(timing.with.empty());
  }
}

TEST(ConvTimes, SayOnceWhyRivalsAreMissing) {
  std::vector<std::string> absent = absent_rivals(Device::cuda);
  std::sort(absent.begin(), absent.end());
  EXPECT_EQ(std::adjacent_find(absent.begin(), absent.end()), absent.end());
}

/// A convolution of images, plainly: each output's sum in fp64.
std::vector<float> plain_convolution(const Convolution& of, const Shape& in, const Shape& out,
                                     const std::vector<float>& x) {
  const Window& w = of.window;
  const auto axis = [&](Extent o, std::size_t k, std::size_t tap) {
    return o * w.stride[k] + static_cast<Extent>(tap) * w.dilation[k] - w.pad_begin[k];
  };
  const Extent channels = in[1] / of.groups;
  std::vector<float> results;
  for (Extent n = 0; n < out[0]; ++n)
    for (Extent f = 0; f < out[1]; ++f)
      for (Extent r = 0; r < out[2]; ++r)
        for (Extent c = 0; c < out[3]; ++c) {
          double sum = of.bias[static_cast<std::size_t>(f)];
          const CsrMatrix& weights = of.weights;
          const auto row = static_cast<std::size_t>(f);
          for (Offset i = weights.offsets[row]; i < weights.offsets[row + 1]; ++i) {
            const Index at = weights.indices[i];
            const Extent channel = f / (out[1] / of.groups) * channels + at / (w.kernel[0] * w.kernel[1]);
            const Extent y = axis(r, 0, at / w.kernel[1] % w.kernel[0]);
            const Extent z = axis(c, 1, at % w.kernel[1]);
            if (y >= 0 && y < in[2] && z >= 0 && z < in[3])
              sum +=
                  weights.entry_value(i) * x[static_cast<std::size_t>(((n * in[1] + channel) * in[2] + y) * in[3] + z)];
          }
          results.push_back(static_cast<float>(sum));
        }
  return results;
}

/// The check of a kernel that computes a layer as above, and then changes its results.
template <class Change>
double checked_ratio(const Model& model, double zeros, bool dense, Change change) {
  const auto& convolution = std::get<Convolution>(model.nodes[0].operation);
  program::LayoutsOfValues there;
  program::Request request =
      program::request_for(model, {0, {}}, 3, {.kernels_for = 3}, program::byte_forms_of(model), there);
  const program::Layout rows{program::Order::rows, program::ElementType::fp32};
  const Shape in = request.inputs[0].shape;
  const Shape out = request.output_shape();
  program::Offer offer{.inputs = {rows}, .output = rows, .skips_zeros = !dense};
  offer.bind = [&] {
    return program::bound([&](const program::Operands& operands) {
      const auto* const x = reinterpret_cast<const float*>(operands.inputs[0]);
      std::vector<float> results = plain_convolution(convolution, in, out, {x, x + *elements(in)});
      change(results);
      std::memcpy(operands.output, results.data(), results.size() * sizeof(float));
    });
  };
  const auto fill = [&](std::byte* to, const program::Layout& layout, const Shape& shape) {
    fill_images(to, layout, shape, zeros);
  };
  program::Trial trial(request, offer, fill);
  trial.seconds(1);
  return sampled_ratio({convolution, in, zeros, false}, offer, out, Precision::fp32, trial);
}

TEST(ConvCheck, FindsAResultThatIsWrongOrIsNoNumber) {
  ConvCase one = odd_case(0.5);
  one.layer.window.dilation = {1, 3};
  one.layer.window.pad_begin = {1, 2};
  one.layer.window.pad_end = {2, 0};
  const Model model = model_of(one);
  for (const double zeros : {0.0, 0.75})
    for (const bool dense : {false, true}) {
      EXPECT_LE(checked_ratio(model, zeros, dense, [](auto&) {}), 0.25);
      EXPECT_GT(checked_ratio(model, zeros, dense, [](auto& results) { results.front() += 0.01F; }), 1);
      EXPECT_GT(checked_ratio(model, zeros, dense, [](auto& results) { results.back() -= 0.01F; }), 1);
      EXPECT_EQ(checked_ratio(model, zeros, dense, [](auto& results) { results.front() = NAN; }), INFINITY);
      EXPECT_EQ(checked_ratio(model, zeros, dense, [](auto& results) { results.back() = NAN; }), INFINITY);
    }
}

}  // namespace
}  // namespace spdnn::bench
