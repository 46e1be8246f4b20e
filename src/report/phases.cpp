#include "report/phases.hpp"

#include <fmt/format.h>

#include "core/build_info.hpp"
#include "core/counted.hpp"

namespace spdnn {

namespace {

/// From this ratio of the slowest to the fastest trial on, a report remarks on it. Clocks and caches explain less.
constexpr double kFarApart = 5;

}  // namespace

std::string report_line(std::string_view key, const std::string& value) {
  return fmt::format("{:<16} {}\n", key, value);
}

std::string phase_line(std::string_view key, double seconds, const std::string& more) {
  return fmt::format("{:<16} {:>12.6f} s{}\n", key, seconds, more);
}

std::string infer_line(const Spread& infer, int trials) {
  std::string line = phase_line("infer", infer.median,
                                fmt::format("  median of {} (min {:.6f}, max {:.6f}), together {:.6f} s", trials,
                                            infer.min, infer.max, infer.sum));
  if (infer.min <= 0 || infer.max < kFarApart * infer.min) return line;
  return line +
         report_line("", fmt::format("the slowest trial took {:.0f} times as long as the fastest: other programs "
                                     "kept the machine busy, or the first trial was cold; repeat the run on an "
                                     "idle machine, with fewer --threads, or with --warm-up 1",
                                     infer.max / infer.min));
}

std::string ranks_text(const RankSpreads& r) {
  const auto by_rank = [](const Spread& s) {
    return fmt::format("{:.6f} s to {:.6f} s (median {:.6f})", s.min, s.max, s.median);
  };
  const auto ratio = r.slowest_over_median();
  return fmt::format("{} on {}; {:.0f} to {:.0f} images each; upload {}, infer {}{}", r.ranks,
                     counted(r.hosts, "host", "hosts"), r.images.min, r.images.max, by_rank(r.upload), by_rank(r.infer),
                     ratio ? fmt::format("; the slowest, rank {}, {:.2f} times the median", r.slowest, *ratio) : "");
}

nlohmann::ordered_json min_median_max_json(const std::optional<Spread>& s) {
  if (!s) return nullptr;
  return {{"min", s->min}, {"median", s->median}, {"max", s->max}};
}

nlohmann::ordered_json ranks_json(const std::optional<RankSpreads>& r) {
  if (!r) return nullptr;
  const auto ratio = r->slowest_over_median();
  const nlohmann::ordered_json ratio_json = ratio ? nlohmann::ordered_json(*ratio) : nullptr;
  return {{"hosts", r->hosts},
          {"images", min_median_max_json(r->images)},
          {"upload", min_median_max_json(r->upload)},
          {"infer", min_median_max_json(r->infer)},
          {"slowest", {{"rank", r->slowest}, {"host", r->slowest_host}, {"over_median", ratio_json}}}};
}

nlohmann::ordered_json spread_json(const Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}, {"sum", spread.sum}};
}

nlohmann::ordered_json build_json() {
  const BuildInfo& build = build_info();
  return {{"version", build.version}, {"commit", build.commit}, {"dirty", build.dirty}};
}

}  // namespace spdnn
