#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/specification.hpp"
#include "core/bytes_text.hpp"
#include "inference/device_start.hpp"
#include "inference/engine_choice.hpp"
#include "inference/load.hpp"
#include "inference/memory_estimate.hpp"
#include "inference/streaming.hpp"
#include "plan/describe.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

po::options_description inspect_options() {
  po::options_description images("Images", 120, 60);
  images.add_options()("images", po::value<std::string>()->default_value("60000"), "number of images");
  po::options_description all("Options", 120, 60);
  all.add(network_options()).add(images).add(engine_options());
  return all;
}

/// Layers that look the same, wherever in the network they stand.
struct LayerKind {
  LayerDescription layer;
  Index first = 0;  ///< 1-based number of the first of them
  Index count = 0;
  double distinct_terms = 0;  ///< summed
};

bool same_kind(const LayerDescription& a, const LayerDescription& b) {
  const auto key = [](const LayerDescription& d) {
    return std::tie(d.inputs, d.outputs, d.edges, d.min_degree, d.max_degree, d.distinct_weights, d.stored_outputs,
                    d.stored_edges, d.twins, d.always_zero, d.unread);
  };
  return key(a) == key(b);
}

std::vector<LayerKind> kinds_of(const std::vector<LayerDescription>& layers) {
  std::vector<LayerKind> kinds;
  for (Index k = 0; k < layers.size(); ++k) {
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& x) { return same_kind(x.layer, layers[k]); });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {layers[k], k + 1});
    ++kind->count;
    kind->distinct_terms += layers[k].distinct_terms;
  }
  return kinds;
}

void print_layers(const std::vector<LayerDescription>& layers) {
  fmt::print("{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "layers",
             "first", "inputs", "outputs", "edges", "degree", "density", "weights", "twins", "zero", "unread", "stored",
             "edges", "distinct");
  fmt::print("{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "", "", "", "",
             "each", "min/mean/max", "", "values", "", "always", "", "neurons", "stored", "terms");
  for (const LayerKind& kind : kinds_of(layers)) {
    const LayerDescription& d = kind.layer;
    fmt::print("{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9.2e} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8.1f}\n",
               kind.count, kind.first, d.inputs, d.outputs, d.edges,
               fmt::format("{}/{:.1f}/{}", d.min_degree, d.mean_degree, d.max_degree), d.density, d.distinct_weights,
               d.twins, d.always_zero, d.unread, d.stored_outputs, d.stored_edges, kind.distinct_terms / kind.count);
  }
}

void print_certificates(const Plan& plan) {
  const auto from = [&](Index layer) {
    return layer == plan.depth() ? std::string("never") : fmt::format("from the rows entering layer {} on", layer + 1);
  };
  fmt::print("dead images may leave        {}\n", from(plan.certificates.dead_from));
  fmt::print("saturated images may leave   {}\n", from(plan.certificates.saturated_from));
}

std::string megabytes(std::size_t bytes) { return fmt::format("{:>10.1f} MB", static_cast<double>(bytes) / 1e6); }

void print_memory(const MemoryEstimate& e) {
  fmt::print("memory  network as given   {}\n", megabytes(e.network));
  fmt::print("        plan               {}\n", megabytes(e.shared + e.plan));
  fmt::print("        images             {}\n", megabytes(e.images));
  fmt::print("        {:<19}{}  (batches of {} images)\n", fmt::format("engine ({})", to_string(e.device)),
             megabytes(e.engine), e.batch);
  fmt::print("        peak on the host   {}\n", megabytes(e.host_peak()));
}

}  // namespace

int inspect(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, "spdnn inspect (NETWORK | --generate official) [options]", inspect_options(), {"[NETWORK]"},
             values))
    return 0;
  InferenceSpec spec;
  spec.network = network_spec(values);
  fill_engine(values, spec);
  const Index images = parse_count("images", values["images"].as<std::string>());

  const planning::TwinFinder find_twins = finder_on(spec.plan_device.value_or(Device::cpu));
  if (const auto large = stream_if_too_large(spec.network, host_budget(0)))
    throw DeviceError(fmt::format("the network takes {} in memory, more than there is for it; infer streams its layers",
                                  bytes_text(large->network.bytes())));
  const GivenNetwork given = load_network(spec.network, spec.progress);
  const Plan plan = make_plan(given.network, spec.passes, find_twins);
  EngineOptions options;
  options.threads = spec.threads;
  const EngineChoice choice = choose_engine({spec.variant, spec.device}, plan, {images, true, true}, options);
  options.precision = choice.precision;

  print_layers(describe(given.network, plan));
  fmt::print("\npasses                       {}\n", to_string(plan.passes));
  for (const std::string& note : plan.provenance.notes) fmt::print("                             {}\n", note);
  for (const std::string& note : given.notes) fmt::print("                             {}\n", note);
  if (spec.passes.twins && find_twins) fmt::print("                             {}\n", kPlannedOnCuda);
  print_certificates(plan);
  fmt::print("edges                        {} given, {} stored\n", plan.provenance.given_edges, plan.edges());
  fmt::print("official network             {}\n", given.official ? "yes" : "no");
  fmt::print("variant                      {}{}{}\n", choice.variant->name, choice.why.empty() ? "" : ": ", choice.why);
  print_memory(estimate_memory(spec.network.path, given.network, plan, *choice.variant, options, images));
  return 0;
}

}  // namespace spdnn::cli
