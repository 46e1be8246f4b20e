#pragma once

// ONNX graphs of a few nodes as one line of text, for tables of tests.

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/models/onnx/write/graph.hpp"
#include "support/onnx_file.hpp"
#include "support/row_text.hpp"

namespace spdnn::onnx_test {

/// Reads `@11 a = Op(x[-1,2,6], i{1,2}, f[2,1]{1,2.5}, -) attr=[1,2] mode='s' >2; Op(a) axis=1`: the operator set, and
/// nodes. Inputs are x, y, ... with their shapes where they are first named, constants of integers (i, or with their
/// type: i8, u8, i16, u16, i32) or fp32 numbers (f), and `-` for none. `>2` asks for two outputs, of which a is the
/// first, and a1 the second. The last node makes the outputs.
class RowReader : testing::RowText {
 public:
  explicit RowReader(std::string_view text) : RowText(text) {}

  File file() {
    File file(take('@') ? static_cast<int>(integer()) : 17);
    for (int n = 0; n == 0 || take(';'); ++n) node(file, n);
    const onnx::NodeProto last = *file.graph().node().rbegin();
    for (const std::string& name : last.output()) file.output(name);
    return file;
  }

 private:
  static int type_of(const std::string& name) {
    using onnx::TensorProto;
    const std::pair<const char*, int> types[] = {{"i", TensorProto::INT64},    {"i8", TensorProto::INT8},
                                                 {"u8", TensorProto::UINT8},   {"i16", TensorProto::INT16},
                                                 {"u16", TensorProto::UINT16}, {"i32", TensorProto::INT32}};
    for (const auto& [text, type] : types)
      if (name == text) return type;
    throw std::invalid_argument(fmt::format("no type of constants: {}", name));
  }
  std::string input(File& file) {
    if (take('-')) return "";
    const std::string name = word();
    const bool shaped = at('[');
    std::vector<std::int64_t> shape;
    if (shaped) shape = integers('[', ']');
    if (!at('{')) {
      if (shaped) file.input(name, shape);
      return name;
    }
    const std::string own = fmt::format("c{}", constants_++);
    if (name != "f") {
      const auto values = integers('{', '}');
      const int type = type_of(name);
      auto& tensor = file.tensor(own, shaped ? shape : std::vector{static_cast<std::int64_t>(values.size())}, type);
      for (const std::int64_t value : values)
        if (type == onnx::TensorProto::INT64)
          tensor.add_int64_data(value);
        else
          tensor.add_int32_data(static_cast<std::int32_t>(value));
    } else {
      const auto values = list<float>('{', '}', [](const std::string& text) { return std::stof(text); });
      file.floats(own, shaped ? shape : std::vector{static_cast<std::int64_t>(values.size())}, values);
    }
    return own;
  }
  void node(File& file, int n) {
    std::string output = fmt::format("n{}", n);
    std::string type = word();
    if (take('=')) output = std::exchange(type, word());
    std::vector<std::string> inputs;
    expect('(');
    while (!take(')')) {
      inputs.push_back(input(file));
      take(',');
    }
    onnx::NodeProto& node = file.node(type, inputs, output);
    while (!at_end() && !at(';')) {
      if (take('>'))
        for (std::int64_t i = 1, all = integer(); i < all; ++i) node.add_output(fmt::format("{}{}", output, i));
      else
        attribute_of(node);
    }
  }
  void attribute_of(onnx::NodeProto& node) {
    const std::string name = word();
    expect('=');
    if (at('[')) return set(node, name, integers('[', ']'));
    if (take('\'')) {
      set(node, name, while_is([](char c) { return c != '\''; }).c_str());
      return expect('\'');
    }
    const std::string value = number();
    if (value.find_first_of(".nif") == std::string::npos)
      set(node, name, static_cast<std::int64_t>(std::stoll(value)));
    else
      set(node, name, std::stof(value));
  }

  int constants_ = 0;
};

/// The model of an ONNX file that is written of it.
inline Model written_again(const Model& model) {
  onnx::ModelProto proto;
  onnx_writer::GraphWriter graph(model, "net.onnx", *proto.mutable_graph(), false);
  graph.write();
  proto.set_ir_version(9);
  proto.add_opset_import()->set_version(graph.opset());
  const std::string bytes = proto.SerializeAsString();
  return read_onnx(InputFile("net.onnx", std::as_bytes(std::span(bytes))));
}

/// The numbers -2, -1.5, ..., of one image if the batch is open.
inline Tensor counted_input(const Shape& shape) {
  Tensor tensor{shape, {}};
  if (!tensor.shape.empty() && tensor.shape[0] == kBatchExtent) tensor.shape[0] = 1;
  std::vector<float> values(*elements(tensor.shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 2 - 2;
  tensor.values = std::move(values);
  return tensor;
}

/// The outcome of the graph of a row; `again`: after it is written and read once more.
inline std::string outcome_of_row(std::string_view row, bool again = false) {
  return testing::outcome_of(
      [&] {
        Model model = RowReader(row).file().read();
        return again ? written_again(model) : model;
      },
      counted_input);
}

}  // namespace spdnn::onnx_test
