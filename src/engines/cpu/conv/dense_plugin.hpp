#pragma once

#include <memory>

#include "spdnn/model_engine.hpp"

// What conv_dense and sparse_linear ask of the shared object that is linked with oneDNN, which lies beside the program
// and is opened by runs that use it: oneDNN brings OpenCL along, and both would cost the start of every run most of a
// millisecond. It is built from the same sources at the same time as the program, and so has the same types.

extern "C" {

struct SpdnnDenseFunctions {
  const char* build;  ///< interface_text() of its build: that of the program, or the types may be others
  /// `sparse_linear`: linear nodes leave zeros out where that is faster.
  spdnn::Support (*support)(const spdnn::Model& model, const spdnn::ModelEngineOptions& options, bool sparse_linear);
  std::unique_ptr<spdnn::ModelEngine> (*make)(std::shared_ptr<const spdnn::Model> model,
                                              const spdnn::ModelEngineOptions& options, bool sparse_linear);
};

/// The one function that the shared object exports.
const SpdnnDenseFunctions* spdnn_dense_functions_1();
}
