#include "spdnn/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "report/phases.hpp"

namespace spdnn {

namespace {

double edges_per_second(const Report& report, double seconds) {
  const double images = static_cast<double>(report.images - report.empty_images);
  return seconds > 0 ? images * static_cast<double>(report.edges) / seconds : 0;
}

std::string rate_text(double rate) { return fmt::format("{:.4g} TE/s", rate / 1e12); }

std::string shape_text(const std::vector<Index>& neurons) {
  const bool square = std::adjacent_find(neurons.begin(), neurons.end(), std::not_equal_to<>()) == neurons.end();
  const std::size_t depth = neurons.empty() ? 0 : neurons.size() - 1;
  const std::string layers = counted(depth, "layer", "layers");
  if (square) return fmt::format("{} neurons x {}", neurons.empty() ? 0 : neurons[0], layers);
  if (depth <= 8) return fmt::format("{} neurons, {}", fmt::join(neurons, "-"), layers);
  return fmt::format("{}-...-{} neurons, {}", neurons.front(), neurons.back(), layers);
}

std::string problem_text(const Report& r) {
  const std::string empty = r.empty_images > 0 ? fmt::format(" ({} of them empty)", r.empty_images) : "";
  return fmt::format("{}, {}{}, {}, bias {}, cap {}", shape_text(r.neurons), counted(r.images, "image", "images"),
                     empty, counted(r.edges, "edge", "edges"), r.bias, r.cap ? fmt::format("{:g}", *r.cap) : "none");
}

std::string verdict_text(const Verdict& verdict) {
  std::string text =
      fmt::format("{}: {}", to_string(verdict.status), counted(verdict.categories, "category", "categories"));
  if (verdict.missing) text += fmt::format(", missing {}, extra {}", *verdict.missing, *verdict.extra);
  text += fmt::format(" (against {})", verdict.against);
  if (verdict.status == Verdict::Status::failed && verdict.missing && !verdict.first_ids.empty())
    text += fmt::format("; first wrong images {}", fmt::join(verdict.first_ids, " "));
  return text;
}

/// A summary of an outcome with overflow.
struct OverflowSummary {
  static constexpr std::size_t kShownIds = 10;
  Index layer = kMaxIndex;    ///< 1-based: the first layer in any image
  std::vector<Index> images;  ///< 1-based: the first images

  explicit OverflowSummary(const std::vector<Overflow>& overflow) {
    for (const Overflow& one : overflow) {
      layer = std::min(layer, one.layer + 1);
      if (images.size() < kShownIds) images.push_back(one.image + 1);
    }
  }
};

std::string overflow_text(const Report& r) {
  const OverflowSummary summary(r.outcome.overflow);
  return fmt::format(
      "sums of {} exceeded {}, from layer {} on; first images {}; another order of summation may give different "
      "categories",
      counted(r.outcome.overflow.size(), "image", "images"), to_string(r.precision), summary.layer,
      fmt::join(summary.images, " "));
}

Json overflow_json(const std::vector<Overflow>& overflow) {
  if (overflow.empty()) return nullptr;
  const OverflowSummary summary(overflow);
  return {{"images", overflow.size()}, {"layer", summary.layer}, {"first_ids", summary.images}};
}

/// Images still computed after each layer; null if it was not counted.
Json active_json(const std::vector<std::int64_t>& active) {
  Json json = Json::array();
  for (const std::int64_t images : active) json.push_back(images < 0 ? Json() : Json(images));
  return json;
}

Json verdict_json(const Verdict& verdict) {
  Json json = judgement_json(verdict);
  json.update({{"checks", verdict.checks},
               {"categories", verdict.categories},
               {"missing", json_or_null(verdict.missing)},
               {"extra", json_or_null(verdict.extra)},
               {"first_ids", verdict.first_ids}});
  return json;
}

std::string difference_text(Precision precision, const Verdict& verdict) {
  return fmt::format("{} against fp32: {}: {} missing, {} extra", to_string(precision),
                     counted(*verdict.missing + *verdict.extra, "category differs", "categories differ"),
                     *verdict.missing, *verdict.extra);
}

/// The time of checkpoints as a share of infer, over all parts.
double checkpoint_share(const Report& r) {
  return r.seconds.infer.sum > 0 ? r.seconds.checkpoint / r.seconds.infer.sum : 0;
}

void add_checkpoints(const Report& r, std::string& text) {
  const CheckpointSummary& c = *r.checkpoints;
  if (c.written > 0)
    text += report_line("checkpoints", fmt::format("{} written during the run{}: {}, {:.2g} % of infer", c.written,
                                                   c.every ? ", every " + seconds_text(*c.every) : "",
                                                   bytes_text(c.bytes), 100 * checkpoint_share(r)));
  if (c.lost_parts > 0)
    text += report_line("lost", fmt::format("{} ended without a stop; at most {} of work was done again",
                                            counted(c.lost_parts, "part", "parts"), seconds_text(c.lost_seconds)));
}

Json checkpoints_json(const Report& r) {
  if (!r.checkpoints) return nullptr;
  const CheckpointSummary& c = *r.checkpoints;
  return {{"every", json_or_null(c.every)},        {"written", c.written},       {"bytes", c.bytes},
          {"share_of_infer", checkpoint_share(r)}, {"lost_parts", c.lost_parts}, {"lost_seconds", c.lost_seconds}};
}

}  // namespace

double Report::rate() const { return edges_per_second(*this, seconds.infer.median); }
std::optional<double> Report::rate_computed() const {
  if (!computed_edges || seconds.infer.median <= 0) return std::nullopt;
  return *computed_edges / seconds.infer.median;
}
double Report::rate_with_setup() const {
  return edges_per_second(*this, seconds.plan + seconds.share + seconds.upload + seconds.infer.median);
}
double Report::rate_end_to_end() const { return edges_per_second(*this, seconds.total - seconds.warm_up); }

std::string to_text(const Report& r) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += report_line(key, value); };
  line("problem", problem_text(r));
  line("variant", variant_text(r));
  line("passes", fmt::format("{} ({} of {} edges stored)", to_string(r.passes), r.stored_edges, r.edges));
  if (r.ranks) line("ranks", (r.parts > 1 ? "last part: " : "") + ranks_text(*r.ranks));
  if (!r.images_read_by.empty()) line("images", "read by " + r.images_read_by);
  if (r.parts > 1)
    line("parts", fmt::format("{}: stopped and continued; the phases below are sums over the parts", r.parts));
  if (r.checkpoints) add_checkpoints(r, text);
  if (r.streamed)
    line("streamed", fmt::format("layers did not fit into host memory: {} at a time, {} read by upload and all trials",
                                 r.streamed->layers_at_once, bytes_text(r.streamed->bytes_read)));
  text += notes_text(r);
  if (r.passes.merge) line("run again", counted(r.outcome.borderline.size(), "borderline image", "borderline images"));
  text += phases_text(r, {.share = "  the plan to the other ranks",
                          .upload = fmt::format("  including {:.6f} s for images", r.seconds.upload_images)});
  line("rate", rate_text(r.rate()) + "  (images x given edges / infer median)");
  line("rate_computed", r.computed_edges
                            ? rate_text(r.rate_computed().value_or(0)) + "  (computed edges / infer median)"
                            : "not counted by this engine under these passes");
  line("rate_with_setup",
       rate_text(r.rate_with_setup()) + "  (images x given edges / (plan + share + upload + infer median))");
  line("rate_end_to_end",
       rate_text(r.rate_end_to_end()) +
           fmt::format("  (images x given edges / {})", r.seconds.warm_up > 0 ? "(total - warm-up)" : "total"));
  if (r.compared) {
    line("compared with", fmt::format("--reduce {} by {}: infer {:.6f} s, {}; {:.2f} times as long, categories {}",
                                      to_string(r.compared->passes), r.compared->variant, r.compared->infer.median,
                                      rate_text(edges_per_second(r, r.compared->infer.median)),
                                      r.compared->infer.median / r.seconds.infer.median,
                                      r.compared->same_categories ? "equal" : "DIFFERENT"));
  }
  if (r.device_state) line("device state", device_state_text(*r.device_state));
  if (r.against_fp32) line("precision", difference_text(r.precision, *r.against_fp32));
  if (!r.outcome.overflow.empty()) line("overflow", overflow_text(r));
  line("verdict", verdict_text(r.verdict));
  return text;
}

