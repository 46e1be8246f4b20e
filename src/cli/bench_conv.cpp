// `spdnn bench conv`: our kernels for convolutions beside oneDNN's, layer by layer.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/conv_bench.hpp"
#include "cli/bench_limits.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "core/text/comma_list.hpp"
#include "core/text/json_text.hpp"
#include "report/conv_summary.hpp"
#include "report/render/html/html.hpp"
#include "report/results_document.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

std::vector<double> sparsities(const std::string& text) {
  std::vector<double> all;
  for (const std::string_view share : split_at_commas(text)) {
    all.push_back(parse_real("sparsity", std::string(share)));
    if (all.back() < 0 || all.back() >= 1) throw UsageError(fmt::format("--sparsity: {} is outside [0, 1)", share));
  }
  return all;
}

/// Every layer of the table in every setting; layers that are not pruned once, not for each sparsity.
std::vector<bench::ConvCase> cases_of(const po::variables_map& values) {
  const std::string table = values["table"].as<std::string>();
  const std::vector<double> shares = sparsities(values["sparsity"].as<std::string>());
  std::vector<bench::ConvCase> cases;
  for (const Index threads : thread_counts(values))
    for (const Index batch : parse_counts("batch", values["batch"].as<std::string>()))
      for (const bench::ConvLayer& layer : bench::conv_table(table))
        for (const double share : layer.pruned() ? shares : std::vector<double>{0})
          cases.push_back({table, layer, share, batch, static_cast<int>(threads)});
  return cases;
}

std::string summary_text(const std::vector<ConvLine>& lines) {
  std::string text;
  for (const ConvMean& mean : conv_means(lines))
    text += fmt::format("{} layers at {:g} % zeros, batch {}, {} threads: {:.2f} times as fast as oneDNN in {}\n",
                        mean.layers, 100 * mean.first->sparsity, mean.first->batch, mean.first->origin.threads,
                        mean.speed_up, mean.precision);
  return text;
}

}  // namespace

CommandForm bench_conv_form() {
  OptionGroup group;
  group.options.add_options()                                                                                  //
      ("table", takes("NAME"), fmt::format("layers: {}", fmt::join(bench::conv_tables(), ", ")).c_str())       //
      ("sparsity", takes("SHARES", "0.8,0.9,0.95"), "shares of zeros among the weights, separated by commas")  //
      ("batch", takes("N", "1"), "images of a run; several, separated by commas")                              //
      ("threads", takes("N"), "host threads; several, separated by commas; default: all that are granted")     //
      ("warm-up", takes("SECONDS", "0.05"), "time of uncounted runs of each side, at least one")               //
      ("seconds", takes("SECONDS", "0.5"), "begin no turn of a measurement after this time for each side")     //
      ("runs", takes("N"), "number of runs of each side, however long they take")                              //
      ("json", takes("FILE"), "write one JSON line per measurement here (-: stdout)")                          //
      ("html", takes("FILE"), "write a page with all times, here (-: stdout)");
  return {.name = "bench conv",
          .summary =
              "Times our kernels for convolutions and, in turns with them, oneDNN's, on the layers of a table, "
              "with random weights of which shares are zeros. First and depthwise layers stay dense.",
          .usage = "spdnn bench conv --table NAME [OPTIONS]",
          .groups = {group},
          .examples = "  spdnn bench conv --table resnet50 --sparsity 0.7,0.8,0.9,0.95 --threads 1\n"};
}

int bench_conv(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_conv_form(), values)) return 0;
  if (values.count("table") == 0)
    throw UsageError(fmt::format("--table is missing: expected one of {}", fmt::join(bench::conv_tables(), ", ")));
  const bench::RunLimits limits = run_limits(values);
  const std::vector<bench::ConvCase> cases = cases_of(values);
  const PageFiles files(values, {}, {});
  const auto print = [&](const std::string& text) {
    std::fputs(text.c_str(), files.printed());
    std::fflush(files.printed());
  };
  std::string lines;
  print(bench::conv_titles());
  for (const bench::ConvCase& one : cases) {
    const bench::ConvTiming timing = bench::time_conv(one, limits);
    print(bench::conv_text(one, timing));
    lines += json_line(bench::conv_json(one, timing));
  }
  ResultLines read;
  read_result_lines("times", lines, read);
  print(summary_text(read.convolutions));
  files.write(lines, [&] {
    return to_html(results_document(read, {.title = "Convolutions: " + values["table"].as<std::string>()}));
  });
  return 0;
}

}  // namespace spdnn::cli
