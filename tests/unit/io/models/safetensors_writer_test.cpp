#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <thread>

#include "core/text/json_text.hpp"
#include "io/models/safetensors/reader.hpp"
#include "io/models/safetensors/writer.hpp"
#include "support/hostile_files.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;
using testing::ModelText;

class WrittenSafetensors : public ::testing::Test {
 protected:
  Model again(const Model& model) const {
    const auto path = directory_ / "model.safetensors";
    write_safetensors(path, model);
    return read_safetensors(path);
  }

  TemporaryDirectory directory_;
};

TEST_F(WrittenSafetensors, NamesBecomeTheNodesOwn) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  ValueId y = x;
  for (int i = 0; i < 5; ++i) y = builder.add(Activation{}, {y});
  Model model = builder.finish({y});
  model.name = "five \"lines\"";
  const std::vector<std::string> names{"a", "a", "input", "", "a_2"};
  for (std::size_t n = 0; n < names.size(); ++n) model.nodes[n].name = names[n];
  const Model read = again(model);
  EXPECT_EQ(read.name, model.name);
  std::vector<std::string> found;
  for (const Node& node : read.nodes) found.push_back(node.name);
  EXPECT_EQ(found, (std::vector<std::string>{"a", "a_2", "input_2", "value4", "a_2_2"}));
  EXPECT_EQ(ModelText::of(again(read), true), ModelText::of(read, true));
}

TEST_F(WrittenSafetensors, NodesAndTheFileMayHaveAnyName) {
  Model model = testing::small_network(1, 0.3).model;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) model.nodes[n].name = fmt::format("a \"node\"\\\n{}", n);
  const auto path = directory_ / "caf\xe9 \"1\".safetensors";
  for (const float shift : {1.F, 2.F}) {
    std::get<BatchNorm>(model.nodes[1].operation).shift[0] += shift;
    write_safetensors(path, model);
    EXPECT_EQ(ModelText::of(read_safetensors(path), false), ModelText::of(model, false));
  }
  EXPECT_EQ(read_safetensors(path).nodes[1].name, model.nodes[1].name);
  std::get<BatchNorm>(model.nodes[1].operation).shift[0] += 1;
  expect_refused(directory_ / "architecture.json", "belongs to another model",
                 [&] { write_safetensors(directory_ / "cafe.safetensors", model); });
}

TEST_F(WrittenSafetensors, NumbersBeginAtAMultipleOfEightBytes) {
  for (std::size_t length = 1; length <= 9; ++length) {
    ModelBuilder builder;
    Model model = builder.finish({builder.add(BatchNorm{{1}, {0}, {0}, {1}, 0}, {builder.input({kBatchExtent, 1})})});
    model.nodes[0].name = std::string(length, 'n');
    again(model);
    std::ifstream file(directory_ / "model.safetensors", std::ios::binary);
    std::uint64_t header = 0;
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    EXPECT_EQ(header % 8, 0U) << length;
  }
}

TEST_F(WrittenSafetensors, ARowMayBeLongerThanWhatIsWrittenAtATime) {
  constexpr Index kInputs = (1U << 20U) + 1;
  const Linear rows{testing::make_matrix(kInputs, {{{0, 1.F}}, {{kInputs - 1, 2.F}}}), {}};
  ModelBuilder builder;
  const Model model = builder.finish({builder.add(rows, {builder.input({kBatchExtent, kInputs})})});
  EXPECT_EQ(ModelText::of(again(model), false), ModelText::of(model, false));
}

/// If the time were that of the square of their number, this test would take minutes.
TEST_F(WrittenSafetensors, ManyNodesMayHaveOneName) {
  const std::size_t count = testing::sampled(2'000U, 8'000U);
  ModelBuilder builder;
  ValueId y = builder.input({kBatchExtent, 1});
  for (std::size_t n = 0; n < count; ++n) y = builder.add(BatchNorm{{1}, {0}, {0}, {1}, 0}, {y});
  Model model = builder.finish({y});
  for (Node& node : model.nodes) node.name = "norm";
  const Model read = again(model);
  ASSERT_EQ(read.nodes.size(), count);
  EXPECT_EQ(read.nodes.front().name, "norm");
  EXPECT_EQ(read.nodes.back().name, "norm_" + std::to_string(count));
}

