#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/networks/directory/layer_names.hpp"
#include "io/networks/text/sink.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "spdnn/files.hpp"
#include "support/matrix_builder.hpp"
#include "support/message_of.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::contents;
using test::error_of;
using test::list;
using test::same;
using test::Scratch;
using test::write;

CsrMatrix matrix(Index rows, Index cols, std::vector<Offset> offsets, std::vector<Index> indices,
                 std::vector<float> values, float value = 1.0F) {
  CsrMatrix m;
  m.rows = rows;
  m.cols = cols;
  m.offsets = Array<Offset>(std::move(offsets));
  m.indices = Array<Index>(std::move(indices));
  if (!values.empty()) m.values = Array<float>(std::move(values));
  m.value = value;
  return m;
}

/// A network of 3 inputs, 2 neurons and 4 outputs.
Network two_layers() {
  Network network;
  network.layers.push_back({matrix(2, 3, {0, 2, 3}, {0, 2, 1}, {}, 0.0625F), {}});
  network.layers.push_back({matrix(4, 2, {0, 1, 1, 3, 3}, {1, 0, 1}, {0.1F, -1.5F, 0.123456789F}), {}});
  return network;
}

CsrMatrix random_matrix(Index rows, Index cols, std::mt19937_64& random) {
  MatrixBuilder builder(cols);
  for (Index row = 0; row < rows; ++row) {
    for (Index col = static_cast<Index>(random() % 3); col < cols; col += 1 + static_cast<Index>(random() % 5))
      builder.add(col, std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0xBFFFFFFF)));  // any below 2
    builder.end_row();
  }
  return builder.valued();
}

TEST(AnyForm, IsThatOfTheEndingOrRefusedWithWhatTheFileIsFor) {
  for (const auto& [name, form] : {std::pair{"a.tsv", Form::tsv},
                                   {"a.tsv.gz", Form::tsv_gz},
                                   {"x.onnx/a.mtx", Form::matrix_market},
                                   {"a.mtx.gz", Form::matrix_market},
                                   {"a.tsv.spdnn", Form::packed}})
    EXPECT_EQ(form_of(name), form) << name;
  const std::string expected = ": unknown format, expected a name that ends in .tsv, .tsv.gz, .mtx or .spdnn";
  for (const auto& [names, hint] :
       {std::pair<std::vector<std::string>, std::string>{{"m.onnx", "m.tflite", "m.safetensors"},
                                                         "; a model is given as --model"},
        {{"x.npy", "x.npz"}, "; arrays are inputs of models, given with --model"},
        {{"train-images-idx3-ubyte", "t10k-images.idx3-ubyte.gz"}, "; --mnist makes inputs from MNIST's images"},
        {{"a.gz", "a", "a.csv", "idx/a"}, ""}})
    for (const std::string& name : names)
      EXPECT_EQ(testing::message_of<DataError>([&] { form_of(name); }),
                std::string(name).append(expected).append(hint));
}

TEST(TsvWriter, LayersAreWrittenAsTheOfficialOnes) {
  const Scratch scratch;
  write_tsv_layer(scratch / "l.tsv", two_layers().layers[0].weights);
  EXPECT_EQ(contents(scratch / "l.tsv"), "1\t1\t6.250000e-02\n3\t1\t6.250000e-02\n2\t2\t6.250000e-02\n");
  write_tsv_layer(scratch / "l.tsv", two_layers().layers[1].weights);
  EXPECT_EQ(contents(scratch / "l.tsv"), "2\t1\t1.000000e-01\n1\t3\t-1.500000e+00\n2\t3\t0.12345679\n");
}

