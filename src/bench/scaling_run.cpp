#include "bench/scaling_run.hpp"

#include <fmt/format.h>

#include "bench/child_run.hpp"
#include "bench/run_folder.hpp"
#include "core/text/json_text.hpp"
#include "data/generate.hpp"
#include "io/files/output_target.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::bench {

namespace {

namespace fs = std::filesystem;
/// The result of one run.
struct Point {
  Index ranks = 0;
  double infer = 0;
  double total = 0;
  double rate = 0;
};

class ScalingRun {
 public:
  ScalingRun(const ScalingSpec& spec, const Print& print) : spec_(spec), print_(print) {
    infer_command(spec.launcher, 1);  // refuses an empty launcher
    if (!spec.network) neurons_ = spec.neurons;
  }

  void run() {
    print_(fmt::format("{:>6} {:>9} {:>12} {:>12} {:>10} {:>12} {:>12}\n", "ranks", "images", "infer, s", "efficiency",
                       "TE/s", "total, s", "efficiency"));
    for (const Index ranks : spec_.ranks) measure(ranks);
  }

 private:
  void measure(Index ranks) {
    const Offset images = spec_.weak ? Offset{spec_.images} * ranks : spec_.images;
    const RunFolder folder(spec_.scratch, "scaling");
    const fs::path inputs = folder.file("images.spdnn");
    write_images(inputs, generate_digit_images(width(), narrow<Index>(images), 1));
    const std::vector<std::string> command = command_for(ranks, inputs, folder.line());
    const int code = run_command(command).code;
    if (code != 0) throw DeviceError(fmt::format("{} ended with exit code {}", shell_text(command), code));
    report(ranks, images, line_of_run(folder.line()));
  }

  /// The number of neurons of the images.
  Index width() {
    if (neurons_ == 0) neurons_ = read_network(*spec_.network, {.neurons = {}, .layers = 1}).network.inputs();
    return neurons_;
  }

  std::vector<std::string> command_for(Index ranks, const fs::path& inputs, const fs::path& line) const {
    std::vector<std::string> words = infer_command(spec_.launcher, ranks);
    const auto add = [&](const char* option, const std::string& value) { add_option(words, option, value); };
    if (spec_.network) {
      add("network", *spec_.network);
    } else {
      add("generate", "official");
      add("neurons", fmt::to_string(spec_.neurons));
      add("layers", spec_.layers);
    }
    add("inputs", inputs.native());
    add("reduce", spec_.reduce);
    add("device", spec_.device);
    add("variant", spec_.variant);
    add("trials", spec_.trials);
    if (spec_.threads) add("threads", *spec_.threads);
    if (spec_.share_devices) words.emplace_back("--share-devices");
    add("json", line.native());
    add("progress", "never");
    return words;
  }

  /// Efficiency: the work per rank and second, as a share of the first point's.
  void report(Index ranks, Offset images, Json run) {
    const Json& seconds = run["seconds"];
    const Point point{ranks, seconds["infer"]["median"].get<double>(), seconds["total"].get<double>(),
                      run["rate"].get<double>()};
    check_ranks(run, ranks);
    if (first_.ranks == 0) first_ = point;
    const double more = static_cast<double>(ranks) / first_.ranks;
    const auto efficiency = [&](double first, double now) {
      return fmt::format("{:.1f} %", 100.0 * first / now / (spec_.weak ? 1.0 : more));
    };
    print_(fmt::format("{:>6} {:>9} {:>12.6f} {:>12} {:>10.4g} {:>12.4f} {:>12}\n", ranks, images, point.infer,
                       efficiency(first_.infer, point.infer), point.rate / 1e12, point.total,
                       efficiency(first_.total, point.total)));
    run["scaling"] = {{"kind", spec_.weak ? "weak" : "strong"}, {"ranks", ranks}};
    json_ += json_line(run);
    if (spec_.json) write_text(output_path(*spec_.json), spec_.json == "-" ? json_line(run) : json_);
  }

  const ScalingSpec& spec_;
  const Print& print_;
  Index neurons_ = 0;  ///< of the images; 0: not known yet
  Point first_;
  std::string json_;
};

}  // namespace

void run_scaling(const ScalingSpec& spec, const Print& print) { ScalingRun(spec, print).run(); }

}  // namespace spdnn::bench
