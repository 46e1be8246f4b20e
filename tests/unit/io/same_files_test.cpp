// Files of equal contents are equal, byte for byte, on every machine and with every version: checkpoints, digests and
// links to one file rely on it. A hash that has to change here means that a format has changed.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/generate.hpp"
#include "data/model_families.hpp"
#include "io/arrays/activations.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/models/onnx/proto.hpp"
#include "io/networks/directory/manifest.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/files.hpp"
#include "spdnn/weights.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "support/packed_samples.hpp"
#include "support/text_hash.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::text_hash;

class SameFiles : public ::testing::Test {
 protected:
  std::uint64_t file_hash(const char* name) const { return text_hash(text_of_file(directory_ / name)); }
  std::uint64_t packed_hash(const PackedParts& parts) const {
    write_packed(directory_ / "f.spdnn", parts);
    return file_hash("f.spdnn");
  }
  std::uint64_t images_hash(const ImageSet& images) const { return packed_hash({.images = &images}); }
  std::uint64_t layer_hash(CsrMatrix weights) const {
    const Network network{.layers = {{std::move(weights), {}}}};
    return packed_hash({.network = &network});
  }
  std::uint64_t model_hash(const char* name, const Model& model) const {
    write_model(directory_ / name, model);
    return file_hash(name);
  }

  TemporaryDirectory directory_;
};

TEST_F(SameFiles, PackedNetworksPlansAndImages) {
  const Network network = testing::stored_network();
  const ImageSet images = testing::small_images();
  const Plan plan = testing::small_merged_plan(network);
  EXPECT_EQ(packed_hash({.network = &network, .images = &images, .plan = &plan}), 11197322773122098198U);
  EXPECT_EQ(images_hash(testing::small_bits()), 11257252118330235868U);
  const FamilyOptions options{.neurons = 4096, .layers = 3, .seed = 5, .bias = -0.125};
  const Network blocks = generate_radixnet(options);
  EXPECT_EQ(packed_hash({.network = &blocks}), 7442244156937757274U);
  std::vector<std::vector<Index>> rows;
  for (Index row = 0; row < 20'000; ++row) rows.push_back({row % 64, 64});
  const ImageSet many{testing::matrix_of(65, rows)};
  EXPECT_EQ(images_hash(many), 8318799774330845161U) << "of several blocks";
  EXPECT_EQ(images_hash({many.to_bits()}), 18236433418263262666U) << "of several blocks";
}

TEST_F(SameFiles, PackedValuesAndColumnsOfEachWidth) {
  EXPECT_EQ(layer_hash(testing::row_of_values(300, 1)), 8847799964372839969U);
  EXPECT_EQ(layer_hash(testing::row_of_values(1000, 200)), 2068876708167101795U);
  EXPECT_EQ(layer_hash(testing::row_of_values(3000, 300)), 15980082623462980833U);
  EXPECT_EQ(layer_hash(testing::row_of_values(70000, 70000)), 8913410204041494574U);
}

TEST_F(SameFiles, DigestsOfImages) {
  EXPECT_EQ(image_digest(testing::small_bits()), 12976346071036589470U);
  EXPECT_EQ(combine_image_hashes(hashes_with_values(testing::small_images()), 5, 3), 5243958645030111983U);
}

/// Linear nodes whose weights have each pattern and type.
Model model_of_each_type() {
  testing::ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 8});
  std::vector<std::vector<std::pair<Index, float>>> rows(8);
  for (Index row = 0; row < 8; ++row)
    for (const Index column : {row / 2, 4 + row % 4})
      rows[row].emplace_back(column, static_cast<float>(1 + (row * 3 + column) % 5) * (column % 2 == 0 ? 1.F : -1.F));
  const CsrMatrix matrix = testing::make_matrix(8, rows);
  for (const Pattern pattern : {Pattern::dense, Pattern::csr, Pattern::two_of_four})
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16, DataType::i8}) {
      TypedMatrix typed = typed_matrix(matrix, pattern, type);
      if (type == DataType::i8) typed.values.scales = {0.5F, 1, 2, 3, 4, 5, 6, 7};
      x = builder.add(
          Linear{Weights(type == DataType::f32 ? with_palette(typed) : typed), std::vector<float>(8, 0.25F)}, {x});
    }
  rows.assign(40, {});
  for (Index row = 0; row < 40; ++row)
    for (Index column = 0; column < 8; ++column)
      rows[row].emplace_back(column, static_cast<float>(1 + 8 * row + column));
  const TypedMatrix many = with_palette(typed_matrix(testing::make_matrix(8, rows), Pattern::csr, DataType::f32));
  EXPECT_EQ(many.values.code_bits, 16);
  return builder.finish({builder.add(Linear{Weights(many), {}}, {x})});
}

TEST_F(SameFiles, PackedModels) {
  EXPECT_EQ(model_hash("random.spdnn", generate_model({.family = "random", .seed = 3})), 1466285732159626838U);
  EXPECT_EQ(model_hash("lenet5.spdnn", generate_model({.family = "lenet5"})), 5935904141777939564U);
  EXPECT_EQ(model_hash("typed.spdnn", model_of_each_type()), 16612366836104155205U);
  EXPECT_TRUE(testing::ModelText::of(read_model(directory_ / "typed.spdnn"), false) ==
              testing::ModelText::of(model_of_each_type(), false));
}

TEST_F(SameFiles, SafetensorsAndTheirArchitecture) {
  EXPECT_EQ(model_hash("random.safetensors", generate_model({.family = "random", .seed = 3})), 15549907768328693715U);
  EXPECT_EQ(file_hash("architecture.json"), 15515270532258176091U);
}

TEST_F(SameFiles, OnnxButForTheVersionOfTheWriter) {
  const auto hash = [&](const Model& model) {
    write_model(directory_ / "net.onnx", model);
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(text_of_file(directory_ / "net.onnx")));
    proto.clear_producer_version();
    return text_hash(proto.SerializeAsString());
  };
  EXPECT_EQ(hash(generate_model({.family = "random", .seed = 3})), 3333058632028593698U);
  EXPECT_EQ(hash(model_of_each_type()), 12061036179203287843U);
}

TEST_F(SameFiles, TextNetworksAndArrays) {
  const Network network = testing::stored_network();
  write_network(directory_ / "net", Form::tsv, network);
  EXPECT_EQ(file_hash("net/n3-l2.tsv"), 1055383888195883111U);
  EXPECT_EQ(file_hash("net/n3-l2-bias.tsv"), 10592522970300657476U);
  EXPECT_EQ(text_hash(text_of_file(directory_ / "net" / kManifestName)), 5982064275720146975U);
  write_network(directory_ / "mtx", Form::matrix_market, network);
  EXPECT_EQ(file_hash("mtx/n3-l1.mtx"), 14199477600781636958U);
  EXPECT_EQ(file_hash("mtx/n3-l2.mtx"), 11618919551005478031U);
  write_images(directory_ / "sparse-images-65.tsv", testing::small_bits());
  EXPECT_EQ(file_hash("sparse-images-65.tsv"), 15538444535056716989U);
  AtomicFile file(directory_ / "a.npy");
  write_activations(file, network.layers[1].weights, OutputForm::npy);
  file.commit();
  EXPECT_EQ(file_hash("a.npy"), 16359756040061290670U);
}

}  // namespace
}  // namespace spdnn
