#include <fmt/format.h>

#include "cli/engine_choice.hpp"
#include "cli/memory.hpp"
#include "cli/problem.hpp"
#include "plan/describe.hpp"
#include "plan/planner.hpp"

namespace spdnn::cli {

namespace {

po::options_description inspect_options() {
  po::options_description run("What would be run", 120, 60);
  run.add_options()                                                                                          //
      ("reduce", po::value<std::string>()->default_value("all"), "exact passes: all, dead, none or a list")  //
      ("variant", po::value<std::string>()->default_value("auto"), "engine; see spdnn variants")             //
      ("device", po::value<std::string>()->default_value("auto"), "auto, cpu or cuda")                       //
      ("threads", po::value<std::string>(), "host threads; default: all")                                    //
      ("images", po::value<std::string>()->default_value("60000"), "number of images");
  po::options_description all("Options", 120, 60);
  all.add(network_options()).add(run);
  return all;
}

bool same_but_for_number(const LayerDescription& a, const LayerDescription& b) {
  return a.inputs == b.inputs && a.outputs == b.outputs && a.edges == b.edges && a.min_degree == b.min_degree &&
         a.max_degree == b.max_degree && a.distinct_weights == b.distinct_weights &&
         a.stored_outputs == b.stored_outputs && a.stored_edges == b.stored_edges && a.twins == b.twins &&
         a.always_zero == b.always_zero && a.unread == b.unread &&
         fmt::format("{:.1f}", a.distinct_terms) == fmt::format("{:.1f}", b.distinct_terms);
}

/// One line for each run of layers that look the same.
void print_layers(const std::vector<LayerDescription>& layers) {
  fmt::print("{:<11} {:>7} {:>7} {:>11} {:>17} {:>9} {:>8} {:>7} {:>9} {:>7} {:>7} {:>11} {:>8}\n", "layers", "inputs",
             "outputs", "edges", "degree min/mean/max", "density", "weights", "twins", "always 0", "unread", "stored",
             "edges", "distinct");
  for (std::size_t first = 0; first < layers.size();) {
    std::size_t last = first;
    while (last + 1 < layers.size() && same_but_for_number(layers[first], layers[last + 1])) ++last;
    const LayerDescription& d = layers[first];
    fmt::print("{:<11} {:>7} {:>7} {:>11} {:>19} {:>9.2e} {:>8} {:>7} {:>9} {:>7} {:>7} {:>11} {:>8.1f}\n",
               first == last ? fmt::format("{}", first + 1) : fmt::format("{}-{}", first + 1, last + 1), d.inputs,
               d.outputs, d.edges, fmt::format("{}/{:.1f}/{}", d.min_degree, d.mean_degree, d.max_degree), d.density,
               d.distinct_weights, d.twins, d.always_zero, d.unread, d.stored_outputs, d.stored_edges,
               d.distinct_terms);
    first = last + 1;
  }
}

void print_certificates(const Plan& plan) {
  const auto from = [&](Index layer) {
    return layer == plan.depth() ? std::string("never") : fmt::format("from the rows entering layer {} on", layer + 1);
  };
  fmt::print("dead images may leave        {}\n", from(plan.dead_from));
  fmt::print("saturated images may leave   {}\n", from(plan.saturated_from));
}

}  // namespace

int inspect(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, "spdnn inspect (NETWORK | --generate official) [options]", inspect_options(), {"[NETWORK]"}, values)) return 0;
  const Passes passes = parse_passes(values["reduce"].as<std::string>());
  const Index images = parse_count("images", values["images"].as<std::string>());
  EngineOptions options;
  if (const auto threads = text_of(values, "threads"))
    options.threads = static_cast<int>(parse_count("threads", *threads));

  const GivenNetwork given = load_network(values);
  const Plan plan = make_plan(given.network, passes);
  const EngineChoice choice =
      choose_engine(values["variant"].as<std::string>(), values["device"].as<std::string>(), plan, images);
  options.precision = choice.variant->precisions.front();

  print_layers(describe(given.network, plan));
  fmt::print("\npasses                       {}\n", to_string(plan.passes));
  for (const std::string& note : plan.notes) fmt::print("                             {}\n", note);
  print_certificates(plan);
  fmt::print("edges                        {} given, {} stored\n", plan.given_edges, plan.edges());
  fmt::print("official network             {}\n", given.official ? "yes" : "no");
  fmt::print("variant                      {}{}{}\n", choice.variant->name, choice.why.empty() ? "" : ": ", choice.why);
  print_memory(estimate_memory(given.network, plan, *choice.variant, options, images));
  return 0;
}

}  // namespace spdnn::cli
