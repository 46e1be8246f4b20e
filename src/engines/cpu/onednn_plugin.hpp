#pragma once

#include <string>

#include "program/kernel.hpp"
#include "spdnn/outcome.hpp"

// The interface of the oneDNN plug-in, a shared object beside the program that only runs with oneDNN open: oneDNN loads
// OpenCL, and both would cost every start almost a millisecond. The plug-in is built from the same sources at the same
// time as the program, and so has the same types.

extern "C" {

struct SpdnnOnednnFunctions {
  const char* build;  ///< interface_text() of its build: that of the program, or the types may be others
  /// The reason why oneDNN does not support that precision on this processor, or empty.
  std::string (*why_not)(spdnn::Precision precision);
  const spdnn::program::Kernels& (*kernels)();
};

/// The one function that the shared object exports.
const SpdnnOnednnFunctions* spdnn_onednn_functions_2();
}
