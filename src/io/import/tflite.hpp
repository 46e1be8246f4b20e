#pragma once

#include <filesystem>
#include <optional>

#include "io/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Reads a network from a TensorFlow Lite file, whose sparse tensors are read as such. Images, N x H x W x C in the
/// file, are N x C x H x W in the model, its inputs too; outputs keep the file's order of axes. `shape` is that of the
/// model's only input, N x C x H x W, where the file leaves axes open other than that of the batch, or gives the batch
/// a length that is not wanted: kBatchExtent, or another number, on axis 0. The shapes of all values are known in what
/// is returned; zero weights are no entries of its matrices.
///
/// Read are models of FLOAT32 with weights of FLOAT32 or FLOAT16, with the operators of tflite/operators.cpp. Throws
/// DataError, naming the file and the operator or tensor, where the file is malformed or asks for something that Model
/// cannot say; UsageError where `shape` does not fit the file.
Model read_tflite(const std::filesystem::path& path, const std::optional<Shape>& shape = std::nullopt);
/// The same of a file that is open.
Model read_tflite(const InputFile& file, const std::optional<Shape>& shape = std::nullopt);

}  // namespace spdnn
