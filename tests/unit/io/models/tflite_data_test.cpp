// MediaPipe's pruned face detector and its dense twin: see data/cnn beside the repository.

#include <chrono>
#include <fstream>
#include <iterator>

#include "model/oracle/evaluate.hpp"
#include "support/hostile_files.hpp"
#include "support/models.hpp"
#include "support/shared_data.hpp"
#include "support/tflite_file.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using spdnn::testing::Rng;

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Model read_text(const std::string& text) {
  return read_tflite(InputFile("net.tflite", std::as_bytes(std::span(text))));
}

struct Layers {
  std::size_t pointwise = 0;
  std::size_t at_70 = 0;
  Offset weights = 0;
  Offset non_zeros = 0;
};

Layers layers_of(const Model& model) {
  Layers layers;
  for (const Node& node : model.nodes) {
    const auto* convolution = std::get_if<Convolution>(&node.operation);
    if (convolution == nullptr || convolution->window.kernel != std::array<Index, 2>{1, 1}) continue;
    const CsrMatrix& w = convolution->weights;
    const Offset all = Offset{w.rows} * w.cols;
    const double sparsity = 1 - static_cast<double>(w.entries()) / static_cast<double>(all);
    ++layers.pointwise;
    if (sparsity < 0.695 || sparsity > 0.705) continue;
    ++layers.at_70;
    layers.weights += all;
    layers.non_zeros += w.entries();
  }
  return layers;
}

/// The file with its sparse tensors (CSR over the last axis) made dense.
std::string densified(const std::string& text) {
  tflite::ModelT model;
  tflite::GetModel(text.data())->UnPackTo(&model);
  for (const auto& tensor : model.subgraphs[0]->tensors) {
    if (!tensor->sparsity) continue;
    const auto& last = *tensor->sparsity->dim_metadata.back();
    const auto numbers = [](const tflite::SparseIndexVectorUnion& list) {
      if (const auto* bytes = list.AsUint8Vector()) return std::vector<int>(bytes->values.begin(), bytes->values.end());
      if (const auto* shorts = list.AsUint16Vector())
        return std::vector<int>(shorts->values.begin(), shorts->values.end());
      return std::vector<int>(list.AsInt32Vector()->values.begin(), list.AsInt32Vector()->values.end());
    };
    const std::vector<int> segments = numbers(last.array_segments);
    const std::vector<int> indices = numbers(last.array_indices);
    const auto length = static_cast<std::size_t>(tensor->shape.back());
    std::vector<std::uint8_t>& data = model.buffers[tensor->buffer]->data;
    const std::vector<std::uint8_t> stored = std::move(data);
    data.assign((segments.size() - 1) * length * 2, 0);
    for (std::size_t row = 0; row + 1 < segments.size(); ++row)
      for (int i = segments[row]; i < segments[row + 1]; ++i)
        std::memcpy(&data[(row * length + static_cast<std::size_t>(indices[i])) * 2], &stored[2 * i], 2);
    tensor->sparsity.reset();
  }
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Tensor random_input(const Model& model) {
  Rng rng(1);
  return testing::random_tensor(rng, model.values[model.inputs[0]].shape);
}

void expect_equal_matrices(const CsrMatrix& a, const CsrMatrix& b) {
  EXPECT_TRUE(std::equal(a.offsets.begin(), a.offsets.end(), b.offsets.begin(), b.offsets.end()));
  EXPECT_TRUE(std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end()));
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
}

TEST(Tflite, AFileThatIsWrittenToWhileItIsReadIsRefused) {
  const TemporaryDirectory directory;
  const auto path = directory / "net.tflite";
  tflite_test::File made;
  made.output(made.add(tflite_test::Code::RELU, {made.input({1, 3})}, {1, 3}));
  std::ofstream(path, std::ios::binary) << made.bytes();
  const InputFile file(path);
  EXPECT_NO_THROW(read_tflite(file));
  last_write_time(path, last_write_time(path) + std::chrono::seconds(2));
  expect_refused(path, "changed while it was being read: it was written to", [&] { read_tflite(file); });
}

TEST(TfliteData, ASparseFileIsItsDenseSelf) {
  const auto path = shared_data("cnn/face_detection_full_range_sparse.tflite");
  if (!exists(path)) GTEST_SKIP() << path << " is not there";
  const Model sparse = read_tflite(path);
  const Layers layers = layers_of(sparse);
  std::cout << layers.at_70 << " of " << layers.pointwise << " pointwise layers at "
            << 100 * (1 - static_cast<double>(layers.non_zeros) / static_cast<double>(layers.weights)) << " %\n";
  EXPECT_EQ(layers.at_70, 46U);

  const Model dense = read_text(densified(file_text(path)));
  ASSERT_EQ(dense.nodes.size(), sparse.nodes.size());
  for (std::size_t n = 0; n < sparse.nodes.size(); ++n)
    if (const auto* convolution = std::get_if<Convolution>(&sparse.nodes[n].operation))
      expect_equal_matrices(convolution->weights, std::get<Convolution>(dense.nodes[n].operation).weights);
  const Tensor x = random_input(sparse);
  const std::vector<Bounded> of_sparse = evaluate(sparse, {x});
  const std::vector<Bounded> of_dense = evaluate(dense, {x});
  ASSERT_EQ(of_sparse.size(), 2U);
  for (std::size_t i = 0; i < of_sparse.size(); ++i) {
    EXPECT_EQ(of_sparse[i].values, of_dense[i].values);
    EXPECT_TRUE(std::any_of(of_sparse[i].values.begin(), of_sparse[i].values.end(), [](double y) { return y != 0; }));
  }
}

TEST(TfliteData, TheDetectorThatIsNotPrunedIsRead) {
  const auto path = shared_data("cnn/face_detection_full_range.tflite");
  if (!exists(path)) GTEST_SKIP() << path << " is not there";
  const Model model = read_tflite(path);
  EXPECT_EQ(layers_of(model).at_70, 0U);
  const std::vector<Bounded> outputs = evaluate(model, {random_input(model)});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].shape, (Shape{1, 2304, 16}));
  EXPECT_EQ(outputs[1].shape, (Shape{1, 2304, 1}));
  // A batch of another size, where the file's reshapes say 1.
  const Model open = read_tflite(path, Shape{kBatchExtent, 3, 192, 192});
  EXPECT_EQ(open.values[open.outputs[0]].shape, (Shape{kBatchExtent, 2304, 16}));
}

}  // namespace
}  // namespace spdnn
