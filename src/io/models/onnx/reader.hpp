#pragma once

#include <filesystem>
#include <optional>

#include "io/files/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Reads a network from an ONNX file. `shape` applies to the model's only input: it fills in open axes other than the
/// batch, or replaces the file's batch size on axis 0 by kBatchExtent or another number. All shapes of the result are
/// known; zero weights are dropped from its matrices.
///
/// Supports ONNX versions (IR) 3 to 10 and operator sets 1 to 21, with the operators of onnx/operators.cpp. Throws
/// DataError, naming the file, the node and the attribute, if the file is malformed or asks for something that Model
/// cannot express; UsageError if `shape` does not fit the file.
Model read_onnx(const std::filesystem::path& path, const std::optional<Shape>& shape = std::nullopt);
/// The same for an open file. External data are read from the folder of its name.
Model read_onnx(const InputFile& file, const std::optional<Shape>& shape = std::nullopt);

}  // namespace spdnn
