#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "engines/cpu/sparse_linear/multiply.hpp"
#include "engines/model_engine.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/model_inference.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/reports.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;

/// Dense kernels of the program's own are slower than oneDNN's, so that skipping zeros pays more often.
bool without_onednn() { return testing::kernels_of("onednn").empty(); }

double ratio_of(const Linear& linear, const Tensor& input) {
  const Extent rows = input.shape[0];
  const auto scratch = allocate<float>(sparse_linear_scratch(linear.weights, rows) + 1);
  std::vector<float> found(static_cast<std::size_t>(rows) * linear.weights.rows(), -7.F);
  multiply_sparse(linear, rows, input.values.data(), scratch.get(), found.data());
  const Bounded exact = exactly(input);
  return largest_ratio(evaluate(linear, {&exact}), found);
}

TEST(SparseLinear, StaysWithinTheBoundWhateverTheShape) {
  testing::Rng rng(41);
  for (const Index inputs : {1U, 3U, 16U, 65U, 130U})
    for (const Index outputs : {1U, 5U, 16U, 33U})
      for (const Extent rows : {1, 2, 15, 16, 17, 33})
        for (const double density : {0.0, 0.1, 1.0}) {
          Linear linear = testing::random_linear(rng, inputs, outputs, density);
          if (rows % 2 == 0) linear.bias.clear();
          const Tensor input = testing::random_tensor(rng, {rows, Extent{inputs}});
          EXPECT_LE(ratio_of(linear, input), 1)
              << outputs << " x " << inputs << ", " << rows << " rows, density " << density;
        }
}

TEST(SparseLinear, TakesWeightsOfOneValue) {
  testing::Rng rng(42);
  Linear linear = testing::random_linear(rng, 40, 20, 0.3);
  CsrMatrix weights = linear.weights;
  weights.values = {};
  weights.value = 0.3F;
  linear.weights = std::move(weights);
  for (const Extent rows : {1, 18}) EXPECT_LE(ratio_of(linear, testing::random_tensor(rng, {rows, 40})), 1) << rows;
}

TEST(SparseLinear, PaysForLargeMatricesOfFewWeights) {
  testing::Rng rng(43);
  const CsrMatrix tenth = testing::random_weights(rng, 256, 256, 0.1);
  EXPECT_TRUE(sparse_linear_pays(tenth, 16));
  EXPECT_FALSE(sparse_linear_pays(tenth, 15));
  EXPECT_TRUE(sparse_linear_pays(testing::random_weights(rng, 256, 256, 0.04), 1));
  EXPECT_FALSE(sparse_linear_pays(tenth, 1));
  EXPECT_TRUE(sparse_linear_pays(testing::random_weights(rng, 512, 1024, 0.1), 1));
  EXPECT_FALSE(sparse_linear_pays(testing::random_weights(rng, 256, 256, 0.3), 256));
  EXPECT_FALSE(sparse_linear_pays(testing::random_weights(rng, 256, 255, 0.01), 256));
  EXPECT_EQ(sparse_linear_text(tenth, 16).find("sparse, as "), 0U);
  EXPECT_EQ(sparse_linear_text(tenth, 1).find("dense, as "), 0U);
}

/// A convolution, two linear nodes with activations, of which the first is sparse and large, and a sum.
Model classifier() {
  testing::Rng rng(44);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 8, 8});
  const ValueId images = builder.add(testing::random_convolution(rng, 3, 4, testing::same_window(3, 3), 0.5), {x});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 256}}, {images});
  const ValueId hidden = builder.add(Activation{}, {builder.add(testing::random_linear(rng, 256, 300, 0.04), {flat})});
  const ValueId sum =
      builder.add(Elementwise{}, {builder.add(testing::random_linear(rng, 300, 256, 0.03), {hidden}), flat});
  return builder.finish({builder.add(testing::random_linear(rng, 256, 10, 0.1), {sum}), hidden});
}

TEST(SparseLinear, IsUsedByItsVariantNodeByNode) {
  const Model model = classifier();
  testing::Rng rng(45);
  for (const Extent images : {1, 3, 40}) {
    ModelSpec spec;
    spec.truth.everything = true;
    spec.batch = 17;  // of 40 images the last batch has 6
    ModelInference inference(spec);
    inference.load(model, testing::random_tensor(rng, {images, 3, 8, 8}));
    inference.plan();
    inference.run();
    inference.verify();
    const ModelReport& report = inference.report();
    EXPECT_EQ(report.variant, "sparse");
    EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
    std::string notes;
    for (const std::string& note : report.notes) notes += note + "\n";
    EXPECT_NE(notes.find("(linear) runs sparse, as "), std::string::npos) << notes;
    EXPECT_NE(notes.find("(linear) runs dense, as it has 2560 weights"), std::string::npos) << notes;
  }
}