TEST(TsvWriter, ImagesAreSortedByNeuronThenImage) {
  const Scratch scratch;
  const CsrMatrix rows = matrix(3, 70, {0, 2, 3, 5}, {0, 69, 0, 0, 65}, {});
  const std::string expected = "1\t1\t1\n2\t1\t1\n3\t1\t1\n3\t66\t1\n1\t70\t1\n";
  for (const ImageSet& set : {ImageSet{rows}, ImageSet{ImageSet{rows}.to_bits()}}) {
    write_images(scratch / "sparse-images-70.tsv", set);
    EXPECT_EQ(contents(scratch / "sparse-images-70.tsv"), expected);
  }
  write_images(scratch / "v.tsv", ImageSet{matrix(2, 2, {0, 1, 2}, {1, 0}, {0.1F, 3.0F})});
  EXPECT_EQ(contents(scratch / "v.tsv"), "2\t1\t3\n1\t2\t0.1\n");
}

TEST(TsvWriter, CategoriesAreOneIdALine) {
  const Scratch scratch;
  write_categories(scratch / "c.tsv", {0, 41});
  EXPECT_EQ(contents(scratch / "c.tsv"), "1\n42\n");
  for (const Categories& categories : {Categories{}, Categories{3, 7}}) {
    write_categories(scratch / "c.tsv.gz", categories);
    EXPECT_EQ(read_categories(scratch / "c.tsv.gz"), categories);
  }
}

