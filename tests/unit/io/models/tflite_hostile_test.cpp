// TensorFlow Lite files that are damaged, inconsistent or not supported are refused with one message that names the
// fault.

#include <limits>
#include <utility>

#include "support/tflite_file.hpp"

namespace spdnn {
namespace {

using tflite_test::Code;
using tflite_test::csr;
using tflite_test::expect_part;
using TfliteFile = tflite_test::File;
using tflite_test::refusal;
using tflite_test::Shape32;
using tflite_test::two_blocks;

/// x (1 x 2 x 2 x 3) -> CONV_2D with sparse filters of 2 x 1 x 1 x 3 -> y.
struct TfliteConvFile : TfliteFile {
  TfliteConvFile() {
    const auto x = input({1, 2, 2, 3});
    const auto w = floats("w", {2, 1, 1, 3}, {1, 2, 3});
    filters().sparsity = csr({2, 1, 1, 3}, {0, 1, 3}, {1, 0, 2});
    tflite::Conv2DOptionsT options;
    options.stride_h = options.stride_w = 1;
    output(add(Code::CONV_2D, {x, w}, {1, 2, 2, 2}, options));
  }
  tflite::TensorT& filters() { return *graph().tensors[1]; }
  tflite::DimensionMetadataT& last_axis() { return *filters().sparsity->dim_metadata[3]; }
  tflite::Conv2DOptionsT& options() { return *graph().operators[0]->builtin_options.AsConv2DOptions(); }
};

template <class Change>
std::string refused(Change change) {
  TfliteConvFile file;
  change(file);
  return refusal(file);
}

TEST(TfliteHostile, AFileThatEndsEarlyIsRefused) {
  const std::string whole = TfliteConvFile().bytes();
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    const std::string part = whole.substr(0, size);
    try {
      (void)read_tflite(InputFile("net.tflite", std::as_bytes(std::span(part))));
      ADD_FAILURE() << size << " of " << whole.size() << " bytes were read";
    } catch (const DataError& error) {
      expect_part(error.what(), "net.tflite: ");
    }
  }
}

TEST(TfliteHostile, AChangedByteNeverEndsInAnythingButAMessage) {
  const std::string whole = TfliteConvFile().bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      try {
        (void)read_tflite(InputFile("net.tflite", std::as_bytes(std::span(changed))));
      } catch (const DataError& error) {
        expect_part(error.what(), "net.tflite: ");
      }
    }
  }
}

TEST(TfliteHostile, SparsityThatDoesNotFitIsRefused) {
  const std::string where = "net.tflite: tensor 1 'w': sparsity: ";
  const auto list = [](const std::vector<std::uint8_t>& values) {
    tflite::Uint8VectorT numbers;
    numbers.values = values;
    return numbers;
  };
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.last_axis().array_indices.Set(list({1, 0, 3}));
            }),
            where + "array_indices: 3 is outside 0..2");
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.last_axis().array_indices.Set(list({1, 2, 2}));
            }),
            where + "array_indices do not ascend at number 3");
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.last_axis().array_indices.Set(list({1, 0}));
            }),
            where + "array_segments: expected 3 numbers from 0 to 2");
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.last_axis().array_segments.Set(list({0, 4, 3}));
            }),
            where + "array_segments descend at number 3");
  for (const std::vector<std::uint8_t>& segments :
       {std::vector<std::uint8_t>{1, 1, 3}, {0, 1, 2}, {0, 3}, {0, 1, 1, 3}})
    EXPECT_EQ(refused([&](TfliteConvFile& file) { file.last_axis().array_segments.Set(list(segments)); }),
              where + "array_segments: expected 3 numbers from 0 to 3");
  tflite::Int32VectorT below;
  below.values = {-1, 0, 2};
  EXPECT_EQ(refused([&](TfliteConvFile& file) { file.last_axis().array_indices.Set(below); }),
            where + "array_indices: -1 is outside 0..2");
  EXPECT_EQ(refused([&](TfliteConvFile& file) { file.last_axis().array_segments.Reset(); }),
            where + "array_segments: expected 3 numbers from 0 to 3");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().sparsity->dim_metadata[0]->dense_size = 1 << 30; }),
            where + "dense_size 1073741824, expected 2");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().sparsity->traversal_order[1] = 0; }),
            where + "traversal_order: 0 is not one of the remaining axes");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().sparsity->block_map = {7}; }),
            where + "expected traversal_order and dim_metadata of 5 levels, one for each axis and each of blocks");
  for (const int numbers : {2, 4})
    EXPECT_EQ(refused([&](TfliteConvFile& file) { file.model.buffers[1]->data.resize(std::size_t{4} * numbers); }),
              where + "it describes 3 numbers, and the buffer has " + std::to_string(numbers));
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.model.buffers[1]->data.resize(13); }),
            "net.tflite: tensor 1 'w': 13 bytes do not fit 2 x 1 x 1 x 3 numbers of 4 bytes");
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.last_axis().array_segments.Set(list({1, 1, 3}));
            }),
            where + "array_segments: expected 3 numbers from 0 to 3");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last_axis().format = static_cast<tflite::DimensionType>(2); }),
            where + "a level is neither DENSE nor SPARSE_CSR");
}

