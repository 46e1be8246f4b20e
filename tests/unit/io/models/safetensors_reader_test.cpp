#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "io/arrays/image_tensor.hpp"
#include "io/arrays/npy.hpp"
#include "io/models/safetensors/file.hpp"
#include "io/models/safetensors/reader.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/hostile_files.hpp"
#include "support/sampled.hpp"
#include "support/shared_data.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

std::string container(const std::string& header, const std::string& numbers) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + numbers;
}

std::string raw(const std::vector<float>& values) {
  std::string text(values.size() * sizeof(float), '\0');
  std::memcpy(text.data(), values.data(), text.size());
  return text;
}

/// A tensor of the header.
std::string entry(const std::string& name, const std::string& type, const std::string& shape, std::size_t begin,
                  std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

class Safetensors : public ::testing::Test {
 protected:
  void refuses(const std::string& content, std::string_view part) const {
    const auto path = written(directory_ / "model.safetensors", content);
    expect_refused(path, part, [&] {
      const InputFile file(path);
      const SafetensorsFile tensors(file);
      for (const auto& [name, stored] : tensors.tensors()) tensors.read(name);
    });
  }
  /// A model of these weights, all F32, each name with its shape and numbers.
  struct Weight {
    std::string name;
    std::string shape;
    std::vector<float> values;
  };
  Model model(const std::string& architecture, const std::vector<Weight>& weights) const {
    std::string header;
    std::string numbers;
    for (const Weight& weight : weights) {
      const std::string more = raw(weight.values);
      header += (header.empty() ? "{" : ",") +
                entry(weight.name, "F32", weight.shape, numbers.size(), numbers.size() + more.size());
      numbers += more;
    }
    written(directory_ / "architecture.json", architecture);
    return read_safetensors(written(directory_ / "model.safetensors", container(header + "}", numbers)));
  }
  void refuses_architecture(const std::string& architecture, std::string_view part,
                            const std::vector<Weight>& weights = small_filters) const {
    expect_refused(directory_ / "architecture.json", part, [&] { model(architecture, weights); });
  }
  static std::string around(const std::string& node, const std::string& shape = R"(["N",2,4,4])") {
    return R"({"input_shape":)" + shape + R"(,"nodes":[)" + node + "]}";
  }

  static inline const std::vector<Weight> small_filters{{"c.weight", "[2,2,1,1]", {1, 0, -0.0F, 2}},
                                                        {"c.bias", "[2]", {3, 4}}};
  static inline const std::string small_convolution =
      R"({"op":"conv","name":"c","inputs":["input"],"cin":2,"cout":2,"kernel":1})";
  TemporaryDirectory directory_;
};

TEST_F(Safetensors, TensorsOfAllTypes) {
  const std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," + entry("b", "F32", "[2]", 0, 8) + "," +
                             entry("a", "BF16", "[1,1]", 8, 10) + "," + entry("h", "F16", "[]", 10, 12) + "," +
                             entry("none", "I64", "[0,7]", 12, 12) + "," + entry("l", "I64", "[1]", 12, 20) + "}  ";
  const auto path = written(
      directory_ / "x.safetensors",
      container(header, raw({1, -2}) + "\x80\x3f" + std::string("\x00\xc0", 2) + std::string("\x05\0\0\0\0\0\0\0", 8)));
  const InputFile file(path);
  const SafetensorsFile tensors(file);
  EXPECT_EQ(tensors.tensors().size(), 5U);
  EXPECT_EQ(tensors.read("b").values[1], -2);
  EXPECT_EQ(tensors.read("a").shape, (Shape{1, 1}));
  EXPECT_EQ(tensors.read("a").values[0], 1);
  EXPECT_EQ(tensors.read("h").values[0], -2);
  EXPECT_EQ(tensors.read("none").shape, (Shape{0, 7}));
  EXPECT_EQ(tensors.read("l").values[0], 5);
  expect_refused(path, "has no tensor 'c'", [&] { tensors.read("c"); });
}

/// A number as it lies in memory.
template <class T>
std::string raw_number(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

TEST_F(Safetensors, TheLargestAndSmallestNumberOfEachType) {
  struct Case {
    const char* type;
    std::string bytes;
    float value;
  };
  for (const Case& one : {Case{"U8", raw_number<std::uint8_t>(200), 200},
                          {"I8", raw_number<std::int8_t>(-100), -100},
                          {"U16", raw_number<std::uint16_t>(60000), 60000},
                          {"I16", raw_number<std::int16_t>(-30000), -30000},
                          {"U32", raw_number<std::uint32_t>(3000000000U), 3000000000.F},
                          {"I32", raw_number<std::int32_t>(-2000000000), -2000000000.F},
                          {"U64", raw_number<std::uint64_t>(1ULL << 63U), 9223372036854775808.F},
                          {"I64", raw_number<std::int64_t>(-(std::int64_t{1} << 62)), -4611686018427387904.F},
                          {"F64", raw_number<double>(-0.5), -0.5F},
                          {"F16", raw_number<std::uint16_t>(0x3c00), 1},
                          {"BF16", raw_number<std::uint16_t>(0x4049), 3.140625F},
                          {"BOOL", raw_number<std::uint8_t>(7), 1}}) {
    const std::string header = "{" + entry("x", one.type, "[1]", 0, one.bytes.size()) + "}";
    const InputFile file(written(directory_ / "x.safetensors", container(header, one.bytes)));
    const SafetensorsFile tensors(file);
    EXPECT_EQ(tensors.read("x").values[0], one.value) << one.type;
  }
}

TEST_F(Safetensors, ALinearNodeMayHaveOneInput) {
  written(
      directory_ / "architecture.json",
      R"({"input_shape":["N",1],"nodes":[{"op":"linear","name":"l","inputs":["input"],"cin":1,"cout":1,"bias":false}]})");
  const std::string header = "{" + entry("l.weight", "F32", "[1,1]", 0, 4) + "}";
  const Model model = read_safetensors(written(directory_ / "model.safetensors", container(header, raw({3}))));
  EXPECT_EQ(dense_rows(std::get<Linear>(model.nodes.at(0).operation).weights, 0, 1), (std::vector<float>{3}));
}

TEST_F(Safetensors, WeightsKeepTheirType) {
  const auto form = [&](const std::string& type, const std::string& bytes) {
    written(
        directory_ / "architecture.json",
        R"({"input_shape":["N",2],"nodes":[{"op":"linear","name":"l","inputs":["input"],"cin":2,"cout":1,"bias":false}]})");
    const std::string header = "{" + entry("l.weight", type, "[1,2]", 0, bytes.size()) + "}";
    const Model model = read_safetensors(written(directory_ / "model.safetensors", container(header, bytes)));
    const Weights& weights = std::get<Linear>(model.nodes.at(0).operation).weights;
    EXPECT_EQ(dense_rows(weights, 0, 1), (std::vector<float>{1, 2}));
    return weights.form();
  };
  EXPECT_EQ(form("F32", raw({1, 2})), "csr f32");
  EXPECT_EQ(form("F16", std::string("\x00\x3c\x00\x40", 4)), "dense f16");
  EXPECT_EQ(form("BF16", std::string("\x80\x3f\x00\x40", 4)), "dense bf16");
  EXPECT_EQ(form("I8", "\1\2"), "dense i8");
  EXPECT_EQ(form("U8", "\1\2"), "dense u8");
  EXPECT_EQ(form("I16", std::string("\1\0\2\0", 4)), "csr f32");
}

TEST_F(Safetensors, ContainersThatAreNotSoundAreRefused) {
  const std::string eight(8, '\1');
  refuses("", "ends within the safetensors header");
  refuses("1234567", "ends within the safetensors header");
  refuses("{\"a\":1}" + eight, "expected at most 100000000");
  refuses(container("{}", "").substr(0, 9), "ends within the safetensors header");
  refuses(container("[]", ""), "does not begin with '{'");
  refuses(container("{\"a\":", ""), "byte 6 of the header: not JSON");
  refuses(container("{\"a\":" + std::string(65, '[') + "}", ""), "nested too deeply");
  refuses(container("{\"__metadata__\":{\"a\":1}}", ""), "expected an object of strings");
  const std::string sound = R"("dtype":"F32","shape":[0],"data_offsets":[0,0])";
  for (const std::string& entry :
       {std::string("[1]"), std::string("7"), std::string("{}"), "{" + sound + ",\"more\":1}",
        std::string(R"({"dtype":"F32","shape":[0]})"), std::string(R"({"dtype":"F32","shape":[0],"offsets":[0,0]})"),
        std::string(R"({"type":"F32","shape":[0],"data_offsets":[0,0]})"),
        std::string(R"({"dtype":"F32","shapes":[0],"data_offsets":[0,0]})")})
    refuses(container("{\"a\":" + entry + "}", ""), ", expected an object of dtype, shape and data_offsets");
  const auto one = [&](const std::string& type, const std::string& shape, std::size_t begin, std::size_t end) {
    return container("{" + entry("a", type, shape, begin, end) + "}", eight);
  };
  refuses(one("F8_E4M3", "[8]", 0, 8), "dtype \"F8_E4M3\", expected F16");
  for (const char* shape : {"[-2]", "[2.0]", "2", "[\"2\"]", "[18446744073709551615]"})
    refuses(one("F32", shape, 0, 8), "expected a list of lengths");
  refuses(one("F32", "[3]", 0, 8), "8 bytes, expected a shape of 3 in numbers of 4 bytes");
  refuses(one("F32", "[1]", 0, 8), "8 bytes, expected a shape of 1 in numbers of 4 bytes");
  refuses(one("F32", "[0]", 0, 8), "8 bytes, expected a shape of 0 in numbers of 4 bytes");
  refuses(one("F16", "[3]", 0, 8), "8 bytes, expected a shape of 3 in numbers of 2 bytes");
  refuses(one("F32", "[4611686018427387904,4611686018427387904]", 0, 8), "8 bytes, expected a shape of");
  refuses(one("F32", "[4611686018427387906]", 0, 8),  // whose bytes are 8, modulo 2^64
          "8 bytes, expected a shape of 4611686018427387906 in numbers of 4 bytes");
  refuses(one("F64", "[2305843009213693953]", 0, 8), "8 bytes, expected a shape of 2305843009213693953");
  for (const std::string offsets : {"[0]", "[0,8,8]", "8", "[\"0\",8]", "[0,-8]", "[0,8.5]", "null"})
    refuses(container("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" + offsets + "}}", eight),
            "tensor 'a': data_offsets " + offsets + ", expected two positions");
  refuses(one("F32", "[2]", 0, 9), "expected positions that ascend from 0 to at most 8");
  refuses(one("F32", "[2]", 8, 0), "expected positions that ascend");
  refuses(one("F32", "[1]", 4, 8), "begins at byte 4, but the tensor before it ends at 0, expected no gap");
  refuses(one("F32", "[1]", 0, 4), "the last tensor ends at byte 4 of 8, expected no bytes after it");
  refuses(container("{" + entry("a", "F32", "[2]", 0, 8) + "," + entry("b", "F32", "[1]", 4, 8) + "}", eight),
          "tensor 'b': begins at byte 4, within another tensor, which ends at 8");
  refuses(container("{" + entry("a", "F32", "[1]", 0, 4) + "," + entry("a", "F32", "[1]", 4, 8) + "}", eight),
          "an object has two keys \"a\"");
  refuses(container("{" + entry("a", "F32", "[2]", 0, 8) + "}", raw({1, INFINITY})),
          "tensor 'a': number 2 is inf, expected finite numbers");
  refuses(container("{" + entry("a", "F32", "[2]", 0, 8) + "}", raw({NAN, 1})), "tensor 'a': number 1 is nan");
}

/// If the time were that of the square of their number, this test would take minutes.
TEST_F(Safetensors, AContainerMayHaveManyTensors) {
  const std::size_t count = testing::sampled(20'000U, 100'000U);
  std::string header = "{";
  std::string numbers;
  for (std::size_t k = 0; k < count; ++k) {
    header += (k == 0 ? "" : ",") + entry("t" + std::to_string(k), "F32", "[1]", 4 * k, 4 * k + 4);
    numbers += raw({static_cast<float>(k)});
  }
  const auto path = written(directory_ / "model.safetensors", container(header + "}", numbers));
  const InputFile file(path);
  const SafetensorsFile tensors(file);
  EXPECT_EQ(tensors.tensors().size(), count);
  EXPECT_EQ(tensors.read("t19999").values[0], 19999.0F);
}

TEST_F(Safetensors, WhatIsNoFileIsRefused) {
  const auto absent = directory_ / "absent.safetensors";
  expect_refused(absent, "No such file", [&] { read_safetensors(absent); });
  expect_refused(directory_.path(), "is a directory", [&] { read_safetensors(directory_.path()); });
  const auto alone = written(directory_ / "alone.safetensors", container("{}", ""));
  expect_refused(directory_ / "architecture.json", "No such file", [&] { read_safetensors(alone); });
}

TEST_F(Safetensors, WeightsThatAreWrittenToWhileTheyAreReadAreRefused) {
  const auto path = directory_ / "model.safetensors";
  model(around(small_convolution), small_filters);
  const InputFile file(path);
  EXPECT_NO_THROW(read_safetensors(file, "a.json", around(small_convolution)));
  last_write_time(path, last_write_time(path) + std::chrono::seconds(2));
  expect_refused(path, "changed while it was being read: it was written to",
                 [&] { read_safetensors(file, "a.json", around(small_convolution)); });
}

/// A batch norm of one channel with that variance.
std::string norm_architecture(const std::string& more) {
  return R"({"input_shape":["N",1,2,2],)" + more +
         R"("nodes":[{"op":"bn","name":"b","inputs":["input"],"channels":1}]})";
}

TEST_F(Safetensors, VariancePlusEpsilonIsPositive) {
  const auto weights = [](float variance) {
    return std::vector<Weight>{{"b.weight", "[1]", {1}},
                               {"b.bias", "[1]", {0}},
                               {"b.running_mean", "[1]", {0}},
                               {"b.running_var", "[1]", {variance}}};
  };
  for (const float variance : {0.0F, -0.25F, 1.0F})
    EXPECT_NO_THROW(model(norm_architecture(R"("bn_epsilon":0.5,)"), weights(variance)));
  for (const float variance : {-0.5F, -1.0F})
    refuses_architecture(norm_architecture(R"("bn_epsilon":0.5,)"),
                         "node 1 'b': a variance plus epsilon is not positive", weights(variance));
  for (const char* epsilon : {"0", "1", "1.5", "-0.5", "\"0.5\""})
    refuses_architecture(norm_architecture(R"("bn_epsilon":)" + std::string(epsilon) + ","),
                         "bn_epsilon " + std::string(epsilon) + ", expected a number between 0 and 1", weights(1));
}

TEST_F(Safetensors, ConvolutionKeepsItsNonzeros) {
  const Model read = model(around(small_convolution), small_filters);
  read.validate();
  const auto& convolution = std::get<Convolution>(read.nodes.at(0).operation);
  EXPECT_EQ(convolution.weights->entries(), 2U) << "zeros of either sign are no entries";
  EXPECT_EQ(convolution.weights->indices[1], 1U);
  EXPECT_EQ(convolution.weights->values[1], 2);
  EXPECT_EQ(convolution.bias, (std::vector<float>{3, 4}));
  EXPECT_EQ(read.values[read.inputs.at(0)].shape, (Shape{kBatchExtent, 2, 4, 4}));
  EXPECT_EQ(read.values[read.outputs.at(0)].shape, (Shape{kBatchExtent, 2, 4, 4}));
}

TEST_F(Safetensors, WindowsGroupsAndSequences) {
  const Model image = model(
      around(R"({"op":"conv","name":"c","inputs":["input"],"dims":2,"cin":2,"cout":2,"kernel":[1,3],"stride":[2,1],)"
             R"("pad":[0,1],"dilation":[3,1],"groups":2,"bias":false})"),
      {{"c.weight", "[2,1,1,3]", {1, 2, 3, 4, 5, 6}}});
  const auto& convolution = std::get<Convolution>(image.nodes[0].operation);
  EXPECT_EQ(convolution.window.kernel, (std::array<Index, 2>{1, 3}));
  EXPECT_EQ(convolution.window.stride, (std::array<Index, 2>{2, 1}));
  EXPECT_EQ(convolution.window.dilation, (std::array<Index, 2>{3, 1}));
  EXPECT_EQ(convolution.window.pad_end, (std::array<Index, 2>{0, 1}));
  EXPECT_EQ(convolution.groups, 2U);
  EXPECT_TRUE(convolution.bias.empty());
  EXPECT_EQ(image.values[image.outputs[0]].shape, (Shape{kBatchExtent, 2, 2, 4}));

  const Model sequence = model(
      around(R"({"op":"conv","name":"c","inputs":["input"],"dims":1,"cin":1,"cout":1,"kernel":3,"pad":1,"bias":false},)"
             R"({"op":"maxpool","name":"p","inputs":["c"],"kernel":2})",
             R"(["N",1,8])"),
      {{"c.weight", "[1,1,3]", {1, 2, 3}}});
  EXPECT_EQ(std::get<Convolution>(sequence.nodes[0].operation).window.kernel, (std::array<Index, 2>{1, 3}));
  EXPECT_EQ(std::get<Convolution>(sequence.nodes[0].operation).window.pad_begin, (std::array<Index, 2>{0, 1}));
  EXPECT_EQ(sequence.values[sequence.outputs[0]].shape, (Shape{kBatchExtent, 1, 4}));
}

TEST_F(Safetensors, AllOtherOperations) {
  const Model read = model(
      R"({"name":"all","note":"","input":{},"input_shape":[3,2,4,4],"bn_epsilon":0.5,"output":"sum","classes":2,"nodes":[
        {"op":"bn","name":"b","inputs":["input"],"channels":2},
        {"op":"relu6","name":"r6","inputs":["b"]},
        {"op":"leaky_relu","name":"lr","inputs":["r6"],"alpha":0.25},
        {"op":"sigmoid","name":"s","inputs":["lr"]},
        {"op":"tanh","name":"t","inputs":["s"]},
        {"op":"hard_swish","name":"h","inputs":["t"],"role":"middle"},
        {"op":"relu","name":"r","inputs":["h"]},
        {"op":"avgpool","name":"a","inputs":["r"],"kernel":3,"stride":2,"pad":1,"round_up":true,"count_padding":true},
        {"op":"concat","name":"cat","inputs":["a","a"]},
        {"op":"globalmax","name":"g","inputs":["cat"]},
        {"op":"avgpool","name":"ga","inputs":["g"]},
        {"op":"multiply","name":"m","inputs":["ga","g"]},
        {"op":"flatten","name":"f","inputs":["m"]},
        {"op":"linear","name":"l","inputs":["f"],"cin":4,"cout":2,"bias":false},
        {"op":"softmax","name":"x","inputs":["l"]},
        {"op":"add","name":"sum","inputs":["l","x"]}]})",
      {{"b.weight", "[2]", {1, 2}},
       {"b.bias", "[2]", {3, 4}},
       {"b.running_mean", "[2]", {5, 6}},
       {"b.running_var", "[2]", {7, 8}},
       {"l.weight", "[2,4]", {1, 0, 0, 2, 0, 3, 0, 0}}});
  read.validate();
  EXPECT_EQ(read.name, "all");
  const auto& norm = std::get<BatchNorm>(read.nodes[0].operation);
  EXPECT_EQ(norm.scale, (std::vector<float>{1, 2}));
  EXPECT_EQ(norm.shift, (std::vector<float>{3, 4}));
  EXPECT_EQ(norm.mean, (std::vector<float>{5, 6}));
  EXPECT_EQ(norm.variance, (std::vector<float>{7, 8}));
  EXPECT_EQ(norm.epsilon, 0.5F);
  EXPECT_EQ(std::get<Activation>(read.nodes[1].operation).high, 6);
  EXPECT_EQ(std::get<Activation>(read.nodes[2].operation).alpha, 0.25F);
  const auto& pool = std::get<Pool>(read.nodes[7].operation);
  EXPECT_EQ(pool.kind, Pool::Kind::average);
  EXPECT_TRUE(pool.round_up && pool.count_padding);
  EXPECT_EQ(std::get<GlobalPool>(read.nodes[9].operation).kind, Pool::Kind::max);
  EXPECT_EQ(std::get<GlobalPool>(read.nodes[10].operation).kind, Pool::Kind::average);
  EXPECT_EQ(std::get<Linear>(read.nodes[13].operation).weights->entries(), 3U);
  EXPECT_EQ(read.values[read.outputs[0]].shape, (Shape{3, 2}));
}

