#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/work.hpp"
#include "report/document.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// What a variant says of a model.
struct VariantAnswer {
  std::string name;
  std::string description;
  std::string why_not;                 ///< empty where it takes the model
  std::size_t bytes = 0;               ///< that it would take
  std::vector<std::string> remarks{};  ///< what it would do, node by node, and why
  std::vector<std::string> program{};  ///< what would run: a head, and a line for each kernel
};

/// What `spdnn inspect` knows of a model: printed, as JSON and as a page. The model, whose shapes are known, must
/// outlive it.
struct ModelView {
  std::string name;  ///< of the file
  const Model& model;
  std::vector<NodeWork> work{};  ///< by node
  ModelWork total{};
  Index batch = 1;  ///< images at a time, for which the variants were asked
  std::vector<VariantAnswer> answers{};
  std::string would_run{};  ///< the variant that `infer` chooses, and its precision; empty where it refuses the model
  std::string why{};        ///< it chooses so, or refuses the model
};

/// The view but for what variants say.
ModelView view_of(std::string name, const Model& model);

/// The node, from 0 on, that is looked at more closely where none is named: that with the most weights. Nothing where
/// no node has weights.
std::optional<std::size_t> heaviest_node(const ModelView& view);

/// The model seen: its nodes, how sparse they and their rows are, where the non-zeros of the node `shown` lie, what is
/// to be computed, and who would do so. Cost: a pass over the weights.
Document model_document(const ModelView& view, std::optional<std::size_t> shown);

}  // namespace spdnn
