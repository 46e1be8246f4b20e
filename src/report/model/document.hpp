#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/types/program_step.hpp"
#include "model/graph/node_work.hpp"
#include "report/document.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// A variant's support for a model.
struct VariantAnswer {
  std::string name;
  std::string description;
  std::string why_not;                 ///< empty if it supports the model
  std::size_t bytes = 0;               ///< required memory
  std::vector<std::string> remarks{};  ///< its remarks, node by node, with reasons
  std::vector<ProgramStep> program{};  ///< the kernels that would run
};

/// The data that `spdnn inspect` shows of a model: printed, as JSON and as a page. The model, whose shapes must be
/// known, must outlive it.
struct ModelView {
  std::string name;  ///< of the file
  const Model& model;
  std::vector<std::string> notes{};  ///< on the model, for people
  std::vector<NodeWork> work{};      ///< by node
  ModelWork total{};
  Index batch = 1;  ///< images at a time assumed for the variants
  std::vector<VariantAnswer> answers{};
  std::string would_run{};  ///< the variant that `infer` chooses, and its precision; empty if it refuses the model
  std::string why{};        ///< the reason for the choice or the refusal
};

/// The kernels of the variant that would run; empty if it runs none or `infer` refuses the model.
std::vector<ProgramStep> program_of(const ModelView& view);

/// The view without the variants.
ModelView view_of(std::string name, const Model& model);

/// The node, from 0, that is shown in detail by default: the one with the most weights. Empty if no node has weights.
std::optional<std::size_t> heaviest_node(const ModelView& view);

/// A page about a model: its nodes, their sparsity and that of their rows, the positions of the non-zeros of the node
/// `shown`, the work, and the variants that could do it. Cost: a pass over the weights.
Document model_document(const ModelView& view, std::optional<std::size_t> shown);

}  // namespace spdnn