TEST_F(Safetensors, ArchitecturesThatAreNotSoundAreRefused) {
  refuses_architecture("{\n \"nodes\": x}", "architecture.json:2:11: not JSON");
  refuses_architecture("[]", "expected an object");
  refuses_architecture("{}", "has no field 'input_shape'");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"nodes":[],"optimiser":1})",
                       "field 'optimiser' is not understood");
  for (const char* shape : {R"([2,"N",4,4])", "[1]", "[1,0]", "[1,2,3,4,5]", "4", "[1,-4]", "[1,2.5]"})
    refuses_architecture(around(small_convolution, shape), "expected a list such as");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"nodes":[]})", "expected a list of nodes");
  refuses_architecture(around("3"), "node 1: 3, expected an object");
  refuses_architecture(around('"' + std::string(100, 'x') + '"'),
                       "node 1: \"" + std::string(59, 'x') + "..., expected an object");
  refuses_architecture(around(R"({"op":"relu","inputs":["input"]})"), "node 1: has no field 'name'");
  refuses_architecture(around(R"({"op":"relu","name":"r"})"), "node 1 'r': has no field 'inputs'");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":"input"})"), "expected a list of names");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":["input",1]})"),
                       "inputs [\"input\",1], expected a list of names");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":[]})"), "node 1 'r': has no inputs");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":["r"]})"),
                       "node 1 'r': input 'r' is not the output of an earlier node");
  refuses_architecture(around(R"({"op":"relu","name":"input","inputs":["input"]})"), "more than one node is called");
  refuses_architecture(around(R"({"op":"lstm","name":"r","inputs":["input"]})"),
                       "op 'lstm', expected one of conv, linear");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":["input"],"slope":1})"),
                       "field 'slope' is not understood for op 'relu'");
  refuses_architecture(around(R"({"op":"relu","name":"r","inputs":["input","input"]})"), "node 1 'r': takes 1 input");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"output":"input","nodes":[)" + small_convolution + "]}",
                       "output 'input' is not the name of a node");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"outputs":["c","input"],"nodes":[)" + small_convolution + "]}",
                       "output 'input' is not the name of a node");
  for (const auto& [cin, cout] : {std::pair{3, 2}, {2, 3}, {3, 3}})
    refuses_architecture(
        around(fmt::format(R"({{"op":"conv","name":"c","inputs":["input"],"cin":{},"cout":{},"kernel":1,"groups":2}})",
                           cin, cout)),
        fmt::format("2 groups do not divide {} input and {} output channels", cin, cout));
  refuses_architecture(around(R"({"op":"flatten","name":"f","inputs":["input"]})", R"(["N",65536,32768])"),
                       "more than 2^31-1 elements in N x 65536 x 32768");
  const auto outputs = [&](const std::string& fields) {
    return R"({"input_shape":["N",2,4,4],)" + fields + R"(,"nodes":[)" + small_convolution + "]}";
  };
  refuses_architecture(outputs(R"("outputs":["c","other"])"), "output 'other' is not the name of a node");
  refuses_architecture(outputs(R"("outputs":["c","c"])"), "output 'c' is named twice");
  refuses_architecture(outputs(R"("outputs":["c"],"output_names":["x","y"])"), "2 output_names, expected 1");
  refuses_architecture(outputs(R"("outputs":["c"],"output_names":"x")"),
                       "output_names \"x\", expected a list of names");
  refuses_architecture(outputs(R"("outputs":[])"), "outputs [], expected a list of names");
  refuses_architecture(outputs(R"("outputs":["c",1])"), "expected a list of names");
  refuses_architecture(outputs(R"("output":"c","outputs":["c"])"), "has both output and outputs");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"classes":7,"nodes":[)" + small_convolution + "]}",
                       "classes 7, but the output is N x 2 x 4 x 4");
  refuses_architecture(R"({"input_shape":["N",2,4,4],"bn_epsilon":0,"nodes":[)" + small_convolution + "]}",
                       "bn_epsilon 0, expected");
}

