#pragma once

#include <optional>
#include <string>

#include "inference/prune/prune_model.hpp"
#include "report/prune_report.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn {

/// What `prune` is asked for.
struct PruneSpec {
  std::string model;  ///< for read_model()
  std::string out;    ///< its name in the report
  std::optional<Shape> shape{};
  std::optional<WantedShare> share{};    ///< this, or
  std::string shares{};                  ///< a file of shares, or
  std::optional<double> min_accuracy{};  ///< the search's (search.hpp); or none with a structure n_of_m
  PruneSettings settings{};              ///< of `batch` 0, as are all runs
  ModelInputs inputs{};                  ///< may be empty
  std::string labels{};                  ///< a file; may be empty
  Index calibrate = 0;                   ///< images, from the first; 0: half of them, at most 512
  Index batch = 1;                       ///< that times are predicted for
};

struct PruneResult {
  Model model;
  PruneReport report;
};

/// Reads the model and the images, prunes, and measures what was lost on the images after those of the calibration, or
/// on the same if there are no others. UsageError for contradictory settings, DataError if files do not fit.
PruneResult prune(const PruneSpec& spec);

}  // namespace spdnn