TEST(TsvWriter, ValuesComeBackBitForBit) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::strtof(weight_text(value).c_str(), nullptr), value);
    EXPECT_EQ(std::strtof(value_text(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(weight_text(0.0625F), "6.250000e-02");
  EXPECT_EQ(value_text(1.0F), "1");
}

TEST(TextSource, RoundsEndAtLines) {
  const std::string text = "one\ntwo\nthree\n\nfour";
  for (std::size_t bytes = 1; bytes < 25; ++bytes) {
    TextSource source("t", text);
    std::string back;
    for (std::string_view round = source.next(bytes); !round.empty(); round = source.next(bytes)) {
      EXPECT_TRUE(round.back() == '\n' || back.size() + round.size() == text.size());
      back += round;
    }
    EXPECT_EQ(back, text);
  }
}

TEST(Network, ComesBackFromEveryForm) {
  std::mt19937_64 random(9);
  Network network = two_layers();
  network.layers.push_back({random_matrix(3000, 4, random), {}});
  network.layers.push_back({random_matrix(5, 3000, random), {}});
  network.layers.push_back({matrix(2, 5, {0, 0, 0}, {}, {}), {}});  // no edge at all
  network.layers[1].bias.values = Array<double>({0.1, -0.2, 0.3, 1e-17});
  for (const Form form : {Form::tsv, Form::tsv_gz, Form::matrix_market}) {
    const Scratch scratch;
    write_network(scratch / "net", form, network);
    const NetworkFile back = read_network(scratch / "net", {.neurons = {3, 2, 4, 3000, 5, 2}});
    ASSERT_EQ(back.network.layers.size(), network.layers.size());
    for (std::size_t k = 0; k < network.layers.size(); ++k)
      EXPECT_TRUE(same(back.network.layers[k].weights, network.layers[k].weights)) << k;
    EXPECT_TRUE(back.has_bias);
    EXPECT_EQ(list(back.network.layers[1].bias.values), list(network.layers[1].bias.values));
    if (form == Form::matrix_market) {
      EXPECT_EQ(read_network(scratch / "net", {}).network.outputs(), 2U);
    }
  }
}

TEST(Network, EdgesOfLayersThatWaitInFilesAreEstimated) {
  std::mt19937_64 random(9);
  Network network;
  network.layers.push_back({random_matrix(200, 300, random), {}});
  network.layers.push_back({random_matrix(40, 200, random), {}});
  for (const auto& [form, factor] :
       {std::pair{Form::tsv, 2U}, {Form::tsv_gz, 5U}}) {  // how well they are compressed varies
    const Scratch scratch;
    write_network(scratch / "net", form, network);
    const auto files = open_layer_files(scratch / "net", {.neurons = {300, 200, 40}});
    for (std::size_t k = 0; k < network.layers.size(); ++k) {
      const Offset edges = network.layers[k].weights.entries();
      const Offset estimate = files->layers->shapes().at(k).edges;
      EXPECT_GT(factor * estimate, edges) << k;
      EXPECT_LT(estimate, factor * edges) << k;
    }
  }
}

TEST(Network, ASingleBiasIsAParameterAndNoFile) {
  const Scratch scratch;
  Network network = two_layers();
  for (Layer& layer : network.layers) layer.bias.uniform = -0.3;
  write_network(scratch / "net", Form::tsv, network);
  EXPECT_FALSE(read_network(scratch / "net", {.neurons = {3, 2, 4}}).has_bias);
}

TEST(Network, FirstLayersAndSingleFiles) {
  const Scratch scratch;
  for (int k = 1; k <= 3; ++k) write(scratch / fmt::format("n4-l{}.tsv", k), fmt::format("{}\t1\t1\n", k));
  write(scratch / "README", "not a layer");
  EXPECT_EQ(read_network(scratch.path(), {}).network.layers.size(), 3U);
  EXPECT_FALSE(read_network(scratch.path(), {}).has_bias);
  for (int k = 2; k <= 3; ++k) write(scratch / fmt::format("n4-l{}-bias.tsv", k), "1\t1\n2\t2\n3\t3\n4\t4\n");
  EXPECT_FALSE(read_network(scratch.path(), {.layers = 1}).has_bias);
  write(scratch / "n4-l1-bias.tsv", "1\t1\n2\t2\n3\t3\n4\t4\n");
  EXPECT_TRUE(read_network(scratch.path(), {}).has_bias);
  EXPECT_EQ(read_network(scratch.path(), {.neurons = {4}, .layers = 2}).network.layers.size(), 2U);
  const NetworkFile one = read_network(scratch / "n4-l2.tsv", {});
  ASSERT_EQ(one.network.layers.size(), 1U);
  EXPECT_EQ(one.network.layers[0].weights.indices[0], 1U);
  EXPECT_EQ(one.network.layers[0].bias[3], 4.0);
  write(scratch / "w.tsv", "4\t4\t1\n");
  EXPECT_EQ(read_network(scratch / "w.tsv", {.neurons = {4}}).network.inputs(), 4U);
  write(scratch / "n8-l1.tsv", "1\t1\t1\n");
  EXPECT_EQ(read_network(scratch.path(), {.neurons = {8}}).network.inputs(), 8U);
}

/// The error of reading a directory of such files, without the name of the directory.
std::string directory_error(const std::vector<std::string>& names, const NetworkRequest& request) {
  const Scratch scratch;
  for (const std::string& name : names) write(scratch / name, "1\t1\t1\n");
  std::string error = error_of([&] { read_network(scratch.path(), request); });
  const std::string path = scratch.path().string();
  for (std::size_t at = error.find(path); at != std::string::npos; at = error.find(path))
    error.replace(at, path.size(), "D");
  return error;
}

TEST(Network, DirectoriesThatAreNoNetworkAreNamed) {
  EXPECT_EQ(directory_error({}, {}), "D: no layers, expected files n<neurons>-l<layer>.tsv, .tsv.gz or .mtx");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l3.tsv"}, {}), "D/n4-l2.tsv: no such file, expected layers 1..3");
  EXPECT_EQ(directory_error({"n4-l1.tsv"}, {.layers = 2}), "D/n4-l2.tsv: no such file, expected layers 1..2");
  EXPECT_EQ(directory_error({"n4-l2.tsv"}, {}), "D/n4-l1.tsv: no such file, expected layers 1..2");
  EXPECT_EQ(directory_error({"n4-l0.tsv"}, {}), "D/n4-l0.tsv: layer number 0, expected 1 or more");
  EXPECT_EQ(directory_error({"n4-l1.tsv"}, {.neurons = {8}}), "D: the layers are for 4 neurons, expected 8");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n8-l1.tsv"}, {}),
            "D: holds layers for 4 and for 8 neurons, expected one network, or an explicit number");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n8-l1.tsv"}, {.neurons = {8}}), "no error");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n8-l1-bias.tsv", "n2-l1-bias.mtx"}, {}), "no error");
  EXPECT_EQ(directory_error({"n4-l1-bias.tsv"}, {}),
            "D: no layers, expected files n<neurons>-l<layer>.tsv, .tsv.gz or .mtx");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l1.mtx"}, {}),
            "D/n4-l1.tsv: the same layer as n4-l1.mtx, expected one file per layer");
  EXPECT_EQ(directory_error({"n4-l1.tsv"}, {.neurons = {4, 4, 4}}),
            "D: holds 1 layer, expected 2: 3 numbers of neurons were given");
}

