#include "report/phases.hpp"

#include <fmt/format.h>

#include "core/system/build_info.hpp"
#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"

namespace spdnn {

namespace {

/// A report remarks on ratios of the slowest to the fastest trial from here on: clocks and caches explain smaller ones.
constexpr double kFarApart = 5;

std::string phase_line(std::string_view key, double seconds, const std::string& more = "") {
  return fmt::format("{:<16} {:>12.6f} s{}\n", key, seconds, more);
}

/// The line of infer, and one on trials that lie far apart.
std::string infer_line(const Spread& infer, int trials) {
  std::string line = phase_line("infer", infer.median,
                                fmt::format("  median of {} (min {:.6f}, max {:.6f}), together {:.6f} s", trials,
                                            infer.min, infer.max, infer.sum));
  if (infer.min <= 0 || infer.max < kFarApart * infer.min) return line;
  return line + report_line("", fmt::format("the slowest trial took {:.0f} times as long as the fastest: other "
                                            "programs kept the machine busy, or the first trial was cold; repeat the "
                                            "run on an idle machine, with fewer --threads, or with --warm-up 1",
                                            infer.max / infer.min));
}

/// null if there are none.
Json ranks_json(const std::optional<RankSpreads>& r) {
  if (!r) return nullptr;
  return {{"hosts", r->hosts},
          {"deal", r->taken ? "counter" : "fixed"},
          {"images", min_median_max_json(r->images)},
          {"taken", min_median_max_json(r->taken)},
          {"upload", min_median_max_json(r->upload)},
          {"infer", min_median_max_json(r->infer)},
          {"slowest",
           {{"rank", r->slowest}, {"host", r->slowest_host}, {"over_median", json_or_null(r->slowest_over_median())}}}};
}

Json machine_of_run_json(const RunRecord& r) {
  Json json = machine_json(r.machine);
  json["ranks"] = r.ranks ? r.ranks->ranks : 1;
  json["threads"] = r.threads;
  return json;
}

/// null if it was not requested.
Json device_state_json(const std::optional<DeviceState>& state) {
  if (!state) return nullptr;
  return {{"sm_clock_mhz", min_median_max_json(state->sm_clock_mhz)},
          {"memory_clock_mhz", min_median_max_json(state->memory_clock_mhz)},
          {"temperature_c", min_median_max_json(state->temperature_c)},
          {"power_w", min_median_max_json(state->power_w)},
          {"joules_per_trial", json_or_null(state->joules_per_trial)}};
}

Json seconds_json(const PhaseSeconds& s) {
  return {{"load", s.load},
          {"join", s.join},
          {"read", s.read},
          {"plan", s.plan},
          {"start", {{"took", s.start.took}, {"waited", s.start.waited}}},
          {"share", s.share},
          {"upload", s.upload},
          {"upload_images", s.upload_images},
          {"warm_up", s.warm_up},
          {"infer", spread_json(s.infer)},
          {"checkpoint", s.checkpoint},
          {"gather", s.gather},
          {"write", s.write},
          {"other", s.other()},
          {"total", s.total}};
}

}  // namespace

std::string report_line(std::string_view key, const std::string& value) {
  return fmt::format("{:<16} {}\n", key, value);
}

std::string phases_text(const RunRecord& r, const PhaseRemarks& remarks) {
  const PhaseSeconds& s = r.seconds;
  std::string text = phase_line("load", s.load);
  if (r.ranks) text += phase_line("join", s.join, "  MPI's start-up");
  text += phase_line("read", s.read) + phase_line("plan", s.plan, remarks.plan);
  if (s.start.took > 0)
    text += phase_line(
        "device start-up", s.start.waited,
        fmt::format("  waiting time; it took {:.6f} s, in parallel with reading and planning", s.start.took));
  if (r.ranks) text += phase_line("share", s.share, remarks.share);
  text += phase_line("upload", s.upload, remarks.upload);
  if (s.warm_up > 0) text += phase_line("warm-up", s.warm_up, "  uncounted trials");
  text += infer_line(s.infer, r.trials);
  if (s.checkpoint > 0) text += phase_line("checkpoint", s.checkpoint, "  during the run");
  return text + phase_line("gather", s.gather) + phase_line("write", s.write) + phase_line("other", s.other()) +
         phase_line("total", s.total);
}

std::string variant_text(const RunRecord& r) {
  return fmt::format("{} ({}, {}, {} per batch){}", r.variant, to_string(r.precision),
                     counted(r.threads, "thread", "threads"), counted(r.batch, "image", "images"),
                     r.why.empty() ? "" : "; " + r.why);
}

std::string notes_text(const RunRecord& r) {
  std::string text;
  for (const std::string& note : r.notes) text += report_line("", escaped(note));
  return text;
}

std::string ranks_text(const RankSpreads& r) {
  const auto by_rank = [](const Spread& s) {
    return fmt::format("{:.6f} s to {:.6f} s (median {:.6f})", s.min, s.max, s.median);
  };
  const auto ratio = r.slowest_over_median();
  const std::string taken =
      r.taken ? fmt::format(", taken in {:.0f} to {:.0f} batches", r.taken->min, r.taken->max) : "";
  return fmt::format("{} on {}; {:.0f} to {:.0f} images each{}; upload {}, infer {}{}", r.ranks,
                     counted(r.hosts, "host", "hosts"), r.images.min, r.images.max, taken, by_rank(r.upload),
                     by_rank(r.infer),
                     ratio ? fmt::format("; the slowest, rank {}, {:.2f} times the median", r.slowest, *ratio) : "");
}

Json min_median_max_json(const std::optional<Spread>& s) {
  if (!s) return nullptr;
  return {{"min", s->min}, {"median", s->median}, {"max", s->max}};
}

Json spread_json(const Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}, {"sum", spread.sum}};
}

std::string device_state_text(const DeviceState& state) {
  const auto of = [](const char* what, const std::optional<Spread>& s, const char* unit) {
    return s ? fmt::format("{} {:.0f} {} ({:.0f} to {:.0f})", what, s->median, unit, s->min, s->max)
             : fmt::format("{} not available", what);
  };
  const std::string energy = state.joules_per_trial ? fmt::format("{:.4g} J per trial", *state.joules_per_trial)
                                                    : std::string("energy not available");
  return fmt::format("{}, {}, {}, {}, {}", of("SM clock", state.sm_clock_mhz, "MHz"),
                     of("memory clock", state.memory_clock_mhz, "MHz"), of("temperature", state.temperature_c, "C"),
                     of("power", state.power_w, "W"), energy);
}

Json machine_json(const Machine& machine) {
  return {{"host", machine.host},
          {"cpu", machine.cpu},
          {"device", json_or_null(machine.device)},
          {"driver", json_or_null(machine.driver)},
          {"cuda", json_or_null(machine.cuda)}};
}

Json judgement_json(const Judgement& judgement) {
  return {{"status", to_string(judgement.status)}, {"against", judgement.against}};
}

Json record_json(const RunRecord& r) {
  return {{"variant", r.variant},
          {"notes", r.notes},
          {"precision", to_string(r.precision)},
          {"trials", r.trials},
          {"warm_up", r.warm_up},
          {"batch", r.batch},
          {"seconds", seconds_json(r.seconds)},
          {"ranks", ranks_json(r.ranks)},
          {"machine", machine_of_run_json(r)},
          {"device_state", device_state_json(r.device_state)},
          {"build", build_json()}};
}

Json build_json() {
  const BuildInfo& build = build_info();
  return {{"version", build.version}, {"commit", build.commit}, {"dirty", build.dirty}};
}

}  // namespace spdnn
