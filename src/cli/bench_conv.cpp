// `spdnn bench conv`: our kernels for convolutions beside libraries', layer by layer.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/conv_bench.hpp"
#include "cli/bench_limits.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "cli/specification.hpp"
#include "core/text/comma_list.hpp"
#include "core/text/json_text.hpp"
#include "engines/devices.hpp"
#include "report/conv_summary.hpp"
#include "report/render/html/html.hpp"
#include "report/results_document.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

std::vector<double> shares_of(const po::variables_map& values, const std::string& option) {
  std::vector<double> all;
  for (const std::string_view share : split_at_commas(values[option].as<std::string>()))
    all.push_back(parse_share(option, std::string(share)));
  return all;
}

/// The names that an option lists; `none` is a list of none, and without the option there is no list.
std::optional<std::vector<std::string>> names_of(const po::variables_map& values, const std::string& option,
                                                 const std::vector<std::string>& known) {
  const std::optional<std::string> text = text_of(values, option);
  if (!text) return std::nullopt;
  std::vector<std::string> names;
  if (*text == "none") return names;
  for (const std::string_view name : split_at_commas(*text)) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(fmt::format("--{}: '{}' is not one of {}", option, name, fmt::join(known, ", ")));
    names.emplace_back(name);
  }
  return names;
}

bench::ConvSides sides_of(const po::variables_map& values, Device device) {
  std::vector<std::string> rivals;
  for (const bench::ConvRival& rival : bench::conv_rivals(device)) rivals.push_back(rival.key);
  if (values.count("ablate") != 0 && device != Device::cuda)
    throw UsageError("--ablate: conv_generated runs with --device cuda alone");
  const std::vector<std::string> parts(std::begin(bench::kConvParts), std::end(bench::kConvParts));
  return {names_of(values, "kernels", bench::conv_variants(device)), names_of(values, "with", rivals),
          names_of(values, "ablate", parts).value_or(std::vector<std::string>())};
}

/// Every layer of the table in every setting; layers that are not pruned once, not for each sparsity.
std::vector<bench::ConvCase> cases_of(const po::variables_map& values) {
  const std::string table = values["table"].as<std::string>();
  const std::vector<double> shares = shares_of(values, "sparsity");
  const std::vector<double> inputs = shares_of(values, "input-sparsity");
  const std::string wanted = text_of(values, "layer").value_or("");
  const Device device = device_of(values, "device").value_or(Device::cpu);
  const std::string batches = text_of(values, "batch").value_or(device == Device::cpu ? "1" : "128");
  std::vector<bench::ConvCase> cases;
  for (const Index threads : thread_counts(values))
    for (const Index batch : parse_counts("batch", batches))
      for (const bench::ConvLayer& layer : bench::conv_table(table))
        for (const double share : layer.pruned() ? shares : std::vector<double>{0})
          for (const double input : inputs)
            if (layer.name().find(wanted) != std::string::npos)
              cases.push_back({table, layer, share, input, batch, static_cast<int>(threads), device});
  if (cases.empty())
    throw UsageError(fmt::format("--layer: table {} has no layer with '{}' in its name", table, wanted));
  return cases;
}

std::string summary_text(const std::vector<ConvLine>& lines) {
  std::string text;
  for (const ConvMean& mean : conv_means(lines))
    text += fmt::format("{} layers at {:g} % zeros{}, batch {}, {} threads, {}: {:.2f} times as fast as {}\n",
                        mean.layers, 100 * mean.first->sparsity,
                        mean.first->input_sparsity == 0
                            ? ""
                            : fmt::format(" and {:g} % in the input", 100 * mean.first->input_sparsity),
                        mean.first->batch, mean.first->origin.threads, mean.first->variant, mean.speed_up, mean.with);
  return text;
}

/// Why a layer is not timed with weights stored as 2:4: once for all its lines.
void say_once(const bench::ConvCase& one, const bench::ConvTiming& timing, std::string& said) {
  if (timing.not_grouped.empty()) return;
  const std::string text = fmt::format("spdnn: {} at {:g} % zeros is not timed as 2:4: {}\n", one.layer.name(),
                                       100 * one.sparsity, timing.not_grouped);
  if (std::exchange(said, text) != text) std::fputs(text.c_str(), stderr);
}

}  // namespace

