// What `inspect` says of a model: the images at a time, the variant that would run, and each variant's answer.

#include "inference/model/inspect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "engines/model_engine.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/compiled_program.hpp"
#include "model/rewrites/rewrite.hpp"
#include "spdnn/error.hpp"
#include "spdnn/session.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/refused_threads.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

/// A linear node of 3 x 2 weights, a batch norm that is folded into it, and a ReLU.
Model normed_layer(Extent batch) {
  ModelBuilder builder;
  ValueId x = builder.input({batch, 2});
  x = builder.add(Linear{testing::make_matrix(2, {{{0, 1.F}}, {{1, 2.F}}, {{0, 1.F}, {1, 1.F}}}), {}}, {x});
  x = builder.add(BatchNorm{{2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 0}, {x});
  return builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})});
}

ModelView inspected(const Model& model, const EngineSettings& settings = {}) {
  return inspected_model("m.onnx", model, settings, [](const Error& error) { return std::string(error.what()); });
}

const VariantAnswer& answer_of(const ModelView& view, const std::string& variant) {
  return *std::find_if(view.answers.begin(), view.answers.end(),
                       [&](const VariantAnswer& answer) { return answer.name == variant; });
}

std::size_t bytes_for(const Model& model, Index batch) {
  return support_of(find_model_variant("conv_reference"), model, {.precision = Precision::fp64, .batch = batch})
      .working_bytes;
}

/// One, as many as the model takes, as many as its program is for, or as many as were asked for.
TEST(InspectedModel, IsShownForTheImagesAtATimeThatItWouldRunWith) {
  const Model any = normed_layer(kBatchExtent);
  EXPECT_EQ(inspected(any).batch, 1U);
  EngineSettings five;
  five.batch = 5;
  EXPECT_EQ(inspected(any, five).batch, 5U);
  const Model fixed = normed_layer(4);
  EXPECT_EQ(inspected(fixed).batch, 4U);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "batch: the model takes 4 images at a time; ",
                      testing::message_of<UsageError>([&] { inspected(fixed, five); }));
  Model stored = any;
  FileNotes notes;
  EngineSettings seven;
  seven.batch = 7;
  stored.program = compiled_program(any, seven, false, notes).program;
  EXPECT_EQ(inspected(stored).batch, 7U);
  EXPECT_EQ(inspected(stored, five).batch, 5U);
  EXPECT_EQ(wanted_batch({}, stored, 100), 7U);
  EXPECT_EQ(wanted_batch({}, stored, 6), 6U);
  EXPECT_EQ(wanted_batch(five, stored, 100), 5U);
  seven.batch = 1;
  stored.program = compiled_program(any, seven, false, notes).program;
  EXPECT_EQ(wanted_batch({}, stored, 100), 1U);
}

TEST(CompiledProgram, IsNotMadeForMoreThreadsThanTheSystemAllows) {
  EngineSettings settings;
  settings.threads = 4;
  FileNotes notes;
  std::thread([&] {  // which has started no thread yet
    const testing::RefusedThreads refused;
    EXPECT_THROW(compiled_program(normed_layer(2), settings, false, notes), DeviceError);
    EXPECT_THROW(ModelSession(normed_layer(2), settings), DeviceError);
  })
      .join();
}

/// A note says for which batch it is, unless that was asked for or is the model's own.
TEST(CompiledProgram, IsForTheBatchThatItsNoteNames) {
  const auto notes_of = [](const Model& model, Index batch) {
    EngineSettings settings;
    settings.variant = "conv_dense";
    settings.batch = batch;
    FileNotes notes;
    const CompiledProgram compiled = compiled_program(model, settings, false, notes);
    Model stored = model;
    stored.program = compiled.program;
    EXPECT_EQ(batch_of(stored), batch != 0 ? batch : batch_of(model).value_or(wanted_batch({}, model, kMaxIndex)));
    EXPECT_TRUE(compiled.code.empty());
    return notes;
  };
  const Model any = normed_layer(kBatchExtent);
  EXPECT_EQ(notes_of(any, 0), FileNotes{"the program is for batches of 1024 images; a run of fewer images at a time "
                                        "compiles another"});
  EXPECT_TRUE(notes_of(any, 3).empty());
  EXPECT_TRUE(notes_of(normed_layer(4), 0).empty());
  EngineSettings exact;
  exact.variant = "conv_reference";
  FileNotes notes;
  EXPECT_EQ(testing::message_of<UsageError>([&] { compiled_program(any, exact, false, notes); }),
            "conv_reference runs no program");
}

