#include "cli/suite_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/child_run.hpp"
#include "cli/commands.hpp"
#include "cli/specification.hpp"
#include "core/text/comma_list.hpp"
#include "data/official/problems.hpp"
#include "engines/engine.hpp"
#include "spdnn/error.hpp"
#include "spdnn/passes.hpp"

namespace spdnn::cli {

namespace {

using Texts = std::vector<std::string>;

std::vector<Index> official_sizes(const std::string& text) {
  std::vector<Index> sizes = parse_counts("neurons", text);
  for (const Index neurons : sizes)
    if (!official_problem(neurons))
      throw UsageError(fmt::format("--neurons: {} is not one of 1024, 4096, 16384, 65536", neurons));
  return sizes;
}

Texts variant_names(const std::string& text) {
  Texts names;
  for (const std::string_view name : split_at_commas(text)) {
    if (name != "auto") find_variant(name);  // throws for an unknown name
    names.emplace_back(name);
  }
  return names;
}

/// A repeated value would run twice, and would count as its own repetition when the suite is resumed.
template <typename T>
void refuse_twice(const char* option, const std::vector<T>& all) {
  for (auto one = all.begin(); one != all.end(); ++one)
    if (std::find(all.begin(), one, *one) != one)
      throw UsageError(fmt::format("--{}: {} is given twice", option, *one));
}

std::vector<bench::SuiteConfiguration> configurations(const po::variables_map& values) {
  const auto text = [&](const char* option) { return values[option].as<std::string>(); };
  const std::vector<Index> layers = parse_counts("layers", text("layers"));
  const std::vector<Index> sizes = official_sizes(text("neurons"));
  const Texts variants = variant_names(text("variant"));
  const auto reductions = values["reduce"].as<Texts>();
  for (const std::string& reduce : reductions) parse_passes(reduce, "reduce");
  refuse_twice("neurons", sizes);
  refuse_twice("layers", layers);
  refuse_twice("variant", variants);
  refuse_twice("reduce", reductions);
  std::vector<bench::SuiteConfiguration> all;
  for (const Index neurons : sizes)
    for (const std::string& reduce : reductions)
      for (const std::string& variant : variants)
        for (const Index depth : layers) all.push_back({neurons, depth, reduce, variant});
  return all;
}

std::optional<double> seconds_of(const po::variables_map& values, const char* option) {
  const auto text = text_of(values, option);
  if (!text) return std::nullopt;
  const double seconds = parse_real(option, *text);
  if (seconds <= 0) throw UsageError(fmt::format("--{}: {} is not positive", option, *text));
  return seconds;
}

}  // namespace

CommandForm bench_suite_form() {
  OptionGroup group;
  group.options.add_options()                                                                                   //
      ("neurons", takes("N", "1024,4096,16384,65536"), "widths of the official networks, separated by commas")  //
      ("layers", takes("L", "120,480,1920"), "depths of each network; deeper ones run last")                    //
      ("reduce", po::value<Texts>()->value_name("PASSES")->default_value({"all"}, "all"),                       //
       "exact passes, as for infer; may be repeated")                                                           //
      ("variant", takes("ENGINES", "auto"), "engines, separated by commas; see spdnn variants")                 //
      ("mnist", takes("FILE"), "make the official images from MNIST's training images (IDX[.gz])")              //
      ("images", takes("N"), "use N synthetic digits instead; default: 60000")                                  //
      ("repetitions", takes("N", "3"), "repetitions of all runs; each runs once before any is repeated")        //
      ("trials", takes("N", "20"), "trials of each run; the median is reported")                                //
      ("warm-up", takes("N", "1"), "uncounted trials before these")                                             //
      ("device", takes("auto|cpu|cuda", "auto"), "where the engine runs")                                       //
      ("precision", takes("fp32|fp64|tf32|fp16"), "as for infer; default: the variant's first")                 //
      ("threads", takes("N"), "host threads of each rank; default: all that are granted")                       //
      ("ranks", takes("N"), "start each run with a launcher on N ranks")                                        //
      ("launcher", takes("COMMAND"), "command that starts the ranks; default: mpirun -np {ranks}")              //
      ("verify", takes("K", "64"),
       "images to recompute with the reference engine if no official categories exist")         //
      ("limit", takes("SECONDS"), "time limit of a run; deeper networks are then skipped too")  //
      ("budget", takes("SECONDS"), "start no run after this time")                              //
      ("scratch", takes("DIR"), "keep the images in this directory and reuse them")             //
      ("json", takes("FILE"),
       "append one JSON line per run to this file (-: stdout); runs already in it are skipped")  //
      ("dry-run", "print the commands without running them");
  return {.name = "bench suite",
          .summary =
              "Runs the official problems of the Graph Challenge in turn, several times, each run in a process of its "
              "own. A suite that was stopped continues after its last JSON line.",
          .usage = "spdnn bench suite [OPTIONS]",
          .groups = {group},
          .examples =
              "  spdnn bench suite --mnist train-images-idx3-ubyte.gz --json suite.jsonl\n"
              "  spdnn bench suite --neurons 1024,4096 --layers 120 \\\n"
              "    --reduce all --reduce dead --limit 60 --budget 600\n"};
}

bench::SuiteSpec suite_spec(const po::variables_map& values) {
  const auto text = [&](const char* option) { return values[option].as<std::string>(); };
  bench::SuiteSpec spec;
  spec.configurations = configurations(values);
  spec.repetitions = parse_count("repetitions", text("repetitions"));
  spec.mnist = text_of(values, "mnist").value_or("");
  if (!spec.mnist.empty()) refuse(values, {"images"}, "--mnist");
  const auto images = text_of(values, "images");
  spec.images = images ? parse_count("images", *images) : kOfficialImages;
  spec.trials = std::to_string(parse_count("trials", text("trials")));
  spec.warm_up = std::to_string(parse_whole("warm-up", text("warm-up")));
  spec.device = text("device");
  device_of(values, "device");
  if ((spec.precision = text_of(values, "precision"))) parse_precision(*spec.precision);
  if (const auto threads = text_of(values, "threads")) spec.threads = std::to_string(parse_threads(*threads));
  if (const auto ranks = text_of(values, "ranks")) {
    spec.ranks = parse_count("ranks", *ranks);
    spec.launcher = text_of(values, "launcher").value_or("mpirun -np {ranks}");
  } else if (values.count("launcher") != 0) {
    throw UsageError("--launcher needs --ranks");
  }
  bench::infer_command(spec.launcher, spec.ranks);  // refuses an empty launcher
  spec.verify = parse_count("verify", text("verify"));
  spec.limit_seconds = seconds_of(values, "limit");
  spec.budget_seconds = seconds_of(values, "budget");
  spec.scratch = text_of(values, "scratch").value_or("");
  spec.json = text_of(values, "json");
  spec.dry_run = values.count("dry-run") != 0;
  return spec;
}

}  // namespace spdnn::cli
