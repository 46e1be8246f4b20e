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

std::string layouts_text(const Action& action) {
  std::string all;
  for (const Operand& input : action.inputs) all += (all.empty() ? "" : ", ") + text(input.layout);
  if (action.kind == Action::Kind::watch) return all;
  return all + " -> " + text(action.output.layout);
}

}  // namespace

std::vector<std::string> lines_of(const Program& program, const Model& model) {
  constexpr const char* kRow = "{:>4} {:>11} {:<22} {:<30} {}";
  std::vector<std::string> lines{fmt::format(fmt::runtime(kRow), "", "predicted", "kernel", "layouts", "operation")};
  for (const Action& action : program.actions)
    lines.push_back(fmt::format(
        fmt::runtime(kRow), lines.size(), fmt::format("{:.1f} us", 1e6 * action.seconds), action.kernel,
        layouts_text(action),
        operation_text(action, model) + (action.detail.empty() ? "" : fmt::format(" ({})", action.detail))));
  return lines;
}

}  // namespace spdnn::program
