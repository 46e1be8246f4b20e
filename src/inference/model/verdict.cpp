#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/text/amounts.hpp"
#include "core/text/message.hpp"
#include "inference/model/verify.hpp"

namespace spdnn {

namespace {

std::string nodes_finding(const NodeCheck& check) {
  return fmt::format("node by node: largest deviation {:.3g} of the bound, at {}", check.largest_ratio, check.worst);
}

std::string logits_finding(const LogitCheck& check) {
  const OutputCheck& worst = check.worst();
  std::string text = fmt::format("{}: largest deviation {:.3g} of the bound", check.against, worst.largest_ratio);
  if (check.beyond + check.undecided > 0) text += fmt::format(", but {:.3g} times the tolerance", worst.largest_excess);
  return text +
         (check.outputs.size() > 1 ? fmt::format(" (output {} of {})", escaped(worst.name), check.outputs.size()) : "");
}

/// The text for outputs that right engines may move beyond the tolerance.
std::string undecided_text(const LogitCheck& check) {
  return logits_finding(check) +
         ", which proves nothing: values between two steps may be rounded to either, which may move outputs as far";
}

/// The text for outputs within bounds that are too wide to prove much.
std::string little_text(const LogitCheck& check) {
  const OutputCheck& little = *std::find_if(check.outputs.begin(), check.outputs.end(),
                                            [](const OutputCheck& output) { return !output.conclusive(); });
  return fmt::format(
      "{}, which says little: bounds are up to {:.3g}, logits up to {:.3g}; within the tolerance, {:.3g} of it, "
      "which proves nothing",
      logits_finding(check), little.largest_bound, little.largest_expected, check.worst().largest_excess);
}

/// The results of comparisons in words: lists joined by semicolons.
struct Findings {
  std::string wrong;
  std::string right;   ///< of all images
  std::string sample;  ///< right, of some of the images: nothing is known of the others
  std::string little;  ///< within bounds that say little
  bool open = false;   ///< expected outputs are neither right nor wrong, whatever else is

  static void add(std::string& list, const std::string& text) { list += (list.empty() ? "" : "; ") + text; }
  void add_right(Index images, Index all, const std::string& text) { add(images < all ? sample : right, text); }
};

Findings findings_of(const ModelReport& report) {
  Findings found;
  if (const auto& accuracy = report.accuracy; accuracy && accuracy->at_least)
    Findings::add(accuracy->top_1() >= *accuracy->at_least ? found.right : found.wrong,
                  fmt::format("labels of {}: accuracy {:.4f}, at least {} required",
                              counted(accuracy->images, "image", "images"), accuracy->top_1(), *accuracy->at_least));
  // If nodes are compared one by one with the reference, their bounds are the conclusive ones.
  for (const auto* check : {&report.expected, &report.recomputed}) {
    if (!*check) continue;
    const bool by_nodes = check == &report.recomputed && report.nodes_checked;
    if (!(*check)->right())
      Findings::add(found.wrong, logits_finding(**check));
    else if ((*check)->undecided > 0)
      Findings::add(found.little, undecided_text(**check));
    else if (!(*check)->conclusive() && !by_nodes)
      Findings::add(found.little, little_text(**check));
    else
      found.add_right((*check)->images, report.images, logits_finding(**check));
  }
  found.open = report.expected && report.expected->undecided > 0;
  if (const auto& nodes = report.nodes_checked; nodes && !nodes->right())
    Findings::add(found.wrong, nodes_finding(*nodes));
  else if (nodes)
    found.add_right(nodes->images, report.images, nodes_finding(*nodes));
  return found;
}

}  // namespace

Judgement verdict_of(const ModelReport& report) {
  using Status = Verdict::Status;
  const Findings found = findings_of(report);
  std::string held = found.right;
  if (!found.sample.empty()) Findings::add(held, found.sample);
  if (!found.wrong.empty()) return {Status::failed, found.wrong + (held.empty() ? "" : ", though not against " + held)};
  if (!found.little.empty()) Findings::add(held, found.little);
  if (held.empty()) return {Status::unverified, "nothing: verification was not requested"};
  if (found.right.empty() || found.open)
    return {Status::unverified, held + (report.nodes_checked ? "" : "; --verify all compares node by node")};
  if (!report.overflow.empty()) return {Status::unverified, held + ", but sums may have overflowed"};
  return {Status::passed, held};
}

}  // namespace spdnn
