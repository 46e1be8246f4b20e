#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "model/graph/magnitudes.hpp"
#include "program/steps.hpp"
#include "spdnn/model.hpp"

namespace spdnn::program {

/// Decides which values a run must look at, so that all its numbers are known to be finite: as few as prove the others.
/// Steps are shown to it in their order.
class OverflowGuard {
 public:
  /// The images are known to be within kLargestTrusted.
  OverflowGuard(const Model& model, const Magnitudes& magnitudes);

  /// A value to check, and its limit.
  struct Look {
    ValueId value = 0;
    double limit = 0;
  };
  /// Before the step is run; `there` says which values have been computed.
  std::vector<Look> before(const Step& step, const std::function<bool(ValueId)>& there);
  /// A value is known to stay within a limit.
  void limit(ValueId value, double largest) { largest_[value] = std::min(largest_[value], largest); }
  /// After it.
  std::optional<Look> after(const Step& step);

  /// The first node that may exceed fp32 whatever it reads.
  std::optional<Index> unproven() const { return unproven_; }

 private:
  double largest_in(const Step& step);

  const Model& model_;
  const Magnitudes& magnitudes_;
  std::vector<double> largest_;  ///< by value: the bound of its numbers as long as checked values keep their limits
  std::optional<Index> unproven_;
};

}  // namespace spdnn::program