TEST(Network, ALostBiasFileIsNamed) {
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l2.tsv", "n4-l2-bias.tsv"}, {}),
            "D/n4-l1-bias.tsv: no such file, expected biases of layers 1..2, as there are those of layer 2");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l2.tsv", "n4-l1-bias.tsv"}, {.layers = 2}),
            "D/n4-l2-bias.tsv: no such file, expected biases of layers 1..2, as there are those of layer 1");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l3-bias.tsv"}, {}),
            "D/n4-l3-bias.tsv: biases without a layer, expected those of layers 1..1");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l3-bias.tsv"}, {.layers = 1}), "no error");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l1-bias.mtx"}, {}),
            "D/n4-l1-bias.mtx: biases in an unsupported format, expected .tsv or .tsv.gz");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l2-bias.mtx"}, {.layers = 1}), "no error");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "n4-l1-bias.tsv.orig", "n4-l1-bias.tsv~"}, {}), "no error");
}

TEST(Network, ALayerWhoseNameIsNotInLowerCaseIsNamed) {
  const auto error = [](const std::string& name, const std::string& expected) {
    return fmt::format("D/{}: a layer under a name that is not in lower case, expected {}", name, expected);
  };
  for (const auto& [name, expected] :
       std::vector<std::pair<std::string, std::string>>{{"N4-L2.TSV", "n4-l2.tsv"},
                                                        {"n4-l2.TSV.gz", "n4-l2.tsv.gz"},
                                                        {"n4-L2.mtx", "n4-l2.mtx"},
                                                        {"N4-L1-BIAS.tsv", "n4-l1-bias.tsv"}})
    EXPECT_EQ(directory_error({"n4-l1.tsv", name}, {}), error(name, expected));
  EXPECT_EQ(directory_error({"n4-l1.tsv", "N4-L1-BIAS.MTX"}, {}),
            "D/N4-L1-BIAS.MTX: biases in an unsupported format, expected .tsv or .tsv.gz");
  EXPECT_EQ(directory_error({"n4-l1.tsv", "N4-L2.TSV.orig", "NOTES.TSV"}, {}), "no error");
}

TEST(Network, AForeignLayerInTheDirectoryStopsTheWriter) {
  for (const char* const name : {"n3-l3.tsv", "N3-L3.TSV"}) {
    const Scratch scratch;
    write(scratch / name, "1\t1\t1\n");
    EXPECT_EQ(error_of([&] { write_network(scratch.path(), Form::tsv, two_layers()); }),
              (scratch / name).string() +
                  ": is not part of the network to be written there, expected a directory without it");
    EXPECT_FALSE(exists(scratch / "n3-l1.tsv"));
  }
  const Scratch scratch;
  write(scratch / "README", "may stay");
  write(scratch / "n3-l1.tsv", "is written anew");
  write_network(scratch.path(), Form::tsv, two_layers());
  EXPECT_EQ(read_network(scratch.path(), {.neurons = {3, 2, 4}}).network.edges(), 6U);
}

