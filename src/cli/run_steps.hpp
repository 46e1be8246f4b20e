#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>

#include "cli/ending.hpp"
#include "cli/on_ranks.hpp"
#include "cli/result_files.hpp"
#include "cli/signals.hpp"
#include "cluster/rank_name.hpp"
#include "core/system/exit_code.hpp"
#include "core/system/stopwatch.hpp"
#include "core/text/message.hpp"
#include "spdnn/error.hpp"
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
template <class Inference, class Report>
ExitCode run_steps(Inference& inference, std::optional<ResultFiles<Report>>& files, const StartTimes& start_times) {
  inference.load();
  if (files) files->check_loaded(inference.report());
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

/// Runs an inference of a network or a model on all ranks and returns the exit code. `files_of(values)` gives the
/// outputs, on the first rank; `done()` is called there once they are written.
template <class Inference, class Spec, class FilesOf, class Done>
int infer_on_ranks(const po::variables_map& values, Spec spec, StartTimes times, FilesOf files_of, Done done) {
  const Stopwatch joining;
  const std::unique_ptr<Communicator> ranks = join_ranks(values);
  times.join = ranks->is_alone() ? 0 : joining.seconds();
  std::optional<decltype(files_of(values))> files;
  if (ranks->is_root()) files.emplace(files_of(values));
  return end_together(*ranks, [&] {
    // Static, so that an error need not wait for a device that is still starting up: main ends without destroying it.
    static std::optional<Inference> inference;
    if constexpr (requires { spec.max_time; })
      if (spec.max_time) spec.max_time = std::max(0.0, *spec.max_time - times.process.seconds());
    inference.emplace(spec, *ranks);
    report_errors_at_once();
    ExitCode code = ExitCode::stopped;
    try {
      code = run_steps(*inference, files, times);
    } catch (const Stopped& stopped) {
      if (files) print_message({stopped.what()});
      return static_cast<int>(code);
    }
    if (files) done();
    ranks->barrier();
    return static_cast<int>(code);
  });
}

}  // namespace spdnn::cli
