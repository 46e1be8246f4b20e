// The kernels that `bench conv` compares ours with, conv_uniform with all its numbers of images of a lane, and
// conv_pixels, on the battery of convolutions, in all their precisions.

#include <gtest/gtest.h>

#include "bench/conv_bench.hpp"
#include "bench/conv_check.hpp"
#include "engines/devices.hpp"
#include "engines/kernel_families.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "program/trial.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

const program::Family& family_named(std::string_view name) {
  for (const program::Family& family : kernel_families())
    if (family.name == name) return family;
  throw std::logic_error("no such family");
}

/// The largest ratio to the bound over the offers of a rival's kernels, in all layouts; and how many there are.
struct RivalFound {
  double ratio = 0;
  int offers = 0;
};
RivalFound found_by(const bench::ConvRival& rival, const Model& model, Extent images, program::Target& target) {
  program::LayoutsOfValues there;
  const program::Request request = program::request_for(model, {0, {}}, images, {}, there);
  const auto& convolution = std::get<Convolution>(model.nodes[0].operation);
  RivalFound found;
  for (const program::Kernel* const kernel : family_named(rival.family).kernels(rival.precision).kernels)
    for (const program::Offer& offer : kernel->offers(request)) {
      if (!offer.takes()) continue;
      program::Trial trial(request, offer, bench::fill_images, &target);
      trial.seconds(1);
      const HostMemory<std::byte> output = trial.output();
      found.ratio = std::max(found.ratio, bench::sampled_ratio(convolution, offer, request.inputs[0].shape,
                                                               request.output_shape(), rival.precision, output.data()));
      ++found.offers;
    }
  return found;
}

class ConvRivals : public ::testing::TestWithParam<std::string> {};

TEST_P(ConvRivals, StayWithinTheBound) {
  const bench::ConvRival uniform{"uniform", "conv_uniform", "conv_uniform", Precision::fp32};
  const bench::ConvRival pixels{"pixels", "conv_pixels", "conv_pixels", Precision::fp32};
  const bench::ConvRival* rival = GetParam() == uniform.key ? &uniform : GetParam() == pixels.key ? &pixels : nullptr;
  for (const bench::ConvRival& one : bench::conv_rivals(Device::cuda))
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
    const RivalFound found = found_by(*rival, one.model, one.inputs[0].shape.front(), *target);
    EXPECT_LE(found.ratio, 1) << one.name;
    offers += found.offers;
    largest = std::max(largest, found.ratio);
  }
  RecordProperty("largest_ratio_to_bound", std::to_string(largest));
  EXPECT_GT(offers, 20);
}

INSTANTIATE_TEST_SUITE_P(All, ConvRivals,
                         ::testing::Values("uniform", "pixels", "direct", "direct16", "lowered", "fp32", "tf32", "fp16",
                                           "bf16"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace spdnn
