#pragma once

#include <functional>

#include "program/choose.hpp"
#include "program/program.hpp"
#include "program/target.hpp"
#include "spdnn/model.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {
class Magnitudes;
}

namespace spdnn::program {

struct CompileOptions {
  Precision precision = Precision::fp32;  ///< that the kernels are for
  ElementType type = ElementType::fp32;   ///< of activations between nodes
  Extent kernels_for = 1;                 ///< see Request
  bool epilogues = true;                  ///< nodes may be computed with the one before them
  int threads = 1;
  double compile_seconds = 0;          ///< see Request
  bool every_tiling = false;           ///< likewise
  Kernels kernels{};                   ///< that may be offered
  Target* target = nullptr;            ///< of those that run on a device
  KnownWholeWeights* known = nullptr;  ///< see Request; compile() has its own
  /// Replace choose() and choose_change(), if given; they are asked in the order of the program's actions.
  std::function<Choice(const Request&)> chooser{};
  std::function<Choice(const Change&)> change_chooser{};
};

/// Chooses kernels and layouts for every step of the model, one after another, or along the cheapest path (path.hpp) if
/// that is predicted to take less time, on a device a hundredth less; and lays out the buffers; for OpenMP's current
/// number of threads. The model must outlive the program. UsageError if no kernel supports a node.
Program compile(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options);

}  // namespace spdnn::program
