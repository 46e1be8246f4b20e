// Times and checks every tile shape of `resident` (or any variants by name) on one network, in one process: for tuning.
//   kernel_bench --neurons 1024 --layers 120 --network random --weights uniform --engines all
// Prints a line an engine: infer time (reset to outcome), rate, share of the shared memory floor, categories, and how
// the activations of a few images differ from the fp64 reference's. Engines must agree bit for bit where they add in
// the same order; the last column is a checksum of those activations.

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>

#include "cli/options.hpp"
#include "core/parallel.hpp"
#include "data/generate.hpp"
#include "engines/cuda/device_info.hpp"
#include "engines/cuda/resident.hpp"
#include "plan/planner.hpp"
#include "spdnn/engine.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

namespace po = boost::program_options;

struct Problem {
  Network network;
  ImageSet images;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Every output neuron k of a power law reads about edges / (k + 1) inputs, at most all of them; as many edges in all
/// as with `degree` everywhere, the heavy neurons strewn over the layer.
Network power_law_network(const FamilyOptions& options) {
  Network network = generate_random(options);
  for (Layer& layer : network.layers) {
    const Index n = layer.outputs();
    const double total = static_cast<double>(layer.weights.entries());
    double harmonic = 0;
    for (Index k = 1; k <= n; ++k) harmonic += 1.0 / std::sqrt(k);
    std::vector<Offset> offsets(std::size_t{n} + 1, 0);
    for (Index j = 0; j < n; ++j) {
      const Index rank = static_cast<Index>(Offset{j} * 40503U % n) + 1;
      const double degree = std::max(1.0, total / harmonic / std::sqrt(rank));
      offsets[j + 1] = offsets[j] + std::min<Offset>(static_cast<Offset>(degree), n);
    }
    std::vector<Index> indices;
    for (Index j = 0; j < n; ++j)
      for (Offset k = 0; k < offsets[j + 1] - offsets[j]; ++k)
        indices.push_back(static_cast<Index>((k * 2654435761U / 64 + j * 97U) % n));
    for (Index j = 0; j < n; ++j) std::sort(indices.begin() + offsets[j], indices.begin() + offsets[j + 1]);
    layer.weights.offsets = Array<Offset>(std::move(offsets));
    layer.weights.indices = Array<Index>(std::move(indices));
  }
  return network;
}

Problem make_problem(const po::variables_map& values) {
  const auto neurons = values["neurons"].as<Index>();
  const auto layers = values["layers"].as<Index>();
  const std::string family = values["network"].as<std::string>();
  Problem problem;
  if (family == "official") {
    problem.network = generate_official_network(neurons, layers);
  } else {
    FamilyOptions options;
    options.neurons = neurons;
    options.layers = layers;
    if (values["weights"].as<std::string>() == "different") options.law = parse_weight_law("normal:0.0625:0.01");
    if (family == "power-law") options.law.reset();
    problem.network = family == "power-law" ? power_law_network(options) : generate_random(options);
  }
  const auto images = values["images"].as<Index>();
  if (const auto mnist = values["mnist"].as<std::string>(); !mnist.empty())
    problem.images = generate_official_images(read_mnist(mnist), neurons).slice(0, std::min<Index>(images, 60000));
  else
    problem.images = generate_digit_images(neurons, images, 1);
  return problem;
}

struct Candidate {
  std::string name;
  std::function<std::unique_ptr<Engine>(const Plan&, const EngineOptions&)> make;
};

std::vector<Candidate> candidates(const std::string& list, const Plan& plan, const EngineOptions& options) {
  std::vector<Candidate> all;
  if (list == "all") all.push_back({"resident", find_variant("resident").make});
  const auto shapes = cuda::resident_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (list != "all" || !cuda::fits(plan, i, options)) continue;
    const auto& [tile, blocks] = shapes[i];
    all.push_back({fmt::format("resident[{}] {}x{} t{} r{} b{}", i, tile.images, tile.lane_images, tile.threads,
                               tile.rounds, blocks),
                   [i](const Plan& p, const EngineOptions& o) { return cuda::make_resident(p, o, i); }});
  }
  for (std::size_t begin = 0; list != "all" && begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      const std::size_t i = std::stoul(name);
      all.push_back({fmt::format("resident[{}] {}x{}", i, shapes[i].tile.images, shapes[i].tile.lane_images),
                     [i](const Plan& p, const EngineOptions& o) { return cuda::make_resident(p, o, i); }});
    } else {
      all.push_back({name, find_variant(name).make});
    }
    begin = end + 1;
  }
  return all;
}

