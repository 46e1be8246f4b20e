#pragma once

#include "program/calibration.hpp"
#include "program/compile.hpp"
#include "program/program.hpp"
#include "spdnn/model.hpp"

namespace spdnn {
class Magnitudes;
}

namespace spdnn::program {

/// A program, and how much longer than predicted kernels took.
struct Tuned {
  Program program;
  Calibration calibration;
};

/// Compiles the model with kernels' times as measured on this machine. Two other programs are compiled as well: one of
/// the kernels alone that multiply zeros, and one that skips zeros wherever a kernel does. All are run in turns, and if
/// one of the others is faster by more than kWorthMeasuring, it is the result: so the result is not slower than the
/// better one of these, but for that. A remark has the three times. `skipping`: those of options.kernels that skip
/// zeros. On OpenMP's current number of threads. On a device (options.target) the only other program is that of
/// predicted times, and every tiling is measured.
Tuned tuned(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
            const Kernels& skipping);

inline constexpr double kWorthMeasuring = 0.03;

}  // namespace spdnn::program
