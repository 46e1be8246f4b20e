#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The weights and multiply-adds of a node; zeros for nodes without weights.
struct NodeWork {
  Offset weights = 0;                                                     ///< zeros included
  Offset nonzeros = 0;                                                    ///< of these
  Index rows = 0;                                                         ///< output channels
  Index least = 0;                                                        ///< non-zeros of a row
  Index most = 0;                                                         ///< likewise
  double places = 0;                                                      ///< where each row is applied, for one image
  double dense() const { return places * static_cast<double>(weights); }  ///< multiply-adds for one image
  double sparse() const { return places * static_cast<double>(nonzeros); }  ///< of these, of weights that are not zero
  double mean() const { return rows == 0 ? 0 : static_cast<double>(nonzeros) / rows; }
};

/// The sums over all nodes; multiply-adds are those for one image.
struct ModelWork {
  Offset weights = 0;
  Offset nonzeros = 0;
  double dense = 0;
  double sparse = 0;
};
ModelWork sum_of(const std::vector<NodeWork>& nodes);

/// By node. The shapes must be known; a batch of kBatchExtent counts as one image, and so does any other axis 0.
std::vector<NodeWork> work_of(const Model& model);

/// Bytes of weights, biases and constants as the model holds them.
std::size_t bytes_of(const Model& model);

/// Weights of one form (Weights::form()).
struct FormBytes {
  std::string form;
  std::size_t nodes = 0;  ///< that have it
  std::size_t bytes = 0;  ///< of their weights
};
/// The forms of the model's weights, by name.
std::vector<FormBytes> bytes_by_form(const Model& model);
/// A note for the report on weights that are not fp32 matrices; empty if there are none.
std::optional<std::string> note_on_forms(const Model& model);

}  // namespace spdnn
