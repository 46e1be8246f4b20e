// The plain kernels in small models, and what they refuse.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "support/kernel_contract.hpp"

namespace spdnn {
namespace {

using program::ElementType;
using program::Order;
using testing::kN;
using testing::ModelBuilder;
using testing::ModelCase;

const program::Kernel& plain_kernel(std::string_view name) {
  const program::Kernels kernels = testing::kernels_of("plain");
  return **std::find_if(kernels.begin(), kernels.end(), [&](const auto* kernel) { return kernel->name() == name; });
}

/// x, after a convolution so that it has a layout of kernels, combined with a constant of that shape or, if it is
/// empty, with one number for each image and channel.
ModelCase combined_case(const Shape& shape, const Shape& factors, Elementwise::Kind kind, bool first) {
  testing::Rng rng(5);
  ModelBuilder builder;
  const auto channels = static_cast<Index>(shape[1]);
  const ValueId x = builder.add(testing::random_convolution(rng, channels, channels, {}, 0.7), {builder.input(shape)});
  const ValueId other =
      factors.empty()
          ? builder.add(testing::make_activation(Activation::Kind::sigmoid), {builder.add(GlobalPool{}, {x})})
          : builder.constant(testing::make_tensor(factors, testing::random_values(rng, *elements(factors), 1, 2)));
  const ValueId y = builder.add(Elementwise{kind}, first ? std::vector{other, x} : std::vector{x, other});
  return {shape_text(shape) + " and " + shape_text(factors),
          builder.finish({y, x}),
          {testing::random_tensor(rng, with_batch(shape, 3))}};
}

/// As many rows as channels, so that lengths do not distinguish them.
TEST(PlainKernels, FactorsAreThoseOfTheirAxisAndImage) {
  std::vector<ModelCase> cases;
  for (const auto kind : {Elementwise::Kind::multiply, Elementwise::Kind::subtract, Elementwise::Kind::divide})
    for (const bool first : {false, true}) {
      for (const Shape& factors :
           {Shape{1, 5, 1, 1}, {5, 1, 1}, {1, 5, 1}, {5, 1}, {5}, {1, 5, 5, 1}, {1, 5, 1, 5}, {1}, {}})
        cases.push_back(combined_case({kN, 5, 5, 5}, factors, kind, first));
      for (const Shape& factors : {Shape{1, 5, 1}, {5, 1}, {1, 5}, {5}, {1, 1, 5}, {}})
        cases.push_back(combined_case({kN, 5, 5}, factors, kind, first));
      cases.push_back(combined_case({kN, 20, 1, 1}, {1, 20, 1, 1}, kind, first));
    }
  for (const char* const name : {"plain_channel_factors", "plain_elementwise"})
    EXPECT_EQ(testing::contract_fault(plain_kernel(name), cases), "") << name;
  for (const char* const family : {"onednn", "sparse_conv"})
    for (const program::Kernel* const kernel : testing::kernels_of(family))
      EXPECT_EQ(testing::contract_fault(*kernel, cases), "") << kernel->name();
}

/// A sequence has four axes where channels are innermost.
TEST(PlainKernels, SequencesAreComputedWhateverTheLayout) {
  testing::Rng rng(7);
  std::vector<Operation> operations{Concat{1},
                                    Concat{2},
                                    Pool{.window = {.kernel = {1, 3}, .stride = {1, 2}, .pad_begin = {0, 1}}},
                                    GlobalPool{},
                                    testing::random_norm(rng, 6),
                                    Softmax{1},
                                    Softmax{2},
                                    Transpose{{0, 2, 1}},
                                    Pad{{0, 1, 2}, {0, 0, 1}, 3},
                                    Resize{.size = {1, 14}, .scale = {1, 2}},
                                    Reduce{Reduce::Kind::sum, {2}}};
  Activation slopes = testing::make_activation(Activation::Kind::prelu);
  slopes.alphas = testing::random_values(rng, 6, -1, 1);
  operations.emplace_back(slopes);
  std::vector<ModelCase> cases;
  for (const Operation& operation : operations) {
    ModelBuilder builder;
    const ValueId x =
        builder.add(testing::random_convolution(rng, 4, 6, {.kernel = {1, 3}}, 0.7), {builder.input({kN, 4, 9})});
    const bool joins = std::holds_alternative<Concat>(operation);
    const ValueId y = builder.add(operation, joins ? std::vector{x, builder.add(Activation{}, {x})} : std::vector{x});
    cases.push_back(
        {std::string(operation_name(operation)), builder.finish({y, x}), {testing::random_tensor(rng, {2, 4, 9})}});
  }
  for (const ModelCase& one : cases) {
    EXPECT_LE(testing::ratio_by_kernels(testing::kernels_of("plain"), one), 1) << one.name;
    program::Kernels both = testing::kernels_of("onednn");
    for (const program::Kernel* const kernel : testing::kernels_of("plain")) both.push_back(kernel);
    EXPECT_LE(testing::ratio_by_kernels(both, one), 1) << one.name;
  }
}

TEST(PlainKernels, ReadNoOtherNumbersThanFp32WhereTheyChangeNone) {
  const ModelCase one = combined_case({kN, 5, 4, 3}, {1, 5, 1, 1}, Elementwise::Kind::multiply, false);
  const Node& node = one.model.nodes.back();
  for (const Order order : {Order::rows, Order::nhwc, Order::nchw8c}) {
    const program::Request request{
        .model = one.model,
        .step = {static_cast<Index>(one.model.nodes.size() - 1), {}},
        .images = 2,
        .inputs = {{node.inputs[0], {2, 5, 4, 3}, {{order, ElementType::bf16}}}, {node.inputs[1], {1, 5, 1, 1}, {{}}}}};
    for (const program::Kernel* const kernel : testing::kernels_of("plain"))
      for (const program::Offer& offer : kernel->offers(request)) {
        if (!offer.takes()) continue;
        for (const program::Layout& layout : offer.inputs) EXPECT_EQ(layout.type, ElementType::fp32) << kernel->name();
      }
  }
}

TEST(PlainKernels, HalvesBetweenTwoNumbersOfBf16GoToTheEvenOne) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> rounded{
      {0x3f808000U, 0x3f80U}, {0x3f818000U, 0x3f82U}, {0x3f808001U, 0x3f81U}, {0x3f807fffU, 0x3f80U},
      {0xbf808000U, 0xbf80U}, {0xbf818000U, 0xbf82U}, {0x7f7fffffU, 0x7f80U}, {0x00018000U, 0x0002U}};
  std::vector<std::uint32_t> bits;
  for (const auto& [given, made] : rounded) bits.push_back(given);
  const program::Change change{{1, static_cast<Extent>(bits.size())}, {}, {Order::rows, ElementType::bf16}};
  std::vector<std::uint16_t> made(bits.size());
  const auto bound = plain_kernel("plain_change").change(change).bind();
  bound->place({.inputs = {reinterpret_cast<const std::byte*>(bits.data())},
                .output = reinterpret_cast<std::byte*>(made.data()),
                .scratch = nullptr,
                .constants = {}});
  bound->run();
  for (std::size_t i = 0; i < bits.size(); ++i) EXPECT_EQ(made[i], rounded[i].second) << std::hex << bits[i];
}

TEST(PlainKernels, WhatIsNoNumberStaysSoInBf16) {
  const std::vector<std::uint32_t> bits{0x7fffffffU, 0xffffffffU, 0x7f800001U, 0x7fc00000U, 0x7f800000U, 0xff800000U};
  const program::Change change{{1, static_cast<Extent>(bits.size())}, {}, {Order::rows, ElementType::bf16}};
  const program::Kernel& kernel = plain_kernel("plain_change");
  std::vector<std::uint16_t> made(bits.size());
  const auto bound = kernel.change(change).bind();
  bound->place({.inputs = {reinterpret_cast<const std::byte*>(bits.data())},
                .output = reinterpret_cast<std::byte*>(made.data()),
                .scratch = nullptr,
                .constants = {}});
  bound->run();
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const float found = std::bit_cast<float>(std::uint32_t{made[i]} << 16U);
    if (i < 4)
      EXPECT_TRUE(std::isnan(found)) << i;
    else
      EXPECT_EQ(found, std::bit_cast<float>(bits[i]));
  }
}

