// `spdnn bench scaling`: the same problem on increasing numbers of ranks, each run started by the site's launcher.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/child_run.hpp"
#include "bench/run_folder.hpp"
#include "cli/bench.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "data/generate.hpp"
#include "io/networks/outputs.hpp"
#include "report/json_line.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The result of one run.
struct Point {
  Index ranks = 0;
  double infer = 0;
  double total = 0;
  double rate = 0;
};

/// Runs one point after another and prints each result immediately.
class ScalingRun {
 public:
  explicit ScalingRun(const po::variables_map& values)
      : values_(values), weak_(kind() == "weak"), json_path_(text_of(values, "json")), table_(json_path_) {
    if (json_path_) check_outputs({{"--json", output_path(*json_path_)}}, {});
    bench::infer_command(text("launcher"), 1);  // refuses an empty launcher
    images_ = parse_count("images", text("images"));
    neurons_ = text_of(values, "network") ? 0 : parse_count("neurons", text("neurons"));
  }

  void run() {
    table_.put(fmt::format("{:>6} {:>9} {:>12} {:>12} {:>10} {:>12} {:>12}\n", "ranks", "images", "infer, s",
                           "efficiency", "TE/s", "total, s", "efficiency"));
    for (const Index ranks : parse_counts("ranks", text("ranks"))) measure(ranks);
  }

 private:
  std::string text(const char* option) const { return values_[option].as<std::string>(); }
  std::string kind() const {
    std::string kind = text("kind");
    if (kind != "strong" && kind != "weak")
      throw UsageError(fmt::format("--kind: '{}' is neither strong nor weak", kind));
    return kind;
  }

  void measure(Index ranks) {
    const Offset images = weak_ ? Offset{images_} * ranks : images_;
    const bench::RunFolder folder(text("scratch"), "scaling");
    const fs::path inputs = folder.file("images.spdnn");
    write_images(inputs, generate_digit_images(width(), narrow<Index>(images), 1));
    const std::vector<std::string> command = command_for(ranks, inputs, folder.line());
    const int code = bench::run_command(command).code;
    if (code != 0) throw DeviceError(fmt::format("{} ended with exit code {}", bench::shell_text(command), code));
    report(ranks, images, bench::line_of_run(folder.line()));
  }

  /// The number of neurons of the images.
  Index width() {
    if (neurons_ == 0) neurons_ = read_network(text("network"), {.neurons = {}, .layers = 1}).network.inputs();
    return neurons_;
  }

  std::vector<std::string> command_for(Index ranks, const fs::path& inputs, const fs::path& line) const {
    std::vector<std::string> words = bench::infer_command(text("launcher"), ranks);
    const auto add = [&](const char* option, const std::string& value) { bench::add_option(words, option, value); };
    if (const auto network = text_of(values_, "network")) {
      add("network", *network);
    } else {
      add("generate", "official");
      add("neurons", text("neurons"));
      add("layers", text("layers"));
    }
    add("inputs", inputs.native());
    for (const char* option : {"reduce", "device", "variant", "trials"}) add(option, text(option));
    if (const auto threads = text_of(values_, "threads")) add("threads", *threads);
    if (values_.count("share-devices") != 0) words.emplace_back("--share-devices");
    add("json", line.native());
    add("progress", "never");
    return words;
  }

  /// Efficiency: the work per rank and second, as a share of the first point's.
  void report(Index ranks, Offset images, Json run) {
    const Point point{ranks, run["seconds"]["infer"]["median"], run["seconds"]["total"], run["rate"]};
    bench::check_ranks(run, ranks);
    if (first_.ranks == 0) first_ = point;
    const double more = static_cast<double>(ranks) / first_.ranks;
    const auto efficiency = [&](double first, double now) {
      return fmt::format("{:.1f} %", 100.0 * first / now / (weak_ ? 1.0 : more));
    };
    table_.put(fmt::format("{:>6} {:>9} {:>12.6f} {:>12} {:>10.4g} {:>12.4f} {:>12}\n", ranks, images, point.infer,
                           efficiency(first_.infer, point.infer), point.rate / 1e12, point.total,
                           efficiency(first_.total, point.total)));
    run["scaling"] = {{"kind", text("kind")}, {"ranks", ranks}};
    json_ += json_line(run);
    if (json_path_) write_text(output_path(*json_path_), json_path_ == "-" ? json_line(run) : json_);
  }

  const po::variables_map& values_;
  bool weak_;
  std::optional<std::string> json_path_;
  Printed table_;
  Index images_ = 0;
  Index neurons_ = 0;  ///< 0: not known yet
  Point first_;
  std::string json_;
};

}  // namespace

CommandForm bench_scaling_form() {
  OptionGroup group;
  group.options.add_options()                                                                                        //
      ("ranks", takes("N", "1,2"), "numbers of ranks, separated by commas; the others are compared with the first")  //
      ("kind", takes("strong|weak", "strong"), "strong: the images are split; weak: each rank has the same number")  //
      ("launcher", takes("COMMAND", "mpirun -np {ranks}"), "command that starts that many ranks")                    //
      ("neurons", takes("N", "1024"), "of the official network")                                                     //
      ("layers", takes("L", "120"), "of the official network")                                                       //
      ("network", takes("PATH"), "a network from files instead")                                                     //
      ("images", takes("N", "60000"), "number of synthetic digits, in total, or per rank for weak scaling")          //
      ("reduce", takes("PASSES", "all"), "exact passes: all, dead, none or a list")                                  //
      ("device", takes("auto|cpu|cuda", "auto"), "where the engine runs")                                            //
      ("variant", takes("ENGINE", "auto"), "engine; see spdnn variants")                                             //
      ("share-devices", "ranks may share CUDA devices")                                                              //
      ("threads", takes("N"), "host threads of each rank; default: the processors, shared evenly")                   //
      ("trials", takes("N", "5"), "number of trials; the median is reported")                                        //
      ("scratch", takes("DIR", "."), "a directory that all ranks see, for the images")                               //
      ("json", takes("FILE"), "write one JSON line per run here (-: stdout)");
  return {.name = "bench scaling",
          .summary =
              "Runs one problem on increasing numbers of MPI ranks, started by the site's launcher, and shows speed-up "
              "and efficiency.",
          .usage = "spdnn bench scaling [OPTIONS]",
          .groups = {group},
          .examples =
              "  spdnn bench scaling --ranks 1,2,4\n"
              "  spdnn bench scaling --kind weak --ranks 1,2,4,8 \\\n"
              "    --launcher \"srun -K1 --mpi=pmix -n {ranks}\" --json scaling.jsonl\n"};
}

int bench_scaling(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_scaling_form(), values)) return 0;
  ScalingRun(values).run();
  return 0;
}

}  // namespace spdnn::cli