CommandForm bench_conv_form() {
  OptionGroup group;
  group.options.add_options()                                                                                      //
      ("table", takes("NAME"), fmt::format("layers: {}", fmt::join(bench::conv_tables(), ", ")).c_str())           //
      ("sparsity", takes("SHARES", "0.8,0.9,0.95"), "shares of zeros among the weights, separated by commas")      //
      ("input-sparsity", takes("SHARES", "0"), "shares of zeros among the input's numbers, likewise")              //
      ("layer", takes("TEXT"), "only layers with this in their name, such as 512x28x28")                           //
      ("device", takes("cpu|cuda", "cpu"), "where kernels run")                                                    //
      ("kernels", takes("NAMES"), "only these of our kernels, by the name of their variant, separated by commas")  //
      ("with", takes("NAMES"), "only these others, by the names of their columns, separated by commas, or none")   //
      ("ablate", takes("PARTS"), "time conv_generated also without each of these: hints, polling, persistence")    //
      ("batch", takes("N"), "images of a run; several, separated by commas; default: 1, on a GPU 128")             //
      ("threads", takes("N"), "host threads; several, separated by commas; default: all that are granted")         //
      ("warm-up", takes("SECONDS", "0.05"), "time of uncounted runs of each side, at least one")                   //
      ("seconds", takes("SECONDS", "0.5"), "begin no turn of a measurement after this time for each side")         //
      ("runs", takes("N"), "number of runs of each side, however long they take")                                  //
      ("json", takes("FILE"), "write one JSON line per measurement here (-: stdout)")                              //
      ("html", takes("FILE"), "write a page with all times, here (-: stdout)");
  return {
      .name = "bench conv",
      .summary =
          "Times our kernels for convolutions on the layers of a table, with random weights, pruned to the given "
          "sparsities, in fp32 and in int8, in turns with oneDNN's in fp32, bf16 and int8. On a GPU each of our kernel "
          "families is timed, including conv_uniform, conv_ecr and conv_pecr (benchmark only), in turns with "
          "conv_direct in fp32 and fp16 (direct16), conv_uniform in fp16 (uniform16), conv_generated with sums in "
          "fp16 (generated16), cuSPARSE's, cuSPARSELt's with weights stored as 2:4 in fp16 and bf16 (2to4, 2to4bf16), "
          "and cuDNN's kernels. "
          "First and depthwise layers stay dense. Some outputs of each are compared with sums in fp64.",
      .usage = "spdnn bench conv --table NAME [OPTIONS]",
      .groups = {group},
      .examples =
          "  spdnn bench conv --table resnet50 --sparsity 0.7,0.8,0.9,0.95 --threads 1\n"
          "  spdnn bench conv --table vgg16 --sparsity 0.9 --device cuda --json vgg16.jsonl\n"
          "  spdnn bench conv --table vgg16 --layer 512x28x28 --sparsity 0 \\\n"
          "      --input-sparsity 0,0.5,0.9,0.95 --device cuda \\\n"
          "      --kernels conv_ecr,conv_pecr --with direct,fp32\n"};
}

int bench_conv(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_conv_form(), values)) return 0;
  if (values.count("table") == 0)
    throw UsageError(fmt::format("--table is missing: expected one of {}", fmt::join(bench::conv_tables(), ", ")));
  const bench::RunLimits limits = run_limits(values);
  const std::vector<bench::ConvCase> cases = cases_of(values);
  const Device device = cases.front().device;
  const std::string why_not = why_unusable(device);
  if (bench::conv_variants(device).empty()) throw DeviceError(why_not);  // a build without kernels for it
  const bench::ConvSides sides = sides_of(values, device);
  if (!why_not.empty()) throw DeviceError(why_not);
  const PageFiles files(values, {}, {});
  const auto print = [&](const std::string& text) {
    std::fputs(text.c_str(), files.printed());
    std::fflush(files.printed());
  };
  std::string lines;
  bench::BeyondBounds beyond;
  std::string not_grouped;  // the last that was said
  for (const std::string& absent : bench::absent_rivals(device)) std::fprintf(stderr, "spdnn: %s\n", absent.c_str());
  print(bench::conv_titles(device));
  for (const bench::ConvCase& one : cases)
    for (const bench::ConvTiming& timing : bench::time_conv(one, sides, limits)) {
      print(bench::conv_text(one, timing));
      lines += json_line(bench::conv_json(one, timing));
      files.keep(lines);
      bench::add_beyond_bounds(one, timing, beyond);
      say_once(one, timing, not_grouped);
    }
  ResultLines read;
  read_result_lines("times", lines, read);
  print(summary_text(read.convolutions));
  files.write(lines, [&] {
    return to_html(results_document(read, {.title = "Convolutions: " + values["table"].as<std::string>()}));
  });
  std::fputs(beyond.text.c_str(), stderr);
  return beyond.ours ? 1 : 0;
}

}  // namespace spdnn::cli