TEST(TfliteHostile, BlocksThatDoNotFitAreRefused) {
  const auto with = [](auto change) {
    TfliteFile file;
    const auto w = file.floats("w", {2, 4}, {3, 4, 5, 6});
    auto sparsity = two_blocks();
    change(*sparsity);
    file.graph().tensors.back()->sparsity = std::move(sparsity);
    const auto x = file.input({1, 4});
    file.output(file.add(Code::FULLY_CONNECTED, {x, w}, {1, 2}, tflite::FullyConnectedOptionsT()));
    return refusal(file);
  };
  using Sparsity = tflite::SparsityParametersT;
  const std::string where = "net.tflite: tensor 0 'w': sparsity: ";
  EXPECT_EQ(with([](Sparsity&) {}), "it was read");
  for (const int length : {0, 3})
    EXPECT_EQ(with([&](Sparsity& of) { of.dim_metadata.back()->dense_size = length; }),
              where + "blocks of " + std::to_string(length) + " do not divide axis 1 of 2 x 4");
  EXPECT_EQ(with([](Sparsity& of) {
              of.traversal_order = {0, 2, 1};
              std::swap(of.dim_metadata[1], of.dim_metadata[2]);
            }),
            where + "traversal_order: 2 is not one of the remaining axes");
  EXPECT_EQ(with([](Sparsity& of) {
              of.traversal_order = {0, -1, 2};
            }),
            where + "traversal_order: -1 is not one of the remaining axes");
  for (const int axis : {-1, 2})
    EXPECT_EQ(with([&](Sparsity& of) { of.block_map = {axis}; }),
              where + "block_map: " + std::to_string(axis) + " is not a distinct axis");
  EXPECT_EQ(with([](Sparsity& of) {
              of.block_map = {1, 1};
              of.traversal_order.push_back(3);
              of.dim_metadata.push_back(std::make_unique<tflite::DimensionMetadataT>());
              of.dim_metadata.back()->dense_size = 1;
            }),
            where + "block_map: 1 is not a distinct axis");
}

