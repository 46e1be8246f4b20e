#pragma once

#include <filesystem>
#include <optional>

#include "io/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Reads a network from an ONNX file. `shape` is that of the model's only input, where the file leaves axes open other
/// than that of the batch, or gives the batch a length that is not wanted: kBatchExtent, or another number, on axis 0.
/// The shapes of all values are known in what is returned; zero weights are no entries of its matrices.
///
/// Read are files of ONNX's versions (IR) 3 to 10 and operator sets 1 to 21, with the operators of onnx/operators.cpp.
/// Throws DataError, naming the file, the node and the attribute, where the file is malformed or asks for something
/// that Model cannot say; UsageError where `shape` does not fit the file.
Model read_onnx(const std::filesystem::path& path, const std::optional<Shape>& shape = std::nullopt);
/// The same of a file that is open. External data are looked for in the folder of its name.
Model read_onnx(const InputFile& file, const std::optional<Shape>& shape = std::nullopt);

}  // namespace spdnn