TEST_F(WrittenSafetensors, WhatTheFormatLacksIsRefusedByName) {
  const auto path = directory_ / "model.safetensors";
  const auto refused = [&](Model model, std::string_view part) {
    model.name = "net";
    expect_refused(path, part, [&] { write_safetensors(path, model); });
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << part;
  };
  const Model sound = testing::small_network(1, 0.3).model;
  Model two = sound;
  two.inputs.push_back(0);
  refused(two, "cannot hold the model 'net': it has 2 inputs, expected one");
  ModelBuilder flat;
  const ValueId numbers = flat.input({kBatchExtent});
  refused(flat.finish({flat.add(Activation{}, {numbers})}), "its input has the shape N, expected 2 to 4 axes");
  ModelBuilder deep;
  const ValueId x = deep.input({kBatchExtent, 1, 1, 1, 1});
  refused(deep.finish({deep.add(Activation{}, {x})}),
          "its input has the shape N x 1 x 1 x 1 x 1, expected 2 to 4 axes");
  Model same = sound;
  same.outputs = same.inputs;
  refused(same, "its output 'input0' is not computed by a node");
  same.outputs = {sound.outputs[1], sound.outputs[1]};
  refused(same, "comes twice");
  Model latin = sound;
  latin.nodes[0].name = "caf\xe9";
  refused(latin, "a name in it is not UTF-8");
}

TEST_F(WrittenSafetensors, AnotherModelsArchitectureIsNotReplaced) {
  const Model model = testing::small_network(1, 0.3).model;
  for (const std::string there : {"another's", "[]", "{}", R"({"weights": "m.safetensors"})", R"({"weights": {}})",
                                  R"({"weights": {"file": 1, "xxh3": []}})"}) {
    const auto beside = written(directory_ / "architecture.json", there);
    expect_refused(beside, "belongs to another model", [&] { write_safetensors(directory_ / "m.safetensors", model); });
    EXPECT_FALSE(exists(directory_ / "m.safetensors"));
    EXPECT_EQ(text_of_file(beside), there);
  }
}

/// A kill between the two renames leaves files of two models, as does any other mix-up.
TEST_F(WrittenSafetensors, FilesOfTwoModelsAreNeverOne) {
  Model one = testing::small_network(1, 0.3).model;
  Model other = one;  // every tensor has the same shape
  std::get<BatchNorm>(other.nodes[1].operation).epsilon *= 2;
  const auto a = directory_ / "a";
  const auto b = directory_ / "b";
  for (const auto& folder : {a, b}) create_directory(folder);
  write_safetensors(a / "m.safetensors", one);
  write_safetensors(b / "m.safetensors", other);
  EXPECT_NO_THROW(read_safetensors(b / "m.safetensors"));
  copy_file(a / "architecture.json", b / "architecture.json", std::filesystem::copy_options::overwrite_existing);
  EXPECT_NO_THROW(read_safetensors(b / "m.safetensors"));  // both have the same weights, and these are a's, then
  std::get<BatchNorm>(other.nodes[1].operation).shift[0] += 1;
  write_safetensors(b / "m.safetensors", other);
  copy_file(a / "architecture.json", b / "architecture.json", std::filesystem::copy_options::overwrite_existing);
  expect_refused(b / "architecture.json", "it was written with weights other than those in " + b.string(),
                 [&] { read_safetensors(b / "m.safetensors"); });
  write_safetensors(b / "m.safetensors", other);
  EXPECT_EQ(ModelText::of(read_safetensors(b / "m.safetensors"), false), ModelText::of(other, false));
}

TEST_F(WrittenSafetensors, TheSameModelUnderAnotherNameSharesTheGraph) {
  const Model one = testing::small_network(1, 0.3).model;
  const auto a = directory_ / "a.safetensors";
  const auto b = directory_ / "b.safetensors";
  const auto beside = directory_ / "architecture.json";
  write_safetensors(a, one);
  const std::string graph = text_of_file(beside);
  for (int twice = 0; twice < 2; ++twice) {
    write_safetensors(b, one);
    EXPECT_EQ(text_of_file(beside), graph);
    EXPECT_EQ(text_of_file(a), text_of_file(b));
    for (const auto& path : {a, b}) EXPECT_EQ(ModelText::of(read_safetensors(path), false), ModelText::of(one, false));
  }
  Model other_weights = one;
  std::get<BatchNorm>(other_weights.nodes[1].operation).shift[0] += 1;
  Model other_graph = one;
  std::get<BatchNorm>(other_graph.nodes[1].operation).epsilon *= 2;
  for (const Model& other : {other_weights, other_graph})
    for (const auto& path : {b, directory_ / "c.safetensors"})
      expect_refused(beside, "belongs to another model", [&] { write_safetensors(path, other); });
  EXPECT_EQ(text_of_file(beside), graph);
  EXPECT_EQ(text_of_file(a), text_of_file(b));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 3);
}

