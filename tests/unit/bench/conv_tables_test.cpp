// The layers of the tables of `bench conv`, and the models that they are timed as.

#include "bench/conv_tables.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/conv_models.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/whole.hpp"

namespace spdnn::bench {
namespace {

TEST(ConvTables, HaveTheLayersOfTheirPapersAndNetworks) {
  std::string text;
  for (const std::string_view table : conv_tables()) {
    text += fmt::format("{}\n", table);
    std::map<std::string, int> times;
    for (const ConvLayer& layer : conv_table(std::string(table))) {
      const Window& w = layer.window;
      text += fmt::format("  {}; padding {} {} {} {}{}{}\n", layer.name(), w.pad_begin[0], w.pad_begin[1], w.pad_end[0],
                          w.pad_end[1], layer.depthwise() ? "; depthwise" : "", layer.pruned() ? "" : "; dense");
      EXPECT_EQ(++times[layer.name()], 1) << table << ": " << layer.name();
    }
  }
  testing::expect_whole(__FILE__, "conv_tables.txt", text);
  EXPECT_NE(testing::message_of<UsageError>([] { conv_table("vgg"); }).find("'vgg' is not one of escoin, pietron, "),
            std::string::npos);
}

ConvCase layer_case(Extent size, Device device) {
  return {
      .table = "t", .layer = {6, size, size, 4, {.kernel = {3, 1}}, 2}, .sparsity = 0.5, .batch = 2, .device = device};
}

TEST(ConvModels, AreTheLayerAndWhereItsResultsAllowItsMaxima) {
  const Model model = model_of(layer_case(9, Device::cpu));
  const auto& convolution = std::get<Convolution>(model.nodes.at(0).operation);
  const CsrMatrix& weights = convolution.weights;
  EXPECT_EQ(model.name, "6x9x9 3x1 -> 4 in 2 groups");
  EXPECT_EQ(weights.rows, 4U);
  EXPECT_EQ(weights.cols, 9U);
  EXPECT_EQ(convolution.groups, 2U);
  EXPECT_EQ(convolution.bias, std::vector<float>(4, 0.1F));
  EXPECT_EQ(model.values.at(0).shape, (Shape{kBatchExtent, 6, 9, 9}));
  EXPECT_EQ(model.values.at(1).shape, (Shape{kBatchExtent, 4, 7, 9}));
  EXPECT_TRUE(std::get<Convolution>(model_of(layer_case(9, Device::cuda)).nodes[0].operation).bias.empty());
  const Model pooled = pooled_model_of(layer_case(9, Device::cpu));
  ASSERT_EQ(pooled.nodes.size(), 3U);
  for (const std::size_t node : {0U, 1U, 2U}) EXPECT_EQ(pooled.nodes[node].inputs, std::vector<ValueId>{ValueId(node)});
  EXPECT_EQ(pooled.values.at(2).shape, (Shape{kBatchExtent, 4, 7, 9}));
  EXPECT_EQ(pooled.values.at(3).shape, (Shape{kBatchExtent, 4, 3, 4}));
  EXPECT_EQ(pooled.outputs, model.outputs) << "the layer's own results stay";
  EXPECT_EQ(pooled_model_of(layer_case(4, Device::cpu)).nodes.size(), 3U) << "2 x 4 results";
  EXPECT_EQ(pooled_model_of(layer_case(3, Device::cpu)).nodes.size(), 1U) << "1 x 3 results";
}

TEST(ConvModels, InInt8HaveImagesInBytesAndTheLayerLast) {
  const Model whole = whole_model_of(layer_case(9, Device::cpu));
  ASSERT_TRUE(std::holds_alternative<Convolution>(whole.nodes.back().operation));
  const CsrMatrix& weights = std::get<Convolution>(whole.nodes.back().operation).weights;
  EXPECT_EQ(weights.rows, 4U);
  EXPECT_GT(whole.nodes.size(), 1U) << "images are rounded to bytes first";
}

/// Rows of 9 weights are few: they stay as they are.
TEST(ConvModels, SayWhyWeightsAreNotStoredAsTwoOfFour) {
  EXPECT_NE(grouped_model_of(layer_case(9, Device::cuda)).why_not.find("its filters have fewer than "),
            std::string::npos);
  ConvCase wide = layer_case(9, Device::cuda);
  wide.layer.channels = 64;
  wide.layer.groups = 1;
  EXPECT_EQ(grouped_model_of(wide).why_not, "");
  EXPECT_EQ(grouped_model_of(wide).model.nodes.size(), 1U);
}

}  // namespace
}  // namespace spdnn::bench