/// Channels in blocks are filled up, which loops over elements do not know.
TEST(PlainKernels, TakeRowsAndChannelsInnermostAsTheyAreMadeAndAllElseInRows) {
  using program::ElementType;
  using program::Layout;
  using program::Order;
  testing::Rng rng(5);
  const Shape shape{2, 7, 4, 5};
  for (const Operation& operation :
       {Operation(Activation{}), Operation(testing::random_norm(rng, 7)), Operation(Elementwise{})}) {
    testing::ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 7, 4, 5});
    const bool of_two = std::holds_alternative<Elementwise>(operation);
    const Model model = builder.finish(
        {of_two ? builder.add(operation, {x, builder.add(Activation{}, {x})}) : builder.add(operation, {x})});
    const auto node = static_cast<Index>(model.nodes.size() - 1);
    for (const ElementType type : {ElementType::fp32, ElementType::bf16})
      for (const Order order : {Order::rows, Order::nhwc, Order::nchw8c, Order::nchw16c}) {
        program::Request request{.model = model, .step = {node, {}}, .images = 2, .inputs = {}};
        for (const ValueId input : model.nodes[node].inputs)
          request.inputs.push_back({input, shape, {Layout{order, type}}});
        const bool simple = type == ElementType::fp32 && (order == Order::rows || order == Order::nhwc);
        const Layout expected = simple ? Layout{order} : program::kRows;
        std::size_t offers = 0;
        for (const program::Kernel* const kernel : testing::kernels_of("plain"))
          for (const program::Offer& offer : kernel->offers(request)) {
            if (!offer.takes()) continue;
            ++offers;
            EXPECT_EQ(offer.output, expected) << kernel->name() << " of " << program::text(Layout{order, type});
            for (const Layout& layout : offer.inputs) EXPECT_EQ(layout, expected) << kernel->name();
          }
        EXPECT_EQ(offers, 1U) << operation_name(operation);
      }
  }
}

}  // namespace
}  // namespace spdnn
