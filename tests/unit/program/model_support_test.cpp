// What variants of models say before they run: the memory that they take, and remarks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engines/model_engine.hpp"
#include "model/graph/magnitudes.hpp"
#include "model/graph/node_text.hpp"
#include "model/operations/csr_of_dense.hpp"
#include "program/compile_for.hpp"
#include "program/measured.hpp"
#include "program/parts.hpp"
#include "program/trial.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/quantised.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::ModelBuilder;

bool has_remark(const Support& support, const std::string& part) {
  return std::any_of(support.remarks.begin(), support.remarks.end(),
                     [&](const std::string& remark) { return remark.find(part) != std::string::npos; });
}

TEST(ModelSupport, CountsActivationsForEachThreadThatHasImagesOfItsOwn) {
  testing::Rng rng(3);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 4, 10, 10});
  const Model model = builder.finish({builder.add(testing::random_convolution(rng, 4, 8, {}, 0.5), {x})});
  for (const auto& [batch, threads, teams] : {std::tuple<Index, int, int>{64, 2, 2}, {64, 3, 3}, {64, 1, 1}}) {
    const ModelEngineOptions options{.batch = batch, .threads = threads};
    ASSERT_EQ(program::parts_of(model, batch, threads).teams, teams);
    const program::Program program = program::program_for(model, options, testing::kernels_of("plain"));
    const Support support = program::support_of(program, model, options);
    EXPECT_GT(program.constant_bytes, 0U);
    EXPECT_EQ(support.working_bytes, program.arena.bytes * static_cast<std::size_t>(teams) + program.constant_bytes);
    EXPECT_FALSE(has_remark(support, "computed by")) << "each thread computes";
    for (const bool fits : {true, false}) {
      ModelEngineOptions limited = options;
      limited.host_memory = support.working_bytes - (fits ? 0 : 1);
      EXPECT_EQ(program::support_of(program, model, limited).too_large, !fits);
    }
  }
}

TEST(ModelSupport, SaysHowManyNodesWithWeightsAreComputedInInt8) {
  testing::Rng rng(7);
  ModelBuilder builder;
  const ValueId bytes = testing::quantised(builder, builder.input({kN, 8, 20, 20}), {false, 0, 0.5F});
  std::vector<float> values(8 * 72);
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = static_cast<float>(i % 5) - 2;
  const ValueId first = builder.add(
      Convolution{.weights = csr_of_dense(values, 8, 72), .bias = {}, .window = testing::same_window(3, 3)}, {bytes});
  const ValueId whole = builder.add(testing::make_activation(Activation::Kind::tanh), {first});
  const ValueId second = builder.add(testing::random_convolution(rng, 8, 4, {}, 0.5), {whole});
  const ValueId mean = builder.add(GlobalPool{}, {second});
  const Model model = builder.finish({mean});
  const Support support = support_of(find_model_variant("sparse"), model, {.batch = 2, .threads = 1});
  ASSERT_TRUE(support.takes()) << support.why_not;
  EXPECT_TRUE(
      has_remark(support, "computed in int8: 1 node with weights; dequantised, in fp32: 1 node, the first of them "))
      << ::testing::PrintToString(support.remarks);
  const Support dense = support_of(find_model_variant("sparse"), testing::small_network(1, 0.4).model, {.batch = 2});
  EXPECT_FALSE(has_remark(dense, "computed in int8"));
}

TEST(ModelSupport, TheReferenceNamesTheNodeWhoseOutputsExceedFp32) {
  ModelBuilder builder;
  const ValueId x = builder.add(Activation{}, {builder.input({kN, 1})});
  const ValueId large = builder.add(Linear{testing::make_matrix(1, {{{0, 3e38F}}}), {}}, {x});
  const Model model = builder.finish({large});
  const auto engine =
      make_engine(find_model_variant("conv_reference"), std::make_shared<const Model>(model),
                  {.precision = find_model_variant("conv_reference").precisions.front(), .batch = 1, .threads = 1});
  for (const float number : {100.F, 1.F}) {
    engine->load(testing::make_tensor({1, 1}, {number}));
    engine->advance(0, 2);
    EXPECT_EQ(engine->overflow(), number > 1 ? std::optional(Index{1}) : std::nullopt);
  }
}