TEST_F(Safetensors, FieldsOfOperationsThatAreNotSoundAreRefused) {
  const auto refuses_node = [&](const std::string& fields, std::string_view part) {
    refuses_architecture(around(R"({"name":"o","inputs":["input"],)" + fields + "}"), part);
  };
  refuses_node(R"("op":"clip","low":2,"high":1)", "its lower limit exceeds its upper one");
  refuses_node(R"("op":"reshape","shape":["N",-1])", "shape -1, expected a whole number from 0");
  refuses_node(R"("op":"reshape","shape":["N",7])", "node 1 'o': N x 2 x 4 x 4 cannot become N x 7");
  refuses_node(R"("op":"transpose","order":["N",0])", "expected a whole number");
  refuses_node(R"("op":"transpose","order":[0,1,2,2])", "the order of axes does not fit");
  refuses_node(R"("op":"pad","begin":[0,0,1],"end":[0,0,1])", "3 axes of padding do not fit");
  refuses_node(R"("op":"pad","begin":[0,0,0,-2],"end":[0,0,0,-2])", "nothing is left of axis 3 of N x 2 x 4 x 4");
  refuses_node(R"("op":"pad","begin":[0,0,0,0],"end":[0,0,0,-2147483648])", "from -2147483647 to 2147483647");
  refuses_node(R"("op":"pad","begin":[0,0,0,0],"end":[0,0,0,-0.5])", "expected a whole number");
  const std::string resize = R"("op":"resize","place":"asymmetric","rounding":"down","size":[2,2],)";
  refuses_node(resize + R"("kind":"cubic","scale":[1,1])", "kind 'cubic', expected one of nearest, linear");
  refuses_node(resize + R"("kind":"linear","scale":[1])", "scale [1], expected a list of 2 numbers");
  refuses_node(resize + R"("kind":"linear","scale":[1,-1])", "its scale must be a positive number");
  refuses_node(R"("op":"constant","shape":[2])", "a constant has no inputs");
  const std::string constant = R"({"op":"constant","name":"o","inputs":[],"shape":[3]})";
  refuses_architecture(around(constant), "has no tensor 'o.value'");
  refuses_architecture(around(constant), "has no nodes but constants", {{"o.value", "[3]", {1, 2, 3}}});
  refuses_architecture(
      around(R"({"op":"constant","name":"o","inputs":[],"shape":[]},{"op":"flatten","name":"f","inputs":["o"]})"),
      "node 2 'f': takes no scalar", {{"o.value", "[]", {1}}});
}

