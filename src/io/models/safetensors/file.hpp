#pragma once

#include <map>
#include <string>

#include "io/arrays/numbers.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The container format of huggingface/safetensors: the length of the header (8 bytes, little-endian), the header (a
/// JSON object with the tensors' types, shapes and offsets), then the numbers, little-endian and row-major. Every
/// number belongs to exactly one tensor. The types are those of NumberType.
class SafetensorsFile {
 public:
  /// Reads the header and checks it against the size of the file. DataError if it is invalid. `file` must outlive this
  /// object.
  explicit SafetensorsFile(const InputFile& file);

  struct Stored {
    Shape shape;
    StoredNumbers numbers;
  };
  const std::map<std::string, Stored>& tensors() const { return tensors_; }
  const InputFile& file() const { return file_; }

  /// A tensor as fp32. DataError if there is no tensor of that name, or if a number is not finite.
  Tensor read(const std::string& tensor) const;

 private:
  const InputFile& file_;
  std::map<std::string, Stored> tensors_;
};

}  // namespace spdnn
