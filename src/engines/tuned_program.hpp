#pragma once

#include <string>

#include "engines/model_engine.hpp"

namespace spdnn {

struct TunedProgram {
  std::string text;         ///< of a program to be stored with its model
  std::string calibration;  ///< the text of program::calibration_file(); empty for a device
};

/// A program whose kernels were chosen by times measured on this machine; see program/tune.hpp. UsageError if the
/// variant does not choose among kernels.
TunedProgram tuned_program(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options);

}  // namespace spdnn
