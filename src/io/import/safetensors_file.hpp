#pragma once

#include <map>
#include <string>

#include "io/import/numbers.hpp"
#include "io/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The container of huggingface/safetensors: the length of the header (8 bytes, little-endian), the header (a JSON
/// object of the tensors' types, shapes and places), then the numbers, little-endian and by rows. All numbers belong to
/// exactly one tensor. Types: those of NumberType.
class SafetensorsFile {
 public:
  /// Reads the header and checks it against the size of the file. DataError for anything else. `file` must outlive
  /// this.
  explicit SafetensorsFile(const InputFile& file);

  struct Stored {
    Shape shape;
    StoredNumbers numbers;
  };
  const std::map<std::string, Stored>& tensors() const { return tensors_; }
  const InputFile& file() const { return file_; }

  /// A tensor as fp32. DataError where there is none of that name, or a number is not finite.
  Tensor read(const std::string& tensor) const;

 private:
  const InputFile& file_;
  std::map<std::string, Stored> tensors_;
};

}  // namespace spdnn
