// `spdnn bench layers`: each engine on single layers.

#include <fmt/format.h>

#include "bench/layers_run.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "core/text/comma_list.hpp"
#include "engines/devices.hpp"
#include "engines/reference/engine.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

/// Each variant in its default precision and in its precisions below fp32.
std::vector<bench::Candidate> chosen_candidates(const std::string& text) {
  std::vector<const Variant*> chosen;
  if (text == "all") {
    for (const Variant& variant : spdnn::variants())
      if (&variant != &oracle() && why_unusable(variant.device).empty()) chosen.push_back(&variant);
  } else {
    for (const std::string_view name : split_at_commas(text)) chosen.push_back(&find_variant(name));
  }
  std::vector<bench::Candidate> candidates;
  for (const Variant* variant : chosen)
    for (const Precision precision : variant->precisions)
      if (precision == variant->precisions.front() || below_fp32(precision)) candidates.push_back({variant, precision});
  return candidates;
}

std::vector<bench::LayerBench> benches(const po::variables_map& values) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  bench::LayerBench one;
  one.layers = parse_count("layers", text("layers"));
  one.images = parse_count("images", text("images"));
  one.trials = static_cast<int>(parse_count("trials", text("trials")));
  one.seconds = parse_real("seconds", text("seconds"));
  if (one.seconds < 0) throw UsageError(fmt::format("--seconds: {} is negative", text("seconds")));
  one.distinct = parse_word<bool>("weights", text("weights"), {{"constant", false}, {"distinct", true}});
  std::vector<bench::LayerBench> all;
  for (const Index neurons : parse_counts("neurons", text("neurons")))
    for (const Index degree : parse_counts("degrees", text("degrees")))
      for (const std::string_view share : split_at_commas(values["alive"].as<std::string>())) {
        one.neurons = neurons;
        one.degree = degree;
        one.alive = parse_real("alive", std::string(share));
        if (degree > neurons) throw UsageError(fmt::format("--degrees: {} is more than {} neurons", degree, neurons));
        if (one.alive <= 0.0 || one.alive > 1.0) throw UsageError(fmt::format("--alive: {} is outside (0, 1]", share));
        all.push_back(one);
      }
  return all;
}

}  // namespace

CommandForm bench_layers_form() {
  OptionGroup group;
  group.options.add_options()                                                                                        //
      ("neurons", takes("N", "1024,4096"), "widths, separated by commas")                                            //
      ("degrees", takes("D", "32"), "inputs of each neuron, separated by commas")                                    //
      ("alive", takes("SHARE", "1,0.1"), "shares of the images that enter the layers, separated by commas")          //
      ("weights", takes("constant|distinct", "constant"), "one value for all weights, or a different one for each")  //
      ("layers", takes("L", "8"), "layers timed together")                                                           //
      ("images", takes("N", "60000"), "images at a share of 1")                                                      //
      ("trials", takes("N", "5"), "measurements; the median is reported")                                            //
      ("seconds", takes("SECONDS", "2"), "start no trial of a measurement after this time")                          //
      ("variants", takes("ENGINES", "all"),                                                                          //
       "names separated by commas, or all that can run here except cpu_reference")                                   //
      ("json", takes("FILE"), "write one JSON line per measurement here (-: stdout)");
  return {.name = "bench layers",
          .summary =
              "Times each engine on single layers of several widths, and shows how close it comes to the speed of the "
              "memory. No preparation is needed.",
          .usage = "spdnn bench layers [OPTIONS]",
          .groups = {group},
          .examples = "  spdnn bench layers --neurons 4096 --variants cpu_openmp\n"};
}

int bench_layers(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_layers_form(), values)) return 0;
  const auto all = benches(values);
  const auto chosen = chosen_candidates(values["variants"].as<std::string>());
  const auto json = text_of(values, "json");
  if (json) check_outputs({{"--json", output_path(*json)}}, {});
  const Printed table(json);
  bench::run_layers(all, chosen, json, [&](const std::string& text) { table.put(text); });
  return 0;
}

}  // namespace spdnn::cli
