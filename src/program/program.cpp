#include "program/program.hpp"

#include <fmt/format.h>

#include "core/text/message.hpp"
#include "model/graph/node_text.hpp"

namespace spdnn::program {

namespace {

std::string operation_text(const Action& action, const Model& model) {
  if (action.kind == Action::Kind::change) return "change of layout";
  if (action.kind == Action::Kind::watch) return "look for overflow";
  std::string all = node_text(model, action.step.node);
  for (const Index node : action.step.fused) all += fmt::format(" + {}", operation_name(model.nodes[node].operation));
  return escaped(all);
}

std::string why_text(const Action& action) {
  if (action.others.empty()) return action.detail;
  return fmt::format("{}{}others: {}", action.detail, action.detail.empty() ? "" : "; ", action.others);
}

std::string layouts_text(const Action& action) {
  std::string all;
  for (const Operand& input : action.inputs) all += (all.empty() ? "" : ", ") + text(input.layout);
  if (action.kind == Action::Kind::watch) return all;
  return all + " -> " + text(action.output.layout);
}

}  // namespace

std::vector<ProgramStep> described(const Program& program, const Model& model) {
  std::vector<ProgramStep> steps;
  for (const Action& action : program.actions)
    steps.push_back({.seconds = action.seconds,
                     .kernel = action.kernel,
                     .layouts = layouts_text(action),
                     .operation = operation_text(action, model),
                     .why = why_text(action),
                     .node = action.node});
  return steps;
}

}  // namespace spdnn::program
