#pragma once

#include <string>
#include <vector>

#include "report/baselines.hpp"
#include "report/document.hpp"
#include "report/run_line.hpp"

namespace spdnn {

struct ResultsRequest {
  std::string title;
  std::string baseline_variant = {};     ///< empty: none
  std::vector<Baseline> baselines = {};  ///< of other systems
  bool all = false;                      ///< also show results that later builds have replaced
};

/// The report of `spdnn report`. UsageError if no line is from the baseline variant.
Document results_document(const ResultLines& lines, const ResultsRequest& request);

}  // namespace spdnn
