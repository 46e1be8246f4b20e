#include "bench/suite_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "bench/child_run.hpp"
#include "bench/run_folder.hpp"
#include "bench/suite_lines.hpp"
#include "bench/suite_table.hpp"
#include "core/system/exit_code.hpp"
#include "core/system/stopwatch.hpp"
#include "data/generate.hpp"
#include "inference/run/load.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::bench {

namespace {

namespace fs = std::filesystem;
class SuiteRun {
 public:
  SuiteRun(SuiteSpec spec, const Print& print)
      : spec_(std::move(spec)),
        lines_(spec_.json, spec_.dry_run ? SuiteLines::Use::read : SuiteLines::Use::append),
        found_(spec_.configurations.size()),
        times_(spec_),
        print_(print) {
    if (!spec_.dry_run) folder_.emplace(spec_.scratch.empty() ? "." : spec_.scratch, "suite");
  }

  bool run() {
    for (repetition_ = 1; repetition_ <= spec_.repetitions; ++repetition_)
      for (current_ = 0; current_ < spec_.configurations.size(); ++current_)
        if (!found_[current_].given_up) take();
    if (spec_.dry_run) return true;
    show_progress("");
    put("\n" + suite_table(spec_, found_));
    return all_right();
  }

 private:
  const SuiteConfiguration& configuration() const { return spec_.configurations[current_]; }
  std::string name() const {
    return fmt::format("{}, {} of {}", configuration().name(), repetition_, spec_.repetitions);
  }

  /// Obtains one repetition of one configuration, from the file or by running it.
  void take() {
    const Json asked = spec_.asked(configuration());
    for (const Json& line : lines_.find(asked, repetition_)) {
      if (!spec_.dry_run && !same_machine(line, machine())) continue;
      put(fmt::format("{}: already in {}\n", name(), *spec_.json));
      found_[current_].results.push_back(suite_result(line));
      return;
    }
    if (spec_.dry_run)
      put(shell_text(spec_.command(configuration(), images_path(), "run.json")) + "\n");
    else if (spec_.budget_seconds && since_start_.seconds() >= *spec_.budget_seconds)
      found_[current_].given_up = fmt::format("the budget of {:g} s was used up", *spec_.budget_seconds);
    else
      measure(asked);
  }

  void measure(const Json& asked) {
    make_images();
    show_progress(progress());
    const Stopwatch watch;
    const CommandEnd end = execute(spec_.command(configuration(), images_path(), folder_->line()));
    if (end.over_limit) {
      give_up(fmt::format("more than the limit of {:g} s", *spec_.limit_seconds), true);
      return;
    }
    if (end.code == static_cast<int>(ExitCode::usage)) {
      give_up("not supported: " + reason_in(folder_->messages()), false);
      return;
    }
    if (end.code > static_cast<int>(ExitCode::wrong_results) || path_kind(folder_->line()) == PathKind::missing) {
      fail(end.code);
      return;
    }
    times_.add(current_, watch.seconds());
    keep(line_of_run(folder_->line()), asked);
  }

  void keep(const Json& line, const Json& asked) {
    check_ranks(line, spec_.ranks);
    lines_.append(line, asked, repetition_, spec_.repetitions);
    const SuiteResult result = suite_result(line);
    put(fmt::format("{}: infer {:.6f} s, {}, {}\n", name(), result.infer.median, result.variant, result.verdict));
    found_[current_].results.push_back(result);
  }

  /// The other configurations continue with images that are checked again, because damaged images may be the cause.
  void fail(int code) {
    const std::string why = fmt::format("failed with exit code {}: {}", code, reason_in(folder_->messages()));
    if (!failure_) failure_ = {code, fmt::format("{}: {}", name(), why)};
    checked_.clear();
    give_up(why, false);
  }

  /// Skips later repetitions of the configuration, and deeper networks if this one took too long.
  void give_up(const std::string& why, bool deeper_too) {
    put(fmt::format("{}: {}\n", name(), why));
    found_[current_].given_up = why;
    for (std::size_t i = 0; deeper_too && i < found_.size(); ++i) {
      const SuiteConfiguration& other = spec_.configurations[i];
      const SuiteConfiguration& shallow = configuration();
      if (other.layers > shallow.layers && other.neurons == shallow.neurons && other.reduce == shallow.reduce &&
          other.variant == shallow.variant && !found_[i].given_up)
        found_[i].given_up = fmt::format("deeper than a network that took {}", why);
    }
  }

  CommandEnd execute(const std::vector<std::string>& words) {
    fs::remove(folder_->line());
    return run_command(words, {.messages = folder_->messages(), .limit_seconds = spec_.limit_seconds});
  }

