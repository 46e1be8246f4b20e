// `spdnn bench scaling`: the same problem on increasing numbers of ranks, each run started by the site's launcher.

#include <fmt/format.h>

#include "bench/scaling_run.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

bench::ScalingSpec scaling_spec(const po::variables_map& values) {
  const auto text = [&](const char* option) { return values[option].as<std::string>(); };
  bench::ScalingSpec spec;
  spec.weak = parse_word<bool>("kind", text("kind"), {{"strong", false}, {"weak", true}});
  spec.ranks = parse_counts("ranks", text("ranks"));
  spec.images = parse_count("images", text("images"));
  spec.launcher = text("launcher");
  spec.network = text_of(values, "network");
  if (!spec.network) spec.neurons = parse_count("neurons", text("neurons"));
  spec.layers = text("layers");
  spec.reduce = text("reduce");
  spec.device = text("device");
  spec.variant = text("variant");
  spec.trials = text("trials");
  if (const auto threads = text_of(values, "threads")) spec.threads = std::to_string(parse_threads(*threads));
  spec.share_devices = values.count("share-devices") != 0;
  spec.scratch = text("scratch");
  spec.json = text_of(values, "json");
  return spec;
}

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
  const bench::ScalingSpec spec = scaling_spec(values);
  if (spec.json) check_outputs({{"--json", output_path(*spec.json)}}, {});
  const Printed table(spec.json);
  bench::run_scaling(spec, [&](const std::string& text) { table.put(text); });
  return 0;
}

}  // namespace spdnn::cli
