// The engine of a model and the images at a time, chosen from the variants' answers, memory included.

#include "inference/model/choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/text/amounts.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

ModelEngineOptions model_options(Index batch, std::size_t host_memory = 0) {
  return {.batch = batch, .kernels_for = 1, .threads = 1, .host_memory = host_memory};
}

std::size_t working_bytes(const ModelVariant& variant, const Model& model, Index batch) {
  return support_of(variant, model, model_options(batch)).working_bytes;
}

TEST(ModelChoice, WhatIsTooLargeSaysHowManyBytesItNeeds) {
  const Model model = testing::small_network(3, 0.3, 4).model;
  const ModelVariant& variant = find_model_variant("conv_dense");
  const std::size_t bytes = working_bytes(variant, model, 4);
  EXPECT_TRUE(support_of(variant, model, model_options(4, bytes)).takes());
  const Support little = support_of(variant, model, model_options(4, bytes - 1));
  EXPECT_FALSE(little.takes());
  EXPECT_TRUE(little.too_large);
  EXPECT_EQ(little.working_bytes, bytes);
  EXPECT_FALSE(support_of(variant, model, {.precision = Precision::fp16}).too_large) << "refused whatever the memory";
}

TEST(ModelChoice, BatchesFitToTheByte) {
  const Model model = testing::small_network(3, 0.3, 4).model;
  const ModelVariant& variant = find_model_variant("conv_dense");
  const std::size_t room = working_bytes(variant, model, 7);
  ASSERT_LT(working_bytes(variant, model, 6), room);
  ASSERT_GT(working_bytes(variant, model, 8), room);
  KnownSupport known(model);
  EXPECT_EQ(model_batch({}, variant, known, 21, model_options(1, room)), 7U);
  EXPECT_EQ(model_batch({}, variant, known, 20, model_options(1, room - 1)), 5U) << "six fit: four rounds";
  const std::size_t none = working_bytes(variant, model, 1) - 1;
  EXPECT_THROW(model_batch({}, variant, known, 20, model_options(1, none)), DeviceError);
  EXPECT_EQ(find_model_batch({}, variant, known, 20, model_options(1, none)).too_large.find("conv_dense needs "), 0U);
  EngineSettings asked;
  asked.batch = 8;
  EXPECT_THROW(model_batch(asked, variant, known, 20, model_options(1, room)), DeviceError)
      << "what was asked for stays";
  asked.batch = 7;
  EXPECT_EQ(model_batch(asked, variant, known, 20, model_options(1, room)), 7U);
  asked.batch = 8;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "for 8 images at a time; ",
                      find_model_batch(asked, variant, known, 20, model_options(1, room)).too_large);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "for 1 image at a time; ",
                      find_model_batch({}, variant, known, 20, model_options(1, none)).too_large);
  EXPECT_EQ(find_model_batch({}, variant, known, 20, model_options(1, none)).too_large,
            fmt::format("conv_dense needs {} for 1 image at a time; {} are available", bytes_text(none + 1),
                        bytes_text(none)));
  EXPECT_EQ(find_model_batch({}, variant, known, 20, model_options(1)).too_large, "");
}

TEST(ModelChoice, NoBatchIsFoundForAVariantThatDoesNotTakeTheModel) {
  const Model model = testing::small_network(3, 0.3, 4).model;
  KnownSupport known(model);
  ModelEngineOptions options = model_options(1);
  options.precision = Precision::fp16;
  EXPECT_THROW(find_model_batch({}, find_model_variant("conv_dense"), known, 20, options), UsageError);
}

TEST(ModelChoice, BatchesAreOf64ImagesOrUpTo1024ThatTakeAMegabyte) {
  const auto batch_for = [](Index height, Index images) {
    testing::ModelBuilder builder;
    const ValueId image = builder.input({kBatchExtent, 1, height, 32});  // 128 bytes a row
    const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {image})});
    return wanted_batch({}, model, images);
  };
  EXPECT_EQ(batch_for(1, 100000), 1024U);
  EXPECT_EQ(batch_for(16, 100000), 512U);
  EXPECT_EQ(batch_for(16, 100), 100U);
  EXPECT_EQ(batch_for(1024, 100000), 64U);
}

