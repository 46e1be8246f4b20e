#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/model_families.hpp"
#include "io/models/safetensors/reader.hpp"
#include "io/models/safetensors/writer.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/model_text.hpp"
#include "support/text_hash.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::ModelText;
using testing::text_hash;

std::string text_of(const ModelFamilyOptions& options) { return ModelText::of(generate_model(options), true); }

/// The weights of all layers that have some.
std::vector<CsrMatrix> layers_of(const Model& model) {
  std::vector<CsrMatrix> layers;
  for (const Node& node : model.nodes)
    if (const CsrMatrix* const weights = matrix_or_null(node.operation)) layers.push_back(*weights);
  return layers;
}

double density(const CsrMatrix& matrix) {
  return static_cast<double>(matrix.entries()) / (static_cast<double>(matrix.rows) * matrix.cols);
}

TEST(ModelFamilies, HaveTheLayersThatTheyAreKnownFor) {
  struct Known {
    const char* name;
    std::size_t layers;
    std::size_t weights;
    Shape output;
    std::uint64_t hash;
  };
  // The numbers of weights are those of torchvision's models, without biases and batch norms. The hash is of
  // everything: windows, strides, paddings, names, what reads what, and the few weights that are not zero.
  for (const Known& known : {Known{"resnet50", 54, 25502912, {kBatchExtent, 1000}, 4135131254286970973U},
                             Known{"mobilenet", 28, 4209088, {kBatchExtent, 1000}, 16055870766564775722U},
                             Known{"densenet", 121, 7894208, {kBatchExtent, 1000}, 12734141178436763342U},
                             Known{"vgg8", 8, 1735744, {kBatchExtent, 10}, 17673791958387689107U},
                             Known{"lenet5", 4, 430500, {kBatchExtent, 10}, 2534958163485275823U}}) {
    SCOPED_TRACE(known.name);
    const Model model = generate_model({.family = known.name, .sparsity = {0.9999}});
    EXPECT_EQ(text_hash(ModelText::of(model, true)), known.hash);
    model.validate();
    const std::vector<CsrMatrix> layers = layers_of(model);
    EXPECT_EQ(layers.size(), known.layers);
    std::size_t weights = 0;
    for (const CsrMatrix& layer : layers) weights += std::size_t{layer.rows} * layer.cols;
    EXPECT_EQ(weights, known.weights);
    EXPECT_EQ(model.values[model.outputs[0]].shape, known.output);
  }
  const Model small = generate_model({.family = "vgg16", .image = Shape{1, 32, 32}, .classes = 7});
  EXPECT_EQ(layers_of(small).size(), 16U);
  EXPECT_EQ(small.values[small.outputs[0]].shape, (Shape{kBatchExtent, 7}));
}

TEST(ModelFamilies, LayersAreAsSparseAsAskedFor) {
  const auto check = [](const std::vector<CsrMatrix>& layers, const std::vector<double>& zeros) {
    ASSERT_EQ(layers.size(), zeros.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const double weights = static_cast<double>(layers[i].rows) * layers[i].cols;
      EXPECT_EQ(layers[i].entries(), std::llround(weights * (1 - zeros[i]))) << i;
    }
  };
  check(layers_of(generate_model({.family = "lenet5", .sparsity = {0.95}})), {0, 0.95, 0.95, 0.95});
  check(layers_of(generate_model({.family = "lenet5", .sparsity = {0.3, 0.6, 0.98, 0}})), {0.3, 0.6, 0.98, 0});
  const std::vector<CsrMatrix> mobile = layers_of(generate_model({.family = "mobilenet", .image = Shape{3, 32, 32}}));
  for (std::size_t i = 0; i < mobile.size(); ++i)
    EXPECT_NEAR(density(mobile[i]), i == 0 || (i % 2 == 1 && i < 27) ? 1 : 0.1, 1e-3)
        << i;  // the odd ones are depthwise, the last is the classifier
}