TEST(TfliteHostile, TensorsThatLieAreRefused) {
  const auto big = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(refused([&](TfliteConvFile& file) {
              file.filters().shape = {big, big, big, big};
            }),
            "net.tflite: tensor 1 'w': 2147483647 x 2147483647 x 2147483647 x 2147483647 are too many elements");
  for (const bool size : {false, true})
    EXPECT_EQ(
        refused([&](TfliteConvFile& file) {
          tflite::BufferT& buffer = *file.model.buffers[1];
          (size ? buffer.size : buffer.offset) = 12;
        }),
        "net.tflite: tensor 1 'w': its bytes lie after the FlatBuffer, which is not supported; they must lie in it");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.graph().tensors[0]->type = tflite::TensorType::FLOAT16; }),
            "net.tflite: tensor 0 'x': inputs of FLOAT16 are not supported");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().sparsity.reset(); }),
            "net.tflite: tensor 1 'w': 12 bytes do not fit 2 x 1 x 1 x 3 numbers of 4 bytes");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().shape[0] = 0; }),
            "net.tflite: tensor 1 'w': an axis has the length 0, expected 1..2147483647");
  EXPECT_EQ(refused([](TfliteConvFile& file) {
              file.model.buffers[1]->data[3] = 0xff;
              file.model.buffers[1]->data[2] = 0xff;
            }),
            "net.tflite: tensor 1 'w': number 1 is -nan, expected finite numbers");
  for (const auto& [type, name] : {std::pair{tflite::TensorType::INT8, "INT8"},
                                   {tflite::TensorType::UINT8, "UINT8"},
                                   {tflite::TensorType::INT16, "INT16"}})
    EXPECT_EQ(refused([type = type](TfliteConvFile& file) { file.filters().type = type; }),
              std::string("net.tflite: tensor 1 'w': its numbers are ") + name +
                  ": quantised models are not supported, only FLOAT32 and FLOAT16");
  EXPECT_EQ(
      refused([](TfliteConvFile& file) { file.graph().tensors[0]->type = tflite::TensorType::UINT8; }),
      "net.tflite: tensor 0 'x': its numbers are UINT8: quantised models are not supported, only FLOAT32 and FLOAT16");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.filters().buffer = 77; }),
            "net.tflite: operator 0 (CONV_2D): input 1 'w': it depends on the inputs of the model, and must be a "
            "constant");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.graph().tensors[2]->shape[1] = 5; }),
            "net.tflite: operator 0 (CONV_2D): its output 'y0' has the shape 1 x 5 x 2 x 2 in the file, but 1 x 2 x 2 "
            "x 2 follows from its inputs, channels first");
}

TEST(TfliteHostile, GraphsThatAreNoneAreRefused) {
  EXPECT_EQ(
      refused([](TfliteConvFile& file) { file.last().inputs[0] = 2; }),
      "net.tflite: operator 0 (CONV_2D): input 0 'y0': it is neither a constant nor the output of an earlier operator");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().inputs[0] = 9; }),
            "net.tflite: tensor 9 does not exist; there are 3");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().outputs[0] = 0; }),
            "net.tflite: operator 0 (CONV_2D): its output 'x' has the shape 1 x 2 x 2 x 3 in the file, but 1 x 2 x 2 x "
            "2 follows from its inputs, channels first");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().outputs = {}; }),
            "net.tflite: operator 0 (CONV_2D): expected one output");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().inputs = {}; }),
            "net.tflite: operator 0 (CONV_2D): 0 inputs, expected 2..3");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().opcode_index = 5; }),
            "net.tflite: operator 0: its opcode_index 5 does not exist");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().opcode_index = 1; }),
            "net.tflite: operator 0: its opcode_index 1 does not exist");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.model.operator_codes.clear(); }),
            "net.tflite: operator 0: its opcode_index 0 does not exist");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.graph().outputs = {}; }), "net.tflite: the graph has no output");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.model.subgraphs.clear(); }), "net.tflite: it has no graph");
  EXPECT_EQ(refused([](TfliteConvFile& file) {
              file.model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>(*file.model.subgraphs[0]));
            }),
            "net.tflite: 2 graphs, as for conditions or loops, are not supported, only one");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.graph().inputs = {}; }), "net.tflite: the graph has no input");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.model.version = 4; }),
            "net.tflite: version 4 of the format is not supported, only 3");
}