TEST(InspectedModel, HasTheAnswersOfVariantsForTheModelAfterItsRewrites) {
  for (const Index batch : {1U, 6U}) {
    EngineSettings settings;
    settings.batch = batch;
    const Model model = normed_layer(kBatchExtent);
    const ModelView view = inspected(model, settings);
    EXPECT_EQ(view.name, "m.onnx");
    EXPECT_EQ(view.work.size(), 3U) << "as given";
    EXPECT_EQ(view.answers.size(), model_variants().size());
    const VariantAnswer& dense = answer_of(view, "conv_dense");
    EXPECT_EQ(dense.why_not, "");
    EXPECT_EQ(dense.description, find_model_variant("conv_dense").description);
    EXPECT_GT(dense.bytes, 0U);
    EXPECT_FALSE(dense.remarks.empty());
    for (const ProgramStep& step : dense.program) EXPECT_LT(step.node, 2U) << "the norm is folded";
    EXPECT_FALSE(dense.program.empty());
    Model rewritten = model;
    rewrite(rewritten, kAllRewrites);
    EXPECT_EQ(answer_of(view, "conv_reference").bytes, bytes_for(rewritten, batch));
    EXPECT_LT(bytes_for(rewritten, batch), bytes_for(model, batch));
  }
}

TEST(InspectedModel, WouldRunByTheVariantThatWasChosenAndInItsPrecision) {
  const Model model = normed_layer(kBatchExtent);
  const ModelView usual = inspected(model);
  EXPECT_TRUE(usual.would_run.ends_with(" fp32")) << usual.would_run;
  EXPECT_TRUE(usual.why.starts_with("the first fast engine that supports the model (")) << usual.why;
  EngineSettings exact;
  exact.precision = Precision::fp64;
  const ModelView in_fp64 = inspected(model, exact);
  EXPECT_EQ(in_fp64.would_run, "conv_reference fp64");
  EXPECT_EQ(answer_of(in_fp64, "conv_dense").why_not, "it does not compute in fp64");
  EXPECT_EQ(answer_of(in_fp64, "conv_dense").bytes, 0U);
  EXPECT_EQ(answer_of(in_fp64, "conv_reference").why_not, "");
  EXPECT_EQ(answer_of(usual, "conv_reference").why_not, "") << "in the first precision of each";
}

/// A model of 2^40 numbers an image runs nowhere; one of two inputs is not run at all.
TEST(InspectedModel, WouldNotRunWhereItIsTooLargeOrInferRefusesIt) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 1, 1});
  const ValueId huge = builder.add(Resize{.size = {1 << 20, 1 << 20}}, {x});
  const ModelView large = inspected(builder.finish({builder.add(GlobalPool{}, {huge})}));
  EXPECT_EQ(large.would_run, "");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "host_memory: ", large.why);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "for 1 image at a time; ", large.why);

  ModelBuilder two;
  const ValueId a = two.input({kBatchExtent, 2});
  const ValueId b = two.input({kBatchExtent, 2});
  EngineSettings three;
  three.batch = 3;
  const ModelView refused = inspected(two.finish({two.add(Elementwise{}, {a, b})}), three);
  EXPECT_EQ(refused.would_run, "");
  EXPECT_EQ(refused.why, "the model has 2 inputs, expected one");
  EXPECT_EQ(refused.batch, 3U);
  EXPECT_EQ(refused.answers.size(), model_variants().size());
  EXPECT_NE(answer_of(refused, "conv_reference").why_not, "");
}

}  // namespace
}  // namespace spdnn