TEST(Program, IsDescribedActionByAction) {
  ModelBuilder builder;
  const ValueId x = builder.add(Activation{}, {builder.input({kN, 3})});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::tanh), {x})});
  using Kind = program::Action::Kind;
  const program::Layout nhwc{program::Order::nhwc};
  program::Program program;
  program.actions.resize(3);
  program.actions[0] = {.kind = Kind::step, .node = 0, .step = {0, {1}}, .kernel = "a", .seconds = 1};
  program.actions[0].inputs = {{0, program::kRows}, {1, nhwc}};
  program.actions[0].output = {2, nhwc};
  program.actions[1] = {.kind = Kind::change, .node = 1, .kernel = "b", .seconds = 2};
  program.actions[1].inputs = {{2, nhwc}};
  program.actions[2] = {.kind = Kind::watch, .node = 1, .kernel = "c", .seconds = 3};
  program.actions[2].inputs = {{2, nhwc}};
  std::vector<std::string> lines;
  for (const ProgramStep& step : program::described(program, model))
    lines.push_back(fmt::format("{} {} {} {}, {}", step.seconds, step.kernel, step.node, step.operation, step.layouts));
  const std::string first = node_text(model, 0);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"1 a 0 " + first + " + " + std::string(operation_name(model.nodes[1].operation)) +
                                          ", rows, nhwc -> nhwc",
                                      "2 b 1 change of layout, nhwc -> rows", "3 c 1 look for overflow, nhwc"}));
}

TEST(Trial, OfAChangeHasTheMemoryOfItsLayouts) {
  const program::Kernel& plain = *testing::kernels_of("plain").back();
  const Shape shape{2, 3, 4, 5};
  for (const program::Layout& to : {program::Layout{program::Order::nchw16c}, {program::Order::nhwc}}) {
    const program::Change change{shape, program::kRows, to};
    program::Offer offer = plain.change(change);
    offer.inputs.clear();  // a program takes them from the change
    offer.output = program::kRows;
    std::vector<std::string> filled;
    program::Trial trial(change, offer, [&](std::byte* memory, const program::Layout& layout, const Shape& of) {
      std::fill_n(memory, program::bytes_of(layout, of), std::byte{1});
      filled.push_back(text(layout) + shape_text(of));
    });
    EXPECT_EQ(trial.seconds(3).size(), 3U);
    EXPECT_EQ(filled, std::vector<std::string>{"rows2 x 3 x 4 x 5"});
    EXPECT_EQ(trial.output().size(), program::bytes_of(to, shape));
  }
}

/// A kernel that predicts no time.
class Timeless final : public program::Kernel {
 public:
  std::string_view name() const override { return "timeless"; }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    program::Offer offer;
    offer.inputs.assign(request.own_inputs(), program::kRows);
    offer.bind = [] { return program::bound([](const program::Operands&) {}); };
    offer.seconds = request.step.node == 0 ? 0 : 1e-6;
    return {std::move(offer)};
  }
};

TEST(Measured, WhatPredictsNoTimeIsNotCorrected) {
  ModelBuilder builder;
  ValueId x = builder.add(Activation{}, {builder.input({kN, 3})});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::tanh), {x})});
  const Timeless kernel;
  const program::MeasuredKernels measured({&kernel});
  program::compile(model, Magnitudes(model), 2, {.epilogues = false, .kernels = measured.kernels()});
  const program::Calibration calibration = measured.calibration();
  ASSERT_EQ(calibration.size(), 1U);
  EXPECT_GT(calibration.begin()->second, 0);
  EXPECT_LT(calibration.begin()->second, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace spdnn