TEST(ModelFamilies, RowsAreSkewedAsInRealNetworksOrAllTheSame) {
  for (const double sparsity : {0.5, 0.8, 0.95}) {
    PrunedMatrix wanted{.rows = 2000, .cols = 1000, .sparsity = sparsity};
    const CsrMatrix skewed = make_pruned_matrix(wanted);
    skewed.validate();
    const double mean = 1000 * (1 - sparsity);
    double squares = 0;
    Offset most = 0;
    for (Index row = 0; row < skewed.rows; ++row) {
      const auto columns = skewed.row(row);
      EXPECT_TRUE(std::is_sorted(columns.begin(), columns.end(), std::less_equal<>()));
      const auto count = static_cast<double>(columns.size());
      squares += (count - mean) * (count - mean);
      most = std::max<Offset>(most, columns.size());
    }
    EXPECT_NEAR(std::sqrt(squares / skewed.rows) / mean, 1.0 / 3, 0.02);
    EXPECT_LT(static_cast<double>(most), 2.1 * mean);
    EXPECT_GT(static_cast<double>(most), 1.7 * mean);
    wanted.law = RowLaw::uniform;
    const CsrMatrix uniform = make_pruned_matrix(wanted);
    for (Index row = 0; row < uniform.rows; ++row) EXPECT_EQ(uniform.degree(row), std::llround(mean));
  }
}

/// With few zeros it is these that are skewed, so that no row is full by force.
TEST(ModelFamilies, TheZerosOfRowsThatHaveFewAreSkewed) {
  const CsrMatrix matrix = make_pruned_matrix({.rows = 2000, .cols = 1000, .sparsity = 0.2});
  double squares = 0;
  for (Index row = 0; row < matrix.rows; ++row)
    squares += (static_cast<double>(matrix.degree(row)) - 800) * (static_cast<double>(matrix.degree(row)) - 800);
  EXPECT_NEAR(std::sqrt(squares / matrix.rows) / 200, 1.0 / 3, 0.02);
}

/// Every column has the same chance.
TEST(ModelFamilies, ColumnsAreDrawnUniformly) {
  const CsrMatrix matrix = make_pruned_matrix({.rows = 20000, .cols = 10, .sparsity = 0.7});
  std::vector<int> counts(10);
  for (const Index column : matrix.indices) ++counts[column];
  for (const int count : counts) EXPECT_NEAR(count, 6000, 250);
}

TEST(ModelFamilies, RowsNeverHoldMoreThanTheyHaveColumns) {
  for (const Index rows : {1U, 2U, 3U, 7U})
    for (const Index cols : {1U, 2U, 9U})
      for (const double sparsity : {0.0, 0.1, 0.49, 0.5, 0.6, 0.999})
        for (std::uint64_t seed = 0; seed < (sparsity == 0.5 ? 150U : 20U); ++seed) {
          const CsrMatrix matrix = make_pruned_matrix({.rows = rows, .cols = cols, .sparsity = sparsity, .seed = seed});
          ASSERT_NO_THROW(matrix.validate());
          const auto nonzeros = std::llround(static_cast<double>(rows) * cols * (1 - sparsity));
          ASSERT_EQ(matrix.entries(), std::max<std::uint64_t>(1, static_cast<std::uint64_t>(nonzeros)));
        }
}

TEST(ModelFamilies, SeedsChooseWhatIsMadeWhateverTheNumberOfThreads) {
  const ModelFamilyOptions options{.family = "random", .seed = 7};
  const std::string made = text_of(options);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(text_of(options), made);
  omp_set_num_threads(threads);
  EXPECT_NE(text_of({.family = "random", .seed = 8}), made);
  EXPECT_EQ(text_hash(made), 1379432737945478295U);
  EXPECT_EQ(text_hash(text_of({.family = "lenet5"})), 2527999834373592463U);
}

/// The operations of a convolutional network; rare functions are not among them.
TEST(ModelFamilies, RandomHasManyOperations) {
  std::set<std::size_t> operations;
  std::set<Activation::Kind> activations;
  std::set<Elementwise::Kind> elementwise;
  const Model model = generate_model({.family = "random"});
  for (const Node& node : model.nodes) {
    operations.insert(node.operation.index());
    if (const auto* one = std::get_if<Activation>(&node.operation)) activations.insert(one->kind);
    if (const auto* one = std::get_if<Elementwise>(&node.operation)) elementwise.insert(one->kind);
  }
  EXPECT_EQ(operations.size(), std::variant_size_v<Operation> - 2);
  EXPECT_EQ(activations.size(), 9U);
  EXPECT_EQ(elementwise.size(), 4U);
}