TEST_F(Safetensors, NumbersThatAreJustTooLargeAreRefused) {
  refuses_architecture(R"({"input_shape":["N",2],"bn_epsilon":1,"nodes":[]})", "expected a number between 0 and 1");
  refuses_architecture(R"({"input_shape":["N",65536,32768],"nodes":[{"name":"f","op":"flatten","inputs":["input"]}]})",
                       "more than 2^31-1 elements in N x 65536 x 32768");
  refuses_architecture(around(R"({"op":"conv","name":"c","inputs":["input"],"cin":2,"cout":3,"groups":2})"),
                       "2 groups do not divide 2 input and 3 output channels");
}

TEST_F(Safetensors, NodesThatDoNotFitTheirWeightsAreRefused) {
  const auto convolution = [](const std::string& fields) {
    return around(R"({"op":"conv","name":"c","inputs":["input"],)" + fields + "}");
  };
  refuses_architecture(convolution(R"("cin":2,"cout":2)"), "has no field 'kernel'");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":0)"), "kernel 0, expected a whole number from 1");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":1,"pad":-1)"),
                       "pad -1, expected a whole number from 0");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":[1,1,1])"), "kernel [1,1,1], expected 2 numbers");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":1,"dims":3)"), "dims 3, expected 1 or 2");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":1,"bias":1)"), "bias 1, expected true or false");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":1,"groups":3)"), "3 groups do not divide 2 input");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":3)"),
                       "model.safetensors is 2 x 2 x 1 x 1, expected 2 x 2 x 3 x 3");
  refuses_architecture(convolution(R"("cin":1,"cout":4,"kernel":1)"),
                       "model.safetensors is 2 x 2 x 1 x 1, expected 4 x 1 x 1 x 1");
  refuses_architecture(convolution(R"("cin":2147483647,"cout":2147483647,"kernel":2147483647)"),
                       "expected 2147483647 x");
  refuses_architecture(convolution(R"("cin":2,"cout":2,"kernel":1)"), "has no tensor 'c.bias'", {small_filters[0]});
  refuses_architecture(around(small_convolution, R"(["N",3,4,4])"), "node 1 'c': filters of 2 channels do not fit");
  refuses_architecture(around(R"({"op":"bn","name":"b","inputs":["input"],"channels":1})"), "is not positive",
                       {{"b.weight", "[1]", {1}},
                        {"b.bias", "[1]", {1}},
                        {"b.running_mean", "[1]", {1}},
                        {"b.running_var", "[1]", {-1}}});
}

