#pragma once

#include <utility>

#include "inference/device/engine_choice.hpp"
#include "inference/device/machine.hpp"
#include "inference/ranks/share_and_run.hpp"
#include "spdnn/run_record.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// Engine, machine and settings, before the run.
template <class Kind>
void record_engine(const ChosenEngine<Kind>& choice, const RunSettings& settings, RunRecord& record) {
  record.variant = choice.variant->name;
  record.why = choice.why;
  record.device = choice.variant->device;
  record.machine = this_machine(record.device);
  record.precision = choice.precision;
  record.trials = settings.trials;
  record.warm_up = settings.warm_up;
  note_on_threads(settings.threads, record.notes);
}

/// Ranks, times and notes, after it; the times of the trials are moved.
template <class Result>
void record_times(Ranked<Result>& all, RunRecord& record) {
  if (!all.ranks.empty()) record.ranks = spreads_of(all.ranks);
  if (record.ranks)
    if (auto note = note_on_slowest(*record.ranks)) record.notes.push_back(*std::move(note));
  record.notes.insert(record.notes.end(), all.result.notes.begin(), all.result.notes.end());
  record.threads = all.result.threads;
  record.batch = all.result.batch;
  record.seconds.upload = all.result.upload_seconds;
  record.seconds.upload_images = all.result.load_seconds;
  record.seconds.checkpoint = all.result.interrupted_seconds;
  record.seconds.warm_up = all.result.warm_up_seconds;
  record.seconds.gather = all.result.gather_seconds;
  record.seconds.infer = spread(std::move(all.result.infer_seconds));
}

}  // namespace spdnn