/// Which kernels skip zeros depends on predictions, and these on the threads of the machine.
TEST(SparseLinear, WhichZerosAreLeftOutIsSaid) {
  const Model model = classifier();
  std::vector<Offset> zeros(model.nodes.size());
  Offset weights = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (const CsrMatrix* const matrix = matrix_or_null(model.nodes[n].operation)) {
      weights += Offset{matrix->rows} * matrix->cols;
      zeros[n] = Offset{matrix->rows} * matrix->cols - matrix->entries();
    }
  const Offset all = std::accumulate(zeros.begin(), zeros.end(), Offset{0});
  const auto answer = [&](const char* variant, Precision precision) {
    return support_of(find_model_variant(variant), model, {.precision = precision, .batch = 17});
  };
  const std::string begin = fmt::format("{} of {} weights are zero ({:.2f} %)", all, weights,
                                        100.0 * static_cast<double>(all) / static_cast<double>(weights));
  EXPECT_EQ(answer("conv_dense", Precision::fp32).remarks.back(), begin + "; none is skipped");
  EXPECT_EQ(answer("conv_reference", Precision::fp64).remarks.back(), begin + "; all are skipped");
  const Support sparse = answer("sparse", Precision::fp32);
  Offset skipped = 0;
  int nodes = 0;
  for (const ProgramStep& step : sparse.program)
    if (step.kernel.starts_with("sparse_")) {
      skipped += zeros.at(step.node);
      ++nodes;
    }
  EXPECT_GE(nodes, 2);
  EXPECT_EQ(sparse.remarks.back(), fmt::format("{}; {} are skipped, in {} nodes", begin, skipped, nodes));
  testing::Rng rng(47);
  const testing::ModelCase pruned =
      testing::convolution_case("", testing::random_convolution(rng, 64, 64, testing::same_window(3, 3), 0.01),
                                {1, 64, 28, 28}, testing::random_tensor(rng, {1, 64, 28, 28}));
  const std::string remark = support_of(find_model_variant("sparse"), pruned.model, {}).remarks.back();
  EXPECT_TRUE(remark.ends_with("; all are skipped")) << remark;
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3});
  const Model dense = builder.finish({builder.add(testing::random_linear(rng, 3, 2, 1), {x})});
  for (const std::string& remark : support_of(find_model_variant("conv_dense"), dense, {}).remarks)
    EXPECT_EQ(remark.find("are zero"), std::string::npos) << remark;
}

/// Nodes are verified on few images by the kernels that ran on many.
TEST(SparseLinear, IsChosenForTheImagesNamed) {
  testing::Rng rng(46);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 512});
  const Model model = builder.finish({builder.add(testing::random_linear(rng, 512, 256, 0.1), {x})});
  const auto remark = [&](Index batch, Index kernels_for) {
    return support_of(find_model_variant("sparse"), model, {.batch = batch, .kernels_for = kernels_for})
        .remarks.front();
  };
  EXPECT_NE(remark(64, 0).find("runs sparse"), std::string::npos);
  EXPECT_NE(remark(4, 0).find("runs dense"), std::string::npos);
  EXPECT_NE(remark(4, 64).find("runs sparse"), std::string::npos);
  const Tensor images = testing::random_tensor(rng, {4, 512});
  const auto logits = [&](Index batch, Index kernels_for, const char* variant) {
    const auto engine = make_engine(find_model_variant(variant), std::make_shared<Model>(model),
                                    {.batch = batch, .kernels_for = kernels_for});
    engine->load(images);
    for (Index node = 0; node < 1;) node = engine->advance(node, 1);
    return engine->output().values;
  };
  EXPECT_TRUE(std::ranges::equal(logits(4, 64, "sparse").span(), logits(64, 0, "sparse").span()));
  EXPECT_TRUE(std::ranges::equal(logits(4, 0, "sparse").span(), logits(4, 0, "conv_dense").span()));
  EXPECT_FALSE(std::ranges::equal(logits(4, 64, "sparse").span(), logits(4, 0, "conv_dense").span()));
}

TEST(SparseLinear, IsNoReasonToTakeTheVariantWhereItDoesNotPay) {
  if (without_onednn()) GTEST_SKIP() << "it pays without oneDNN";
  const testing::ModelCase small = testing::small_network(1, 0.9, 2);
  EXPECT_EQ(testing::report_of(ModelSpec{}, small.model, small.inputs[0]).variant, "conv_dense");
}

}  // namespace
}  // namespace spdnn
