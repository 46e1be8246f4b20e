#include "inference/model_verdict.hpp"

#include <fmt/format.h>

#include <string>

#include "core/counted.hpp"

namespace spdnn {

namespace {

std::string nodes_text(const NodeCheck& check) {
  return fmt::format("node by node: largest deviation {:.3g} of the bound, at {}", check.largest_ratio, check.worst);
}

std::string tolerance_text(const LogitCheck& check) {
  return fmt::format("the tolerance of {:.3g}, {:.2g} % of {}", check.tolerance(), 100 * LogitCheck::kTolerance,
                     check.whole > check.largest_expected ? "1" : "the largest logit");
}

std::string check_text(const LogitCheck& check) {
  std::string text = fmt::format("{}: largest deviation {:.3g} of the bound", check.against, check.largest_ratio);
  if (check.beyond > 0)
    text += fmt::format(", but {:.3g} is beyond {}", check.largest_deviation, tolerance_text(check));
  return text;
}

/// Of logits within bounds that say little.
std::string little_text(const LogitCheck& check) {
  return fmt::format(
      "{}, which says little: bounds are up to {:.3g}, logits up to {:.3g}; within {}, which proves nothing",
      check_text(check), check.largest_bound, check.largest_expected, tolerance_text(check));
}

}  // namespace

ModelVerdict verdict_of(const ModelReport& report) {
  using Status = Verdict::Status;
  std::string wrong;
  std::string right;
  const auto add = [&](bool good, const std::string& text) {
    std::string& list = good ? right : wrong;
    list += (list.empty() ? "" : "; ") + text;
  };
  if (report.accuracy && report.accuracy->at_least)
    add(report.accuracy->top_1() >= *report.accuracy->at_least,
        fmt::format("labels of {}: accuracy {:.4f}, at least {} asked for",
                    counted(report.accuracy->images, "image", "images"), report.accuracy->top_1(),
                    *report.accuracy->at_least));
  // Where nodes are compared one by one with the reference, theirs are the bounds that tell.
  std::string says_little;
  for (const auto* check : {&report.expected, &report.recomputed}) {
    if (!*check) continue;
    const bool by_nodes = check == &report.recomputed && report.nodes_checked;
    const bool little = (*check)->right() && !(*check)->tells() && !by_nodes;
    if (little)
      says_little += (says_little.empty() ? "" : "; ") + little_text(**check);
    else
      add((*check)->right(), check_text(**check));
  }
  if (report.nodes_checked) add(report.nodes_checked->right(), nodes_text(*report.nodes_checked));
  if (wrong.empty() && right.empty() && !says_little.empty())
    return {Status::unverified, says_little + "; --verify K compares node by node"};
  if (wrong.empty() && right.empty()) return {Status::unverified, "nothing: verifying was not asked for"};
  if (wrong.empty()) return {Status::passed, right + (says_little.empty() ? "" : "; " + says_little)};
  return {Status::failed, wrong + (right.empty() ? "" : ", though not against " + right)};
}

}  // namespace spdnn