TEST(ModelFamilies, ActivationsNeitherVanishNorExplode) {
  for (const char* family : {"vgg16", "resnet50", "mobilenet", "densenet", "lenet5", "vgg8", "random"}) {
    SCOPED_TRACE(family);
    const bool small = std::string(family) == "lenet5" || std::string(family) == "vgg8";
    const Shape image = small ? Shape{1, 28, 28} : Shape{3, 32, 32};
    const Model model = generate_model({.family = family, .sparsity = {0.98}, .image = image, .classes = 10});
    const Bounded logits = evaluate(model, {generate_tensor({1, image[0], image[1], image[2]}, 1)})[0];
    const double largest = std::abs(*std::max_element(logits.values.begin(), logits.values.end(),
                                                      [](double a, double b) { return std::abs(a) < std::abs(b); }));
    EXPECT_GT(largest, 0.05);
    EXPECT_LT(largest, 100);
  }
}

TEST(ModelFamilies, AreReadAsTheyWereWritten) {
  const TemporaryDirectory directory;
  for (const char* family : {"lenet5", "random"}) {
    const Model model = generate_model({.family = family, .image = Shape{3, 64, 64}});
    const auto folder = directory / family;
    std::filesystem::create_directory(folder);
    write_safetensors(folder / "model.safetensors", model);
    EXPECT_TRUE(ModelText::of(read_safetensors(folder / "model.safetensors"), true) == ModelText::of(model, true))
        << family;
  }
}

TEST(ModelFamilies, WhatDoesNotFitIsRefused) {
  const auto refused = [](const ModelFamilyOptions& options, const std::string& message) {
    try {
      generate_model(options);
      ADD_FAILURE() << "expected: " << message;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, message.size()), message);
    }
  };
  refused({.family = "alexnet"},
          "family: 'alexnet' is not a family of models; expected one of vgg16, resnet50, mobilenet, ");
  refused({.family = "lenet5", .sparsity = {1}}, "sparsity: 1 is outside 0 to below 1");
  refused({.family = "lenet5", .sparsity = {0, -0.5}}, "sparsity: -0.5 is outside 0 to below 1");
  refused({.family = "lenet5", .sparsity = {0, 0, 0}},
          "sparsity: 3 numbers for the 4 layers of lenet5, expected one or 4");
  refused({.family = "lenet5", .image = Shape{1, 8, 8}}, "shape: images of N x 1 x 8 x 8 do not fit lenet5,");
  refused({.family = "lenet5", .image = Shape{28, 28}}, "shape: 28 x 28, expected channels, height and width");
  refused({.family = "lenet5", .image = Shape{0, 28, 28}}, "shape: 0 x 28 x 28, expected channels, height and width");
}

TEST(GeneratedTensors, AreUniformAndTheSameForASeed) {
  const Tensor tensor = generate_tensor({10, 3, 40, 50}, 5);
  EXPECT_EQ(tensor.values.size(), 60000U);
  double sum = 0;
  double squares = 0;
  for (const float value : tensor.values) {
    EXPECT_TRUE(value >= -1 && value < 1);
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 60000, 0, 0.01);
  EXPECT_NEAR(squares / 60000, 1.0 / 3, 0.01);
  const Tensor same = generate_tensor({10, 3, 40, 50}, 5);
  const Tensor other = generate_tensor({10, 3, 40, 50}, 6);
  EXPECT_TRUE(std::equal(tensor.values.begin(), tensor.values.end(), same.values.begin()));
  EXPECT_FALSE(std::equal(tensor.values.begin(), tensor.values.end(), other.values.begin()));
  EXPECT_THROW(generate_tensor({kMaxIndex, kMaxIndex, kMaxIndex, 8}, 1), UsageError);
}

}  // namespace
}  // namespace spdnn
