#pragma once

#include <string>

#include "program/kernel.hpp"
#include "spdnn/outcome.hpp"

// What the program asks of the shared object that is linked with oneDNN, which lies beside it and is opened by runs
// that use it: oneDNN brings OpenCL along, and both would cost the start of every run most of a millisecond. It is
// built from the same sources at the same time as the program, and so has the same types.

extern "C" {

struct SpdnnOnednnFunctions {
  const char* build;  ///< interface_text() of its build: that of the program, or the types may be others
  /// Why this processor cannot compute in that precision by oneDNN; empty where it can.
  std::string (*why_not)(spdnn::Precision precision);
  const spdnn::program::Kernels& (*kernels)();
};

/// The one function that the shared object exports.
const SpdnnOnednnFunctions* spdnn_onednn_functions_2();
}
