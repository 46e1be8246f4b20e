#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "io/import/budget.hpp"
#include "io/import/onnx/constant.hpp"
#include "io/import/onnx/proto.hpp"
#include "io/input_file.hpp"

namespace spdnn::onnx_reader {

/// Makes constants of the tensors of a file, from any of the fields that may hold their elements and from external
/// data.
class TensorReader {
 public:
  /// `folder` is that of the model, outside which no external data are read.
  TensorReader(std::string file, std::filesystem::path folder, Budget& budget)
      : file_(std::move(file)), folder_(std::move(folder)), budget_(budget) {}

  /// `what` names the tensor in messages: "initializer 'w'". DataError where its type is none of those that are read,
  /// or where it has not as many elements as its shape says.
  Constant read(const onnx::TensorProto& tensor, const std::string& what);
  /// DataError where a file of external data has changed since it was opened.
  void check_unchanged() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& problem) const;
  std::string external_bytes(const onnx::TensorProto& tensor, std::size_t expected, const std::string& what);
  const InputFile& companion(const std::string& location, const std::string& what);

  std::string file_;
  std::filesystem::path folder_;
  Budget& budget_;
  std::map<std::string, std::unique_ptr<const InputFile>> companions_;
};

/// The name of an element type, as ONNX has it: "FLOAT16".
std::string type_name(std::int64_t type);

}  // namespace spdnn::onnx_reader
