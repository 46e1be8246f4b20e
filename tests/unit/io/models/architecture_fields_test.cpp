// Every field of every kind of node in an architecture.json, with values that it must not have.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "data/model_families.hpp"
#include "io/files/input_file.hpp"
#include "io/models/safetensors/reader.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

class ArchitectureFields : public ::testing::Test {
 protected:
  ArchitectureFields() {
    write_model(weights_path_, generate_model({.family = "random", .seed = 3}));
    json_ = parse_json(text_of_file(directory_ / "architecture.json"));
  }
  Json with_first_nodes(std::size_t count) const {
    std::vector<Json> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(json_["nodes"][i]);
    return {{"input_shape", json_["input_shape"]}, {"nodes", Json(nodes)}};
  }
  std::string error_with(const Json& json) const {
    try {
      read_safetensors(InputFile(weights_path_), "a.json", json_text(json));
      return "no error";
    } catch (const DataError& error) {
      return error.what();
    }
  }
  /// Calls visit(number, field) for each field of the first node of each kind.
  template <class Visit>
  void for_each_field(const Visit& visit) const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < json_["nodes"].size(); ++i) {
      const Json& node = json_["nodes"][i];
      if (!seen.insert(node["op"].get<std::string>() + std::to_string(node.size())).second) continue;
      for (const auto& [field, value] : node.items()) visit(i, field);
    }
    EXPECT_GT(seen.size(), 20U);
  }

  TemporaryDirectory directory_;
  std::filesystem::path weights_path_ = directory_ / "m.safetensors";
  Json json_;
};

TEST_F(ArchitectureFields, HaveNoValueOfAnotherType) {
  const std::set<std::string> real{"value", "epsilon", "low", "high", "alpha", "beta"};
  const std::vector<Json> wrong{Json(),
                                Json("x"),
                                Json(true),
                                Json{{"a", 1}},
                                Json(-1.5),
                                Json(3'000'000'000U),
                                Json(std::vector<Json>{Json(true)}),
                                Json(std::vector<Json>{Json(true), Json(1U)}),
                                Json(std::vector<Json>{Json(1U), Json(true)})};
  for_each_field([&](std::size_t i, const std::string& field) {
    for (const Json& other : wrong) {
      Json json = with_first_nodes(i + 1);
      Json& value = json["nodes"][i][field];
      if ((value.is_string() && other.is_string()) || (value.is_boolean() && other.is_boolean()) ||
          (real.contains(field) && other.is_number()))
        continue;
      value = other;
      const std::string error = error_with(json);
      EXPECT_EQ(error.find("a.json: node " + std::to_string(i + 1)), 0U) << json_text(other) << ": " << error;
      EXPECT_NE(error.find(field), std::string::npos) << error;
      EXPECT_NE(error.find(", expected "), std::string::npos) << error;
    }
  });
}

TEST_F(ArchitectureFields, AreThereOrHaveADefaultAndNoOthersAreUnderstood) {
  const std::set<std::string> optional{"stride",   "dilation",      "pad",   "groups", "bias", "dims", "epsilon",
                                       "round_up", "count_padding", "value", "low",    "high", "axis", "kernel"};
  for_each_field([&](std::size_t i, const std::string& field) {
    Json json = with_first_nodes(i + 1);
    json["nodes"][i][field + "_"] = 1;
    EXPECT_NE(error_with(json).find("field '" + field + "_' is not understood for op '"), std::string::npos);
    json["nodes"][i].erase(field + "_");
    json["nodes"][i].erase(field);
    const std::string error = error_with(json);
    EXPECT_TRUE(optional.contains(field) || error.find("has no field '" + field + "'") != std::string::npos)
        << field << " of node " << i << ": " << error;
  });
}

}  // namespace
}  // namespace spdnn
