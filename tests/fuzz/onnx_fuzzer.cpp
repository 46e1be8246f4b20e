// ONNX files.

#include "fuzz/model_reader.hpp"
#include "io/models/onnx/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spdnn::fuzz::check_model_reader(data, size, "/nowhere/fuzz.onnx",
                                  [](const spdnn::InputFile& file) { return spdnn::read_onnx(file); });
  return 0;
}
