#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "io/files/input_file.hpp"
#include "io/models/budget.hpp"
#include "io/models/onnx/proto.hpp"
#include "io/models/onnx/read/constant.hpp"

namespace spdnn::onnx_reader {

/// Reads the tensors of a file as constants, from any of the fields that may hold their elements and from external
/// data.
class TensorReader {
 public:
  /// `folder` is the model's; external data outside it are not read.
  TensorReader(std::string file, std::filesystem::path folder, Budget& budget)
      : file_(std::move(file)), folder_(std::move(folder)), budget_(budget) {}

  /// `what` names the tensor in messages: "initializer 'w'". DataError if its type is not supported, or if its number
  /// of elements does not match its shape.
  Constant read(const onnx::TensorProto& tensor, const std::string& what);
  /// The same of a tensor whose zeros are left out.
  SparseConstant read(const onnx::SparseTensorProto& tensor, const std::string& what);
  /// DataError if a file of external data has changed since it was opened.
  void check_unchanged() const;

 private:
  Shape shape_of(const google::protobuf::RepeatedField<std::int64_t>& dims, const std::string& what) const;
  /// The places of a sparse tensor's values, from either of the forms in which a file may have them.
  Array<std::int64_t> places(const Constant& indices, const Shape& shape, const std::string& what);
  [[noreturn]] void fail(const std::string& what, const std::string& problem) const;
  std::string external_bytes(const onnx::TensorProto& tensor, std::size_t expected, const std::string& what);
  const InputFile& companion(const std::string& location, const std::string& what);

  std::string file_;
  std::filesystem::path folder_;
  Budget& budget_;
  std::map<std::string, std::unique_ptr<const InputFile>> companions_;
};

/// ONNX's name of an element type: "FLOAT16".
std::string type_name(std::int64_t type);

}  // namespace spdnn::onnx_reader