TEST(ModelChoice, BatchesHaveNoMoreImagesThan64MegabytesOfAnyOutputHold) {
  testing::ModelBuilder builder;
  const ValueId features = builder.input({kBatchExtent, 1, 1, 1});
  const ValueId image = builder.constant(testing::make_tensor({1, 1, 256, 256}, std::vector<float>(65536, 1)));
  const Model model = builder.finish({builder.add(Elementwise{}, {features, image})});
  EXPECT_EQ(wanted_batch({}, model, 100000), 256U);
}

TEST(ModelChoice, AnEngineIsChosenThatFitsSomeImages) {
  const Model model = testing::small_network(3, 0.3, 4).model;
  const std::size_t room = working_bytes(find_model_variant("conv_dense"), model, 1);
  KnownSupport known(model);
  const ModelEngineChoice choice = find_model_engine({}, known, model_options(64, room));
  ASSERT_NE(choice.variant, nullptr);
  EXPECT_NE(choice.variant->name, "conv_reference") << choice.why;
  EXPECT_EQ(choice.why.find("the first fast engine that supports the model ("), 0U) << choice.why;
}

TEST(ModelChoice, WhereNoneTakesAModelTheReasonIsGivenOnce) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 3});
  builder.input({testing::kN, 3});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  KnownSupport known(model);
  const ModelEngineChoice none = find_model_engine({}, known, model_options(1));
  EXPECT_EQ(none.variant, nullptr);
  EXPECT_EQ(none.why, "conv_reference, sparse, conv_dense: the model has 2 inputs; models of one input can be run");
  EXPECT_THROW(choose_model_engine({}, known, model_options(1)), UsageError);
}

TEST(ModelChoice, AVariantIsAskedOnceForTheSameOptions) {
  static int asked;
  asked = 0;
  const ModelVariant variant{"counting",
                             Device::cpu,
                             "for tests",
                             {Precision::fp32, Precision::fp64},
                             [](const Model&, const ModelEngineOptions& options) {
                               ++asked;
                               return Support{.working_bytes = options.batch};
                             },
                             nullptr};
  const Model model = testing::small_network(3, 0.3, 4).model;
  KnownSupport known(model);
  const Support& of_two = known.of(variant, model_options(2));
  EXPECT_EQ(known.of(variant, model_options(3)).working_bytes, 3U);
  EXPECT_EQ(&known.of(variant, model_options(2)), &of_two);
  ModelEngineOptions profiled = model_options(2);
  profiled.profile = true;
  EXPECT_EQ(&known.of(variant, profiled), &of_two) << "an answer does not depend on it";
  EXPECT_EQ(asked, 2);
  ModelEngineOptions other = model_options(2);
  other.precision = Precision::fp64;
  known.of(variant, other);
  other.threads = 2;
  known.of(variant, other);
  known.of(variant, model_options(2, 1U << 30U));
  EXPECT_EQ(asked, 5);
}

/// Whether to start CUDA beside reading is decided before a device is touched, and before the model is read.
TEST(ModelChoice, ADeviceIsStartedOnlyForVariantsThatMayRunOnIt) {
  const auto variant = [](const char* name, Device device) {
    return ModelVariant{name, device, "for tests", {Precision::fp32}, nullptr, nullptr};
  };
  const std::vector<ModelVariant> all{variant("here", Device::cpu), variant("there", Device::cuda)};
  EngineSettings settings;
  EXPECT_TRUE(may_choose_cuda(engine_request(settings), all));
  EXPECT_FALSE(may_choose_cuda(engine_request(settings), std::vector{all.front()}));
  settings.variant = "here";
  EXPECT_FALSE(may_choose_cuda(engine_request(settings), all));
  settings.variant = "there";
  settings.cuda_device = 3;
  EXPECT_TRUE(may_choose_cuda(engine_request(settings), all));
  EXPECT_EQ(engine_request(settings).cuda_device, 3);
  settings.device = Device::cpu;
  EXPECT_FALSE(may_choose_cuda(engine_request(settings), all));
}

}  // namespace
}  // namespace spdnn
