// `spdnn bench model`: how fast a model is, for lists of batches and threads.

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "bench/model_bench.hpp"
#include "cli/bench_limits.hpp"
#include "cli/commands.hpp"
#include "cli/infer_model.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "cli/specification.hpp"
#include "core/system/exit_code.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "io/models/model_file.hpp"
#include "report/render/html/html.hpp"
#include "report/results_document.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

bench::ModelBench bench_of(const po::variables_map& values) {
  bench::ModelBench bench;
  bench.path = values["model"].as<std::string>();
  const std::string variant = values["variant"].as<std::string>();
  if (variant != "auto") bench.settings.variant = variant;
  if (const auto precision = text_of(values, "precision")) bench.settings.precision = parse_precision(*precision);
  bench.rewrites = parse_rewrites(values["rewrite"].as<std::string>());
  bench.settings.compile_seconds = parse_seconds_or_0("compile-seconds", values["compile-seconds"].as<std::string>());
  bench.limits = run_limits(values);
  bench.layers = values.count("layers") != 0;
  if (const auto peer = text_of(values, "with"))
    bench.with_onnxruntime = parse_word<bool>("with", *peer, {{"onnxruntime", true}});
  return bench;
}

}  // namespace

CommandForm bench_model_form() {
  OptionGroup group;
  group.options.add_options()                                                                                        //
      ("shape", takes("N,C,H,W"), "shape of the model's input; the letter N means any number; default: the file's")  //
      ("batch", takes("N", "1"), "images of a run; several, separated by commas")                                    //
      ("threads", takes("N"), "host threads, at most; several, separated by commas; default: all that are granted")  //
      ("variant", takes("ENGINE", "auto"), "engine; see spdnn variants --models")                                    //
      ("precision", takes("fp32|fp64|bf16|fp16-sums"), "default: the variant's first")                               //
      ("rewrite", takes("REWRITES", "all"), "exact rewrites of the model: all, none or a list")                      //
      ("compile-seconds", takes("SECONDS", "60"), "generate code for at most this time; 0: none")                    //
      ("warm-up", takes("SECONDS", "0.5"), "time of uncounted runs, at least one")                                   //
      ("seconds", takes("SECONDS", "2"), "begin no run of a measurement after this time")                            //
      ("runs", takes("N"), "number of runs, however long they take")                                                 //
      ("layers", "measure the time of each node as well, in runs of their own")                                      //
      ("with", takes("onnxruntime"),
       "time this as well, in turns, and compare all outputs; it runs under node or Python")  //
      ("json", takes("FILE"), "write one JSON line per measurement here (-: stdout)")         //
      ("html", takes("FILE"), "write a page with all times, and bars of the nodes, here (-: stdout)");
  return {.name = "bench model",
          .summary =
              "Times a model on random images of its shape: the times that half, 90 % and 99 % of the runs do not "
              "exceed, images per second, and the load of the machine.",
          .usage = "spdnn bench model MODEL [OPTIONS]",
          .groups = {group},
          .positional = {"MODEL"},
          .examples =
              "  spdnn bench model pruned.onnx --batch 1,8,64 --threads 1,4 --layers\n"
              "  spdnn bench model pruned.onnx --threads 1 --with onnxruntime\n"};
}

int bench_model(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_model_form(), values)) return 0;
  const bench::ModelBench bench = bench_of(values);
  const std::vector<Index> batches = parse_counts("batch", values["batch"].as<std::string>());
  const std::vector<Index> threads = thread_counts(values);
  std::vector<NamedInput> inputs{{"MODEL", bench.path}};
  for (const auto& beside : files_beside(bench.path)) inputs.push_back({"the graph beside MODEL", beside});
  const PageFiles files(values, {}, inputs);
  std::optional<Shape> shape;
  if (const auto text = text_of(values, "shape")) shape = parse_shape(*text);
  const Model model = read_model(bench.path, shape);

  const auto print = [&](const std::string& text) {
    std::fputs(text.c_str(), files.printed());
    std::fflush(files.printed());
  };
  std::string lines;
  bool right = true;
  print(bench::timing_titles());
  for (const Index batch : batches)
    for (const Index count : threads) {
      const bench::ModelTiming timing = bench::time_model(model, bench, batch, static_cast<int>(count));
      print(bench::timing_text(timing) + bench::layers_text(timing));
      lines += json_line(bench::timing_json(bench, timing));
      files.keep(lines);
      right = right && timing.right();
    }
  files.write(lines, [&] {
    ResultLines read;
    read_result_lines("times", lines, read);
    return to_html(results_document(
        read, {.title = "Times of " + escaped(std::filesystem::path(bench.path).filename().native())}));
  });
  return static_cast<int>(right ? ExitCode::done : ExitCode::wrong_results);
}

}  // namespace spdnn::cli
