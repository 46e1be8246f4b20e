#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/calibration.hpp"
#include "program/kernel.hpp"
#include "program/trial.hpp"

namespace spdnn::program {

/// Kernels whose offers and changes of layout have the seconds that they take on this machine, instead of
/// predicted ones. Everything is timed once, on operands of its own, by its shortest run: other programs that run at
/// the same time make runs longer, never shorter. Offers that are predicted to take many times as long as a measured
/// one of the same step keep their prediction.
class MeasuredKernels {
 public:
  /// The kernels, and the device that some of them run on, outlive this. `target`: null if all run on the host.
  explicit MeasuredKernels(const Kernels& kernels, Target* target = nullptr);
  ~MeasuredKernels();
  MeasuredKernels(const MeasuredKernels&) = delete;
  MeasuredKernels& operator=(const MeasuredKernels&) = delete;

  /// In the given order.
  const Kernels& kernels() const { return kernels_; }
  /// From all that was measured so far.
  Calibration calibration() const;

 private:
  class Measured;
  struct Ratios {
    double sum_of_logarithms = 0;  ///< of measured over predicted seconds
    double count = 0;
  };
  struct Times {
    double measured(const std::string& name, double predicted, Trial trial);
    std::map<std::string, double> seconds;  ///< of an offer or a change
    std::map<std::string, double> least;    ///< of the offers of a step
    std::map<std::string, Ratios> ratios;   ///< by calibrated_name()
  };
  Times times_;
  std::vector<std::unique_ptr<Kernel>> owned_;
  Kernels kernels_;
};

}  // namespace spdnn::program
