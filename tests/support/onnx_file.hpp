#pragma once

// ONNX files for tests, made with protobuf.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/models/onnx/proto.hpp"
#include "io/models/onnx/reader.hpp"
#include "support/refusal.hpp"

namespace spdnn::onnx_test {

/// A file of format version 8 and operator set 17, unless changed.
struct File {
  onnx::ModelProto proto;

  explicit File(int opset = 17) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("net");
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  /// An extent of -1 has no fixed length.
  File& input(const std::string& name, const std::vector<std::int64_t>& shape) {
    describe(*graph().add_input(), name, shape);
    return *this;
  }
  File& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  onnx::TensorProto& tensor(const std::string& name, const std::vector<std::int64_t>& shape, int type) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }
  File& floats(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    tensor(name, shape, onnx::TensorProto::FLOAT)
        .set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    return *this;
  }
  /// A sparse initializer: the non-zeros, with linear indices or with one index per axis.
  File& sparse_floats(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values,
                      bool by_axis) {
    onnx::SparseTensorProto& sparse = *graph().add_sparse_initializer();
    for (const std::int64_t extent : shape) sparse.add_dims(extent);
    sparse.mutable_values()->set_name(name);
    sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      sparse.mutable_values()->add_float_data(values[i]);
      auto row = static_cast<std::int64_t>(values.size());
      for (std::size_t axis = 0; by_axis && axis < shape.size(); ++axis) {
        const std::int64_t within = static_cast<std::int64_t>(i) % row;
        row /= shape[axis];
        sparse.mutable_indices()->add_int64_data(within / row);
      }
      if (!by_axis) sparse.mutable_indices()->add_int64_data(static_cast<std::int64_t>(i));
    }
    const auto count = sparse.values().float_data_size();
    sparse.mutable_values()->add_dims(count);
    sparse.mutable_indices()->add_dims(count);
    if (by_axis) sparse.mutable_indices()->add_dims(static_cast<std::int64_t>(shape.size()));
    return *this;
  }
  File& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& list = tensor(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t value : values) list.add_int64_data(value);
    return *this;
  }
  /// A node with the name of its output.
  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(type);
    node.set_name(output);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  }

  std::string bytes() const { return proto.SerializeAsString(); }
  void write(const std::filesystem::path& path) const { std::ofstream(path, std::ios::binary) << bytes(); }
  /// Reads the model without writing a file.
  Model read(const std::optional<Shape>& shape = std::nullopt) const {
    const std::string all = bytes();
    return read_onnx(InputFile("net.onnx", std::as_bytes(std::span(all))), shape);
  }

 private:
  static void describe(onnx::ValueInfoProto& value, const std::string& name, const std::vector<std::int64_t>& shape) {
    value.set_name(name);
    onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape();
    for (const std::int64_t extent : shape) {
      auto& axis = *type.mutable_shape()->add_dim();
      if (extent == -1) {
        axis.set_dim_param("open");
      } else {
        axis.set_dim_value(extent);
      }
    }
  }
};

inline onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                                       onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
inline void set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const char* value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& one = attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) one.add_ints(value);
}

using testing::expect_part;
using testing::refusal;

}  // namespace spdnn::onnx_test
