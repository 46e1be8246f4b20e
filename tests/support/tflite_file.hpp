#pragma once

// TensorFlow Lite files for tests, made with FlatBuffers.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/models/tflite/reader.hpp"
#include "io/models/tflite/schema.hpp"
#include "support/refusal.hpp"

namespace spdnn::tflite_test {

using Code = tflite::BuiltinOperator;
using Shape32 = std::vector<std::int32_t>;

/// A file of one graph; buffer 0 is empty, as the format asks.
struct File {
  tflite::ModelT model;

  File() {
    model.version = 3;
    model.buffers.push_back(std::make_unique<tflite::BufferT>());
    model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>());
    graph().name = "main";
  }
  tflite::SubGraphT& graph() { return *model.subgraphs[0]; }

  std::int32_t tensor(const std::string& name, const Shape32& shape,
                      tflite::TensorType type = tflite::TensorType::FLOAT32) {
    graph().tensors.push_back(std::make_unique<tflite::TensorT>());
    tflite::TensorT& tensor = *graph().tensors.back();
    tensor.name = name;
    tensor.shape = shape;
    tensor.type = type;
    return static_cast<std::int32_t>(graph().tensors.size() - 1);
  }
  std::int32_t input(const Shape32& shape) {
    graph().inputs.push_back(tensor("x", shape));
    return graph().inputs.back();
  }
  template <class Number>
  std::int32_t constant(const std::string& name, const Shape32& shape, const std::vector<Number>& values,
                        tflite::TensorType type) {
    const std::int32_t id = tensor(name, shape, type);
    graph().tensors.back()->buffer = static_cast<std::uint32_t>(model.buffers.size());
    model.buffers.push_back(std::make_unique<tflite::BufferT>());
    model.buffers.back()->data.resize(values.size() * sizeof(Number));
    if (!values.empty()) std::memcpy(model.buffers.back()->data.data(), values.data(), values.size() * sizeof(Number));
    return id;
  }
  std::int32_t floats(const std::string& name, const Shape32& shape, const std::vector<float>& values) {
    return constant(name, shape, values, tflite::TensorType::FLOAT32);
  }
  std::int32_t integers(const std::string& name, const Shape32& shape, const std::vector<std::int32_t>& values) {
    return constant(name, shape, values, tflite::TensorType::INT32);
  }
  /// A buffer of numbers, given by their bits.
  std::int32_t halves(const std::string& name, const Shape32& shape, const std::vector<std::uint16_t>& bits) {
    return constant(name, shape, bits, tflite::TensorType::FLOAT16);
  }

  /// Adds an operator and its output of that shape; returns the output.
  std::int32_t add(Code code, const std::vector<std::int32_t>& inputs, const Shape32& shape) {
    const std::int32_t made = tensor("y" + std::to_string(graph().operators.size()), shape);
    model.operator_codes.push_back(std::make_unique<tflite::OperatorCodeT>());
    model.operator_codes.back()->builtin_code = code;
    graph().operators.push_back(std::make_unique<tflite::OperatorT>());
    last().opcode_index = static_cast<std::uint32_t>(model.operator_codes.size() - 1);
    last().inputs = inputs;
    last().outputs = {made};
    return made;
  }
  template <class Options>
  std::int32_t add(Code code, const std::vector<std::int32_t>& inputs, const Shape32& shape, Options options) {
    const std::int32_t made = add(code, inputs, shape);
    last().builtin_options.Set(std::move(options));
    return made;
  }
  tflite::OperatorT& last() { return *graph().operators.back(); }
  File& output(std::int32_t id) {
    graph().outputs.push_back(id);
    return *this;
  }

  std::string bytes() const {
    flatbuffers::FlatBufferBuilder builder;
    tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
    return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
  }
  Model read(const std::optional<Shape>& shape = std::nullopt) const {
    const std::string all = bytes();
    return read_tflite(InputFile("net.tflite", std::as_bytes(std::span(all))), shape);
  }
};

/// CSR over the last axis, the axes before it dense: TensorFlow's form of pruned pointwise filters.
inline std::unique_ptr<tflite::SparsityParametersT> csr(const Shape32& shape, const std::vector<std::uint8_t>& segments,
                                                        const std::vector<std::uint8_t>& indices) {
  auto sparsity = std::make_unique<tflite::SparsityParametersT>();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    sparsity->traversal_order.push_back(static_cast<std::int32_t>(axis));
    sparsity->dim_metadata.push_back(std::make_unique<tflite::DimensionMetadataT>());
    sparsity->dim_metadata.back()->dense_size = shape[axis];
  }
  tflite::DimensionMetadataT& last = *sparsity->dim_metadata.back();
  last.format = tflite::DimensionType::SPARSE_CSR;
  last.dense_size = 0;
  tflite::Uint8VectorT list;
  list.values = segments;
  last.array_segments.Set(tflite::Uint8VectorT(list));
  list.values = indices;
  last.array_indices.Set(std::move(list));
  return sparsity;
}

/// Of 2 x 4 weights in blocks of 1 x 2: the first row has the second block, and the second row the first.
inline std::unique_ptr<tflite::SparsityParametersT> two_blocks() {
  auto sparsity = csr({2, 2}, {0, 1, 2}, {1, 0});
  sparsity->traversal_order = {0, 1, 2};
  sparsity->block_map = {1};
  sparsity->dim_metadata.push_back(std::make_unique<tflite::DimensionMetadataT>());
  sparsity->dim_metadata.back()->dense_size = 2;
  return sparsity;
}

using testing::expect_part;
using testing::refusal;

}  // namespace spdnn::tflite_test