TEST(TfliteHostile, WhatIsNotSupportedIsNamed) {
  expect_part(refused([](TfliteConvFile& file) { file.model.operator_codes[0]->builtin_code = Code::LSTM; }),
              "net.tflite: operator 0 (LSTM): the operator is not supported; supported operators: ABS, ADD, ");
  expect_part(refused([](TfliteConvFile& file) { file.model.operator_codes[0]->builtin_code = Code::LSTM; }),
              ", CUSTOM Convolution2DTransposeBias");
  expect_part(refused([](TfliteConvFile& file) {
                file.model.operator_codes[0]->builtin_code = Code::CUSTOM;
                file.model.operator_codes[0]->custom_code = "Landmarks";
              }),
              "net.tflite: operator 0 (CUSTOM Landmarks): the operator is not supported");
  EXPECT_EQ(
      refused([](TfliteConvFile& file) { file.options().fused_activation_function = tflite::FusedActivation::TANH; }),
      "net.tflite: operator 0 (CONV_2D): the fused activation TANH is not supported; expected NONE, RELU, RELU6 "
      "or RELU_N1_TO_1");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.options().stride_w = 0; }),
            "net.tflite: operator 0 (CONV_2D): stride_w 0 is outside 1..2147483647");
  EXPECT_EQ(refused([](TfliteConvFile& file) { file.last().builtin_options.Reset(); }),
            "net.tflite: operator 0 (CONV_2D): its options are missing, or belong to another operator");
}

TEST(TfliteHostile, AllThatIsNotSupportedIsNamedAtOnce) {
  expect_part(refused([](TfliteConvFile& file) {
                file.options().stride_w = 0;
                file.model.operator_codes.push_back(std::make_unique<tflite::OperatorCodeT>());
                file.model.operator_codes.back()->builtin_code = Code::LSTM;
                for (int i = 0; i < 3; ++i) {
                  auto& operators = file.graph().operators;
                  operators.push_back(std::make_unique<tflite::OperatorT>());
                  operators.back()->opcode_index =
                      i < 2 ? 1 : 0;  // the last one reads what the convolution does not make
                  operators.back()->inputs = operators[0]->outputs;
                }
              }),
              "net.tflite: 3 nodes are not supported: 2 LSTM, the first operator 1; 1 CONV_2D, operator 0: "
              "stride_w 0 is outside 1..2147483647; supported operators: ABS, ADD, ");
}

TEST(TfliteHostile, SizesOfImagesThatAreNoneAreRefused) {
  const auto resized_to = [](const std::vector<std::int32_t>& size) {
    TfliteFile file;
    const auto x = file.input({1, 2, 2, 3});
    const auto to = file.integers("to", {static_cast<std::int32_t>(size.size())}, size);
    file.output(file.add(Code::RESIZE_BILINEAR, {x, to}, {1, 4, 4, 3}, tflite::ResizeBilinearOptionsT()));
    return refusal(file);
  };
  const std::string where = "net.tflite: operator 0 (RESIZE_BILINEAR): input 1 'to': ";
  EXPECT_EQ(resized_to({4, 4}), "it was read");
  EXPECT_EQ(resized_to({4, 4, 4}), where + "expected two numbers, H and W");
  EXPECT_EQ(resized_to({4}), where + "expected two numbers, H and W");
  EXPECT_EQ(resized_to({4, 0}), where + "0 is outside 1..2147483647");
}

TEST(TfliteHostile, AFewBytesDoNotTakeMuchMemory) {
  TfliteFile file;
  const auto x = file.input({1, 1});
  const auto w = file.floats("w", {1, 30000}, std::vector<float>(30000, 1));
  for (int i = 0; i < 200; ++i) {
    file.add(Code::MUL, {x, w}, {1, 30000});
  }
  file.output(file.add(Code::MUL, {x, w}, {1, 30000}));
  (void)file.read();  // one constant, which all share
  const auto column = file.floats("column", {30000, 1}, std::vector<float>(30000, 1));
  auto sparsity = csr({30000, 30000}, {}, {});
  file.graph().tensors[static_cast<std::size_t>(column)]->shape = {30000, 30000};
  sparsity->dim_metadata[1]->format = tflite::DimensionType::DENSE;
  sparsity->dim_metadata[1]->dense_size = 30000;
  file.graph().tensors[static_cast<std::size_t>(column)]->sparsity = std::move(sparsity);
  file.add(Code::MUL, {x, column}, {30000, 30000});
  expect_part(refusal(file), "sparsity: it describes 900000000 numbers, and the buffer has 30000");
}

}  // namespace
}  // namespace spdnn
