#include "io/models/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spdnn {

void Refusals::add(const std::string& kind, const std::string& node, const DataError& refusal) {
  const std::string message = refusal.what();
  const std::string before = fmt::format("{}: {} ({}): ", file_, node, kind);
  if (!message.starts_with(before)) {
    throw_if_any();
    throw refusal;
  }
  add(kind, node, message.substr(before.size()));
}

void Refusals::add_unsupported(const std::string& kind, const std::string& node) { add(kind, node, std::string()); }

void Refusals::add(const std::string& kind, const std::string& node, const std::string& problem) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& known) { return known.name == kind; });
  if (found == kinds_.end())
    kinds_.push_back({kind, 1, node, problem});
  else
    ++found->nodes;
}

void Refusals::throw_if_any() const {
  if (kinds_.empty()) return;
  const bool unsupported =
      std::any_of(kinds_.begin(), kinds_.end(), [](const Kind& one) { return one.problem.empty(); });
  const std::string operators = unsupported ? "; supported operators: " + operators_ : "";
  const Kind& only = kinds_[0];
  if (kinds_.size() == 1 && only.nodes == 1)
    throw DataError(fmt::format("{}: {} ({}): {}{}", file_, only.first, only.name,
                                only.problem.empty() ? "the operator is not supported" : only.problem, operators));
  std::size_t nodes = 0;
  std::string each;
  for (const Kind& kind : kinds_) {
    nodes += kind.nodes;
    each += fmt::format("; {} {}, {}{}", kind.nodes, kind.name, kind.nodes > 1 ? "the first " : "", kind.first);
    if (!kind.problem.empty()) each += ": " + kind.problem;
  }
  throw DataError(fmt::format("{}: {} nodes are not supported: {}{}", file_, nodes, each.substr(2), operators));
}

}  // namespace spdnn