/// The networks of the shared data, unpacked.
class TrainedNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"cnn/trained-1.tar.xz", "cnn/trained-2.tar.xz"}) {
      const std::filesystem::path archive = shared_data(name);
      if (!exists(archive)) GTEST_SKIP() << archive << " is not there";
      const std::string unpack = "tar -xJf '" + archive.string() + "' -C '" + directory_.path().string() + "'";
      ASSERT_EQ(std::system(unpack.c_str()), 0);
    }
  }
  /// The reference's logits of the first inputs are those that PyTorch computed in fp64.
  void expect_logits(const std::string& network, const std::filesystem::path& inputs, ImageRequest request) const {
    const Model model = read_safetensors(directory_.path() / network / "model.safetensors");
    request.shape = model.values[model.inputs[0]].shape;
    request.images = 4;
    const Bounded logits = evaluate(model, {read_image_tensor(inputs, request).tensor})[0];
    const Tensor expected = read_npy_rows(InputFile(directory_.path() / network / "expected_logits.npy")).tensor;
    ASSERT_EQ(logits.shape[1], expected.shape[1]);
    for (std::size_t i = 0; i < logits.values.size(); ++i)
      EXPECT_NEAR(logits.values[i], expected.values[i], 1e-6 * (1 + std::abs(logits.values[i]))) << network << ' ' << i;
  }

  TemporaryDirectory directory_;
};

TEST_F(TrainedNetworks, AreAllRead) {
  int read = 0;
  for (const auto& folder : std::filesystem::directory_iterator(directory_.path())) {
    const Model network = read_safetensors(folder.path() / "model.safetensors");
    network.validate();
    EXPECT_EQ(network.name, folder.path().filename());
    ++read;
  }
  EXPECT_EQ(read, 8);
}

TEST_F(TrainedNetworks, HaveTheLogitsThatTheyWereExportedWith) {
  ImageRequest digits;
  digits.preprocessing.divide = {255};
  expect_logits("lenet5-95", shared_data("mnist/t10k-images-idx3-ubyte.gz"), digits);
  ImageRequest words;
  words.preprocessing.divide = {16};
  words.table = directory_ / "textcnn-875" / "table.npy";
  expect_logits("textcnn-875", directory_ / "textcnn-875" / "test_tokens.npy", words);
}

}  // namespace
}  // namespace spdnn
