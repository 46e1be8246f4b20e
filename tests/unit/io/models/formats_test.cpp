// A format is a folder and a line: tests the toy format of docs/add_a_file_format.md.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "io/models/model_file.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"
#include "unit/toy/linear_text.hpp"

namespace spdnn {
namespace {

constexpr std::array<ModelFormat, 2> kToys{{
    {".linear", read_then_reshape<toy::read_linear_text>, toy::write_linear_text},
    {".readable", read_then_reshape<toy::read_linear_text>, nullptr},
}};

class ToyFormat : public ::testing::Test {
 protected:
  std::string error_of_reading(const std::string& text) const {
    write_text(path_, text);
    try {
      read_model(path_, {}, kToys);
    } catch (const DataError& error) {
      const std::string message = error.what();
      return message.substr(message.find("model.linear"));
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "model.linear";
};

TEST_F(ToyFormat, AModelIsWrittenAndReadAgain) {
  testing::Rng rng(3);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 7});
  const Model model = builder.finish({builder.add(Linear{testing::random_weights(rng, 5, 7, 0.4), {}}, {x})});
  write_model(path_, model, kToys);
  const Model read = read_model(path_, {}, kToys);
  EXPECT_EQ(testing::ModelText::of(read, false), testing::ModelText::of(model, false));
  const Tensor images = testing::random_tensor(rng, {3, 7});
  EXPECT_EQ(evaluate(read, {images})[0].values, evaluate(model, {images})[0].values);
}

TEST_F(ToyFormat, AShapeIsTakenOrRefused) {
  write_text(path_, "1 2\n1 -2\n");
  const Model four = read_model(path_, Shape{4, 2}, kToys);
  EXPECT_EQ(four.values[four.outputs[0]].shape, (Shape{4, 1}));
  EXPECT_THROW(read_model(path_, Shape{4, 3}, kToys), UsageError);
}

TEST_F(ToyFormat, InvalidFilesAreRefusedWithTheirPlace) {
  EXPECT_EQ(error_of_reading("1 2\n1 -2\n"), "no error");
  EXPECT_EQ(error_of_reading("two\n"), "model.linear:1: expected the numbers of outputs and inputs");
  EXPECT_EQ(error_of_reading("2 2\n1 2\n3 x\n"), "model.linear:3: expected 2 weights");
  EXPECT_EQ(error_of_reading("1 2\n1 2\n3 4\n"), "model.linear:3: more than 1 lines of weights");
  EXPECT_EQ(error_of_reading("65536 65536\n1\n"), "model.linear: 65536 x 65536 weights are more than the file holds");
}

TEST_F(ToyFormat, WhatItCannotExpressIsNotWritten) {
  testing::ModelBuilder builder;
  const Model relu = builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 2})})});
  EXPECT_THROW(write_model(path_, relu, kToys), DataError);
  EXPECT_THROW(write_model(directory_ / "model.readable", relu, kToys), DataError);
}

TEST(ModelFormats, EndingsAreListedInMessages) {
  EXPECT_EQ(read_endings(), ".onnx, .tflite, .safetensors or .spdnn");
  EXPECT_EQ(written_endings(), ".onnx, .safetensors or .spdnn");
  EXPECT_EQ(read_endings(kToys), ".linear or .readable");
  EXPECT_EQ(written_endings(kToys), ".linear");
  EXPECT_EQ(find_format("model.linear", kToys), kToys.data());
  EXPECT_EQ(find_format("model.linear", model_formats()), nullptr);
}

TEST(ModelFormats, NamesTellWhatFilesAreAndWhatMakesAModelOfThem) {
  const TemporaryDirectory directory;
  create_directory(directory / "saved");
  write_text(directory / "saved/saved_model.pb", "");
  std::string table;
  for (const std::string name :
       {"a.onnx", "a.tflite", "a.safetensors", "a.spdnn", "a.pt", "a.pth", "a.ckpt", "saved", "saved/saved_model.pb",
        "saved_model.pb", "a.pb", "a.h5", "a.hdf5", "a.keras", "a.txt", "onnx", "a.onnx.txt"}) {
    const std::filesystem::path path = directory / name;
    const std::string hint = conversion_hint(path);
    table += fmt::format("{} {:d}{:d}{}{}; ", name, names_model(path), is_written_form(path),
                         files_beside(path) == std::vector{directory / "architecture.json"} ? " beside" : "",
                         hint.empty() ? "" : hint.substr(31, 2));
  }
  EXPECT_EQ(
      table,
      "a.onnx 11; a.tflite 10; a.safetensors 11 beside; a.spdnn 01; a.pt 00(m; a.pth 00(m; a.ckpt 00(m; saved 00sa; "
      "saved/saved_model.pb 00sa; saved_model.pb 00sa; a.pb 00gr; a.h5 00ke; a.hdf5 00ke; a.keras 00ke; a.txt 00; "
      "onnx 00; a.onnx.txt 00; ");
}

}  // namespace
}  // namespace spdnn
