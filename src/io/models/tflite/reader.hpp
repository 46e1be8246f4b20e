#pragma once

#include <filesystem>
#include <optional>

#include "io/files/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Reads a network from a TensorFlow Lite file, including sparse tensors. Images, N x H x W x C in the file, are N x C
/// x H x W in the model and its inputs; outputs keep the file's order of axes. `shape`, N x C x H x W, applies to the
/// model's only input: it fills in open axes other than the batch, or replaces the file's batch size on axis 0 by
/// kBatchExtent or another number. All shapes of the result are known; zero weights are dropped from its matrices.
///
/// Supports FLOAT32 models with weights of FLOAT32 or FLOAT16 and the operators of tflite/operators.def. Throws
/// DataError, naming the file and the operator or tensor, if the file is malformed or asks for something that Model
/// cannot express; UsageError if `shape` does not fit the file.
Model read_tflite(const std::filesystem::path& path, const std::optional<Shape>& shape = std::nullopt);
/// The same for an open file.
Model read_tflite(const InputFile& file, const std::optional<Shape>& shape = std::nullopt);

}  // namespace spdnn
