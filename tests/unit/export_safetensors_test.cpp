#include <gtest/gtest.h>

#include <thread>

#include "io/export/safetensors.hpp"
#include "io/import/safetensors.hpp"
#include "support/hostile_files.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
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

TEST_F(WrittenSafetensors, WhatTheFormatLacksIsRefusedByName) {
  const auto path = directory_ / "model.safetensors";
  const auto refused = [&](Model model, std::string_view part) {
    model.name = "net";
    expect_refused(path, part, [&] { write_safetensors(path, model); });
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << part;
  };
  const Model sound = testing::small_network(1, 0.3).model;
  refused(sound, "cannot hold the model 'net': it has 2 outputs, expected one");
  Model two = testing::only_first_output(sound);
  two.inputs.push_back(0);
  refused(two, "it has 2 inputs, expected one");
  ModelBuilder deep;
  const ValueId x = deep.input({kBatchExtent, 1, 1, 1, 1});
  refused(deep.finish({deep.add(Activation{}, {x})}), "its input is N x 1 x 1 x 1 x 1, expected 2 to 4 axes");
  Model same = testing::only_first_output(sound);
  same.outputs = same.inputs;
  refused(same, "its output 'input0' is not that of a node");
  Model latin = testing::only_first_output(sound);
  latin.nodes[0].name = "caf\xe9";
  refused(latin, "a name in it is not UTF-8");
}

TEST_F(WrittenSafetensors, AnotherModelsArchitectureIsNotReplaced) {
  const Model model = testing::only_first_output(testing::small_network(1, 0.3).model);
  const auto beside = written(directory_ / "architecture.json", "another's");
  expect_refused(beside, "belongs to another model", [&] { write_safetensors(directory_ / "m.safetensors", model); });
  EXPECT_FALSE(exists(directory_ / "m.safetensors"));
  EXPECT_EQ(file_size(beside), 9U);
}

TEST_F(WrittenSafetensors, OfTwoWritersAtOnceOneWins) {
  const std::vector<Model> models{testing::only_first_output(testing::small_network(1, 0.3).model),
                                  testing::only_first_output(testing::RandomModel(2).make(30, 2).model)};
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> writers;
    for (const Model& model : models)
      writers.emplace_back([&] { write_safetensors(directory_ / "m.safetensors", model); });
    for (std::thread& writer : writers) writer.join();
    const std::string found = ModelText::of(read_safetensors(directory_ / "m.safetensors"), false);
    EXPECT_TRUE(found == ModelText::of(models[0], false) || found == ModelText::of(models[1], false));
  }
}

}  // namespace
}  // namespace spdnn