TEST_F(WrittenSafetensors, OutputsAreThoseOfNodes) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId constant = builder.constant(testing::make_tensor({2}, {0.5F, 3}));
  const ValueId sum = builder.add(Elementwise{Elementwise::Kind::add}, {x, constant});
  Model model = builder.finish({sum});
  for (const ValueId other : {x, constant})
    for (const std::vector<ValueId>& outputs : std::vector<std::vector<ValueId>>{{other}, {sum, other}}) {
      model.outputs = outputs;
      expect_refused(directory_ / "m.safetensors", "is not computed by a node",
                     [&] { write_safetensors(directory_ / "m.safetensors", model); });
    }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(WrittenSafetensors, AreNotPutBehindALinkToAnotherDirectory) {
  const Model model = testing::small_network(1, 0.3).model;
  create_directory(directory_ / "there");
  write_safetensors(directory_ / "there" / "m.safetensors", model);
  std::filesystem::create_symlink("there/m.safetensors", directory_ / "m.safetensors");
  expect_refused(directory_ / "m.safetensors", "is a link to '",
                 [&] { write_safetensors(directory_ / "m.safetensors", model); });
  EXPECT_FALSE(exists(directory_ / "architecture.json"));
  std::filesystem::create_symlink("m.safetensors", directory_ / "there" / "n.safetensors");
  EXPECT_NO_THROW(write_safetensors(directory_ / "there" / "n.safetensors", model)) << "beside its graph";
  EXPECT_TRUE(is_symlink(directory_ / "there" / "n.safetensors"));
}

/// The first write stops between the two files: a second write of the same model completes them, another model is
/// refused.
TEST_F(WrittenSafetensors, AnArchitectureThatAwaitsItsWeightsIsReplaced) {
  const Model model = testing::small_network(1, 0.3).model;
  write_safetensors(directory_ / "m.safetensors", model);
  remove(directory_ / "m.safetensors");
  expect_refused(directory_ / "m.safetensors", "No such file", [&] { read_safetensors(directory_ / "m.safetensors"); });
  Model other = model;
  std::get<BatchNorm>(other.nodes[1].operation).shift[0] += 1;
  expect_refused(directory_ / "architecture.json", "belongs to another model",
                 [&] { write_safetensors(directory_ / "n.safetensors", other); });
  write_safetensors(directory_ / "m.safetensors", model);
  EXPECT_EQ(ModelText::of(read_safetensors(directory_ / "m.safetensors"), false), ModelText::of(model, false));
}

TEST_F(WrittenSafetensors, WhatAnArchitectureSaysOfItsWeightsIsChecked) {
  const Model model = testing::small_network(1, 0.3).model;
  const auto path = directory_ / "m.safetensors";
  const auto beside = directory_ / "architecture.json";
  write_safetensors(path, model);
  Json json = parse_json(text_of_file(beside));
  const auto read_with = [&](const Json& weights) {
    json["weights"] = weights;
    written(beside, json_text(json));
    read_safetensors(path);
  };
  const Json sound = json["weights"];
  EXPECT_NO_THROW(read_with(sound));
  const Json renamed{{"file", "before.safetensors"}, {"xxh3", sound["xxh3"]}};
  EXPECT_NO_THROW(read_with(renamed));
  for (const Json& odd :
       {Json(), Json("m"), Json{{"file", "m.safetensors"}}, Json{{"file", 1}, {"xxh3", sound["xxh3"]}}})
    expect_refused(beside, "expected an object of file and xxh3", [&] { read_with(odd); });
  expect_refused(beside, "weights other than", [&] { read_with({{"file", "m.safetensors"}, {"xxh3", "0"}}); });
  json.erase("weights");
  written(beside, json_text(json));
  EXPECT_NO_THROW(read_safetensors(path));
}

TEST_F(WrittenSafetensors, OfTwoWritersAtOnceOneWinsAndReadersSeeOneOfTheTwo) {
  const std::vector<Model> models{testing::small_network(1, 0.3).model, testing::RandomModel(2).make(30, 2).model};
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> writers;
    writers.reserve(models.size());
    for (const Model& model : models)
      writers.emplace_back([&] { write_safetensors(directory_ / "m.safetensors", model); });
    const auto check = [&] {
      const std::string found = ModelText::of(read_safetensors(directory_ / "m.safetensors"), false);
      EXPECT_TRUE(found == ModelText::of(models[0], false) || found == ModelText::of(models[1], false));
    };
    for (int reader = 0; round > 0 && reader < 10; ++reader) check();
    for (std::thread& writer : writers) writer.join();
    check();
  }
}

}  // namespace
}  // namespace spdnn