TEST(Network, NothingIsLeftWhereADirectoryCannotBe) {
  const Scratch scratch;
  write(scratch / "file", "");
  EXPECT_EQ(error_of([&] { write_network(scratch / "file", Form::tsv, two_layers()); }),
            (scratch / "file").string() + ": cannot write: it is a file, expected a directory or a new name");
  EXPECT_EQ(error_of([&] { write_network(scratch / "no/such", Form::tsv, two_layers()); }),
            (scratch / "no/such").string() + ": cannot write: No such file or directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

TEST(Network, AFileOfBiasesIsNoLayer) {
  const Scratch scratch;
  write(scratch / "n4-l1-bias.tsv", "1\t1\n2\t1\n3\t1\n4\t1\n");
  EXPECT_EQ(error_of([&] { read_network(scratch / "n4-l1-bias.tsv", {}); }),
            (scratch / "n4-l1-bias.tsv").string() + ": holds biases, expected a layer");
}

TEST(Images, NameTellsTheNeurons) {
  const Scratch scratch;
  write(scratch / "sparse-images-4.tsv", "1\t4\t1\n");
  write(scratch / "images.tsv", "1\t4\t1\n");
  EXPECT_EQ(read_images(scratch / "sparse-images-4.tsv", {}, {}).neurons(), 4U);
  EXPECT_EQ(read_images(scratch / "images.tsv", 5, 3).neurons(), 5U);
  EXPECT_EQ(error_of([&] { read_images(scratch / "sparse-images-4.tsv", 5, {}); }),
            (scratch / "sparse-images-4.tsv").string() + ": the images are for 4 neurons, expected 5");
  for (const char* const name :
       {"images.tsv", "sparse-images-4x.tsv", "sparse-images-.tsv", "sparse-images-0.tsv", "my-sparse-images-4.tsv"}) {
    write(scratch / name, "1\t4\t1\n");
    EXPECT_EQ(error_of([&] { read_images(scratch / name, {}, {}); }),
              (scratch / name).string() +
                  ": the name lacks the number of neurons, expected "
                  "sparse-images-<neurons>.tsv, or an explicit number");
  }
  EXPECT_EQ(error_of([&] { read_network(scratch / "images.tsv", {}); }),
            (scratch / "images.tsv").string() +
                ": the name lacks the number of neurons, expected n<neurons>-l<layer>.tsv, or an explicit number");
}

TEST(Images, ThatAreNotSoundAreNotWritten) {
  const Scratch scratch;
  for (const char* const name : {"i.tsv", "i.tsv.gz", "i.mtx", "i.spdnn"}) {
    const CsrMatrix outside = matrix(2, 3, {0, 1, 2}, {0, 3}, {1, 2});
    const CsrMatrix infinite = matrix(2, 3, {0, 1, 2}, {0, 2}, {1, std::numeric_limits<float>::infinity()});
    for (const CsrMatrix& images : {outside, infinite})
      EXPECT_EQ(error_of([&] {
                  write_images(scratch / name, {images});
                }).find((scratch / name).string() + ": cannot write: "),
                0U);
    EXPECT_FALSE(exists(scratch / name));
    write_images(scratch / name, {matrix(2, 3, {0, 1, 2}, {0, 2}, {1, 2})});
    EXPECT_EQ(read_images(scratch / name, 3, {}).nonzeros(), 2U);
  }
}

TEST(Network, ThatIsNotSoundIsNotWritten) {
  const Scratch scratch;
  Network network;
  network.layers.push_back({matrix(2, 2, {0, 1, 2}, {0, 2}, {1, 2}), {}});
  for (const Form form : {Form::tsv, Form::tsv_gz, Form::matrix_market, Form::packed}) {
    const std::filesystem::path path = scratch / (form == Form::packed ? "n.spdnn" : "n");
    EXPECT_EQ(error_of([&] { write_network(path, form, network); }).find(path.string() + ": cannot write: "), 0U);
    EXPECT_FALSE(exists(path));
  }
}

TEST(Form, FollowsFromTheName) {
  EXPECT_EQ(form_of("a/n4-l1.tsv"), Form::tsv);
  EXPECT_EQ(form_of("a.tsv.gz"), Form::tsv_gz);
  EXPECT_EQ(form_of("a.mtx"), Form::matrix_market);
  EXPECT_EQ(form_of("a.spdnn"), Form::packed);
  EXPECT_EQ(error_of([] { form_of("a.csv"); }),
            "a.csv: unknown format, expected a name that ends in .tsv, .tsv.gz, .mtx or .spdnn");
}

}  // namespace
}  // namespace spdnn
