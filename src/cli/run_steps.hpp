#pragma once

#include <exception>
#include <optional>

#include "cli/signals.hpp"
#include "core/system/exit_code.hpp"
#include "core/system/stopwatch.hpp"
#include "spdnn/run_record.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn::cli {

/// Times before the steps of an inference.
struct StartTimes {
  Stopwatch process;
  double load = 0;
  double join = 0;
};

/// Takes all steps of an inference of a network or a model, on all ranks, the first of which writes the results. An
/// error of verify() is thrown after the finished result is written, so that it is not lost.
template <class Inference, class Files>
ExitCode run_steps(Inference& inference, std::optional<Files>& files, const StartTimes& start_times) {
  inference.load();
  if (files) files->check_against(inference.report());
  inference.plan();
  inference.run();
  const Stopwatch writing;
  if (files) files->write(inference.report());
  PhaseSeconds seconds = inference.report().seconds;
  seconds.write = writing.seconds();
  end_on_signals();
  seconds.load = start_times.load;
  seconds.join = start_times.join;
  seconds.total = start_times.load + start_times.process.seconds();

  std::exception_ptr error;
  try {
    inference.verify();
  } catch (...) {
    error = std::current_exception();
  }
  auto report = inference.report();
  if constexpr (requires { report.earlier; })
    if (report.parts > 1) seconds.add(report.earlier);
  report.seconds = seconds;
  if (files) files->finish(report);
  if (error) std::rethrow_exception(error);
  return report.verdict.status == Verdict::Status::failed ? ExitCode::wrong_results : ExitCode::done;
}

}  // namespace spdnn::cli