std::string to_json(const Report& r) {
  const bool square = std::adjacent_find(r.neurons.begin(), r.neurons.end(), std::not_equal_to<>()) == r.neurons.end();
  Json json = {{"schema", "spdnn-run-1"},
               {"problem",
                {{"neurons", square && !r.neurons.empty() ? Json(r.neurons.front()) : Json(r.neurons)},
                 {"layers", r.neurons.empty() ? 0 : r.neurons.size() - 1},
                 {"bias", r.bias},
                 {"cap", json_or_null(r.cap)},
                 {"images", r.images},
                 {"empty_images", r.empty_images},
                 {"edges", r.edges}}},
               {"passes", to_string(r.passes)},
               {"parts", r.parts},
               {"checkpoints", checkpoints_json(r)},
               {"stored_edges", r.stored_edges},
               {"streamed", nullptr},
               {"computed_edges", json_or_null(r.computed_edges)},
               {"rate", r.rate()},
               {"rate_computed", json_or_null(r.rate_computed())},
               {"rate_with_setup", r.rate_with_setup()},
               {"rate_end_to_end", r.rate_end_to_end()},
               {"verdict", verdict_json(r.verdict)},
               {"alive", r.outcome.alive},
               {"active", active_json(r.outcome.active)},
               {"borderline", r.outcome.borderline.size()},
               {"overflow", overflow_json(r.outcome.overflow)},
               {"compared", nullptr},
               {"against_fp32", nullptr},
               {"images_read_by", json_or_null(r.images_read_by)},
               {"suite", nullptr}};
  json.update(record_json(r));
  if (r.streamed)
    json["streamed"] = {{"layers_at_once", r.streamed->layers_at_once}, {"bytes_read", r.streamed->bytes_read}};
  if (r.compared) {
    json["compared"] = {{"variant", r.compared->variant},
                        {"passes", to_string(r.compared->passes)},
                        {"infer", spread_json(r.compared->infer)},
                        {"rate", edges_per_second(r, r.compared->infer.median)},
                        {"same_categories", r.compared->same_categories}};
  }
  if (r.against_fp32) {
    json["against_fp32"] = {{"differ", *r.against_fp32->missing + *r.against_fp32->extra},
                            {"missing", *r.against_fp32->missing},
                            {"extra", *r.against_fp32->extra},
                            {"first_ids", r.against_fp32->first_ids}};
  }
  return json_line(json);
}

}  // namespace spdnn