  /// The machine as described in lines, from a run of one image through one layer: querying the device in this process
  /// would occupy device memory for its lifetime.
  const Json& machine() {
    if (!machine_.is_null()) return machine_;
    const fs::path image = folder_->file("one.tsv");
    write_text(image, "1\t1\t1\n");
    SuiteSpec small = spec_;
    small.trials = "1";
    small.warm_up = "0";
    small.precision.reset();
    const CommandEnd end = execute(small.command({1024, 1, "all", "auto"}, image, folder_->line()));
    if (end.code != 0) throw_failure(end.code, reason_in(folder_->messages()));
    const Json line = line_of_run(folder_->line());
    check_ranks(line, spec_.ranks);
    return machine_ = line["machine"];
  }

  /// Throws the error that matches this exit code of a run.
  [[noreturn]] static void throw_failure(int code, const std::string& why) {
    if (code == static_cast<int>(ExitCode::data)) throw DataError(why);
    throw DeviceError(why);
  }

  fs::path images_path() const {
    const std::string file = spec_.images_name(configuration().neurons);
    const bool kept = !spec_.scratch.empty() || !folder_;
    return kept ? spec_.scratch / file : folder_->file(file.c_str());
  }

  /// Images are made outside the runs, so that their `total` is that of a program with an input file.
  void make_images() {
    const Index neurons = configuration().neurons;
    if (checked_.contains(neurons)) return;
    if (!has_images(images_path(), neurons)) {
      show_progress(fmt::format("images of {} neurons", neurons));
      const ImageSet images = spec_.mnist.empty() ? generate_digit_images(neurons, spec_.images, 1)
                                                  : load_images({{}, spec_.mnist, {}}, neurons, {});
      if (!spec_.mnist.empty() && !is_official(images))
        throw DataError(spec_.mnist +
                        ": the official images are not made from these, expected MNIST's training images");
      write_images(images_path(), images);
    }
    checked_.insert(neurons);
  }

  /// Whether a stored file has the contents that its name states. A damaged one is created again.
  bool has_images(const fs::path& path, Index neurons) const {
    if (path_kind(path) != PathKind::file) return false;
    try {
      const ImageSet images = read_images(path, neurons, {});
      return spec_.mnist.empty() ? images.images() == spec_.images : is_official(images);
    } catch (const DataError&) {
      return false;
    }
  }

  /// The current run, and an estimate for all remaining ones.
  std::string progress() const {
    std::vector<Index> left(found_.size());
    Index runs = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const bool done_this_time = i < current_;
      if (!found_[i].given_up) left[i] = spec_.repetitions - repetition_ + (done_this_time ? 0 : 1);
      runs += left[i];
    }
    const std::optional<double> seconds = times_.estimate(left);
    return fmt::format("{}; runs left: {}{}", name(), runs,
                       seconds ? ", about " + duration_text(within_budget(*seconds)) : "");
  }

  double within_budget(double seconds) const {
    return spec_.budget_seconds ? std::min(seconds, *spec_.budget_seconds - since_start_.seconds()) : seconds;
  }

  /// One line on a terminal, overwritten by the next.
  static void show_progress(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 1) std::fputs(fmt::format("\r{}\033[K", text).c_str(), stderr);
  }

  void put(const std::string& text) const {
    show_progress("");
    print_(text);
  }

  bool all_right() const {
    bool any = false;
    for (const auto& [results, given_up] : found_) {
      any = any || !results.empty();
      for (const SuiteResult& result : results)
        if (result.verdict == "FAILED") return false;
    }
    if (failure_)
      throw_failure(failure_->first, "some runs failed, as the table shows; the first: " + failure_->second);
    const bool over = std::all_of(found_.begin(), found_.end(), [](const auto& one) {
      return one.given_up && one.given_up->starts_with("not supported");
    });
    if (!any && over) throw UsageError("no configuration could be run; see the table for reasons");
    return true;
  }

  SuiteSpec spec_;
  SuiteLines lines_;
  std::vector<ConfigurationResults> found_;  ///< by configuration
  RunTimes times_;
  const Print& print_;
  std::optional<RunFolder> folder_;  ///< output of runs, and images if they are not kept; none in a dry run
  Stopwatch since_start_;
  Json machine_;             ///< null until first needed
  std::set<Index> checked_;  ///< neurons of the images whose file has been checked or created
  Index repetition_ = 1;
  std::size_t current_ = 0;                             ///< index of the configuration
  std::optional<std::pair<int, std::string>> failure_;  ///< the first failed run: its exit code and message
};

}  // namespace

bool run_suite(SuiteSpec spec, const Print& print) { return SuiteRun(std::move(spec), print).run(); }

}  // namespace spdnn::bench