Outcome run_once(Engine& engine, Index depth) {
  engine.reset();
  for (Index layer = 0; layer < depth;) layer = engine.advance(layer, depth);
  return engine.outcome();
}

/// Worst difference from the reference, relative to the cap or 1, over images [0, count); and a checksum.
std::pair<double, std::uint64_t> compare_activations(Engine& engine, Engine& reference, const Plan& plan,
                                                     const ImageSet& some) {
  engine.load(some);
  reference.load(some);
  run_once(engine, plan.depth());
  run_once(reference, plan.depth());
  const std::vector<double> got = engine.activations();
  const std::vector<double> want = reference.activations();
  double worst = got.size() == want.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    worst = std::max(worst, std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i])));
  return {worst, XXH3_64bits(got.data(), got.size() * sizeof(double))};
}

void bench(const po::variables_map& values) {
  auto start = std::chrono::steady_clock::now();
  const Problem problem = make_problem(values);
  const Plan plan = make_plan(problem.network, parse_passes(values["reduce"].as<std::string>()));
  EngineOptions options;
  fmt::print("{} {}x{} weights {} reduce {} images {}: made in {:.1f} s, stored width {}\n",
             values["network"].as<std::string>(), values["neurons"].as<Index>(), plan.depth(),
             values["weights"].as<std::string>(), to_string(plan.passes), problem.images.images(), seconds_since(start),
             plan.max_width());
  const double work = static_cast<double>(problem.images.images()) * static_cast<double>(problem.network.edges());
  const double floor_ms =
      4e3 / 32.9e12 * static_cast<double>(problem.images.images()) * static_cast<double>(plan.edges());
  const auto reference = find_variant("cpu_reference").make(plan, options);
  const ImageSet some = problem.images.slice(0, std::min(values["check"].as<Index>(), problem.images.images()));
  for (const Candidate& candidate : candidates(values["engines"].as<std::string>(), plan, options)) {
    try {
      start = std::chrono::steady_clock::now();
      const auto engine = candidate.make(plan, options);
      const auto [worst, checksum] = compare_activations(*engine, *reference, plan, some);
      engine->load(problem.images);
      const double upload = seconds_since(start);
      std::vector<double> times;
      Outcome outcome;
      for (int trial = 0; trial <= values["trials"].as<int>(); ++trial) {
        start = std::chrono::steady_clock::now();
        outcome = run_once(*engine, plan.depth());
        if (trial > 0) times.push_back(1e3 * seconds_since(start));
      }
      std::sort(times.begin(), times.end());
      const double median = times[times.size() / 2];
      fmt::print(
          "{:<28} set-up {:5.2f} s  min {:9.3f} median {:9.3f} max {:9.3f} ms  {:8.2f} TE/s  floor/median {:5.1f} %"
          "  cats {} {}  err {:.1e} sum {:016x}\n",
          candidate.name, upload, times.front(), median, times.back(), work / median / 1e9, 100 * floor_ms / median,
          outcome.categories.size(), digest(outcome.categories).substr(0, 8), worst, checksum);
    } catch (const Error& error) {
      fmt::print("{:<28} {}\n", candidate.name, error.what());
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace spdnn

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description options("kernel_bench");
  options.add_options()("neurons", po::value<spdnn::Index>()->default_value(1024))(
      "layers", po::value<spdnn::Index>()->default_value(120))("images",
                                                               po::value<spdnn::Index>()->default_value(60000))(
      "network", po::value<std::string>()->default_value("random"), "random, power-law or official")(
      "weights", po::value<std::string>()->default_value("uniform"), "uniform or different")(
      "reduce", po::value<std::string>()->default_value("dead"))(
      "mnist", po::value<std::string>()->default_value(""), "official images from this IDX file; otherwise synthetic")(
      "engines", po::value<std::string>()->default_value("all"),
      "all shapes of resident, or numbers of shapes and names of variants, joined by commas")(
      "trials", po::value<int>()->default_value(5))("check", po::value<spdnn::Index>()->default_value(40));
  try {
    po::variables_map values;
    po::store(po::parse_command_line(argc, argv, options), values);
    po::notify(values);
    spdnn::bench(values);
  } catch (const std::exception& error) {
    std::cerr << "kernel_bench: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
