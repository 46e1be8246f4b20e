// Times and checks every tile shape of `resident` (or any variants by name) on one network, in one process: for tuning.
//   kernel_bench --neurons 1024 --layers 120 --network random --weights uniform --engines all
// Prints a line per engine: infer time (reset to outcome), rate, share of the shared memory floor, and a comparison of
// the last activations of a few images: `bits`, the share equal to the last bit to fp32 sums in the given order; `err`,
// the worst difference from the fp64 reference, which includes rounding; and a checksum. Networks are made so that
// errors show in such a comparison (varied_network.hpp), and a line before the first states which errors would. Exit
// status 1 if an engine is wrong: another list of categories, a different bit although it keeps the order, or an error
// far above that of plain fp32.

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "cli/options.hpp"
#include "core/system/stopwatch.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/engines.hpp"
#include "varied_network.hpp"

#ifdef SPDNN_WITH_CUDA
#include "engines/cuda/resident/engine.hpp"
#endif

namespace spdnn {
namespace {

namespace po = boost::program_options;

struct Problem {
  Network network;
  ImageSet images;
};

ImageSet make_images(const po::variables_map& values, Index neurons) {
  const auto images = values["images"].as<Index>();
  const auto mnist = values["mnist"].as<std::string>();
  if (mnist.empty()) return generate_digit_images(neurons, images, 1);
  return generate_official_images(read_mnist(mnist), neurons).slice(0, std::min<Index>(images, 60000));
}

Problem make_problem(const po::variables_map& values) {
  bench::VariedOptions options;
  options.neurons = values["neurons"].as<Index>();
  options.layers = values["layers"].as<Index>();
  options.different = values["weights"].as<std::string>() == "different";
  options.own_biases = values["biases"].as<std::string>() == "own";
  const std::string family = values["network"].as<std::string>();
  options.power_law = family == "power-law";
  if (options.power_law && options.different) throw UsageError("--network power-law has weights of one value");
  Problem problem;
  problem.images = make_images(values, options.neurons);
  problem.network = family == "official" ? generate_official_network(options.neurons, options.layers)
                                         : bench::varied_network(options, problem.images);
  return problem;
}

struct Candidate {
  std::string name;
  testing::MakeEngine make;
  bench::Products products = bench::Products::fused;
  bool in_order = true;  ///< the engine adds terms in the plan's order: its bits are known
};

Candidate variant_named(const std::string& name) {
  const Variant& variant = find_variant(name);
  Candidate candidate{name, variant.make};
  if (variant.device == Device::cpu) candidate.products = bench::Products::rounded;
  candidate.in_order = !name.starts_with("cu") && name != "spmm_merge" && name != "cpu_reference";
  return candidate;
}

#ifdef SPDNN_WITH_CUDA
Candidate resident_shape(std::size_t i) {
  const cuda::ResidentShape shape = cuda::resident_shapes()[i];
  return {fmt::format("resident[{}] {}x{} t{} r{} b{}", i, shape.tile.images, shape.tile.lane_images,
                      shape.tile.threads, shape.tile.rounds, shape.blocks),
          [i](std::shared_ptr<const Plan> p, const BatchInfo& batch, const EngineOptions& o) {
            return cuda::make_resident(std::move(p), batch, o, i);
          }};
}

std::vector<Candidate> all_shapes(const Plan& plan, const EngineOptions& options) {
  std::vector<Candidate> all{variant_named("resident")};
  for (std::size_t i = 0; i < cuda::resident_shapes().size(); ++i)
    if (cuda::fits(plan, i, options)) all.push_back(resident_shape(i));
  return all;
}

Candidate shape_numbered(const std::string& number) {
  const std::size_t i = std::stoul(number);
  if (i >= cuda::resident_shapes().size()) throw UsageError(fmt::format("--engines: there is no shape {}", i));
  return resident_shape(i);
}
#else
std::vector<Candidate> all_shapes(const Plan&, const EngineOptions&) { return {variant_named("cpu_openmp")}; }

Candidate shape_numbered(const std::string& number) {
  throw UsageError(fmt::format("--engines: shape {} needs CUDA: make GPU=1", number));
}
#endif

std::vector<Candidate> candidates(const std::string& list, const Plan& plan, const EngineOptions& options) {
  if (list == "all") return all_shapes(plan, options);
  std::vector<Candidate> chosen;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const bool number = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    chosen.push_back(number ? shape_numbered(name) : variant_named(name));
    begin = end + 1;
  }
  return chosen;
}

Outcome run_once(Engine& engine, Index depth) {
  engine.reset();
  for (Index layer = 0; layer < depth;) layer = engine.advance(layer, depth);
  return engine.outcome();
}

/// The expected last activations of the first images.
struct Expected {
  ImageSet images;
  std::vector<double> exact;    ///< by cpu_reference
  std::vector<double> fused;    ///< in order, fp32
  std::vector<double> rounded;  ///< likewise
  Categories categories;
  double rounding = 0;  ///< largest difference between `fused` and `exact`
};

Expected expect(const Plan& plan, const ImageSet& images, Index count) {
  Expected expected;
  expected.images = images.slice(0, std::min(count, images.images()));
  const auto reference = testing::oracle_engine(plan);
  reference->load(expected.images);
  expected.categories = run_once(*reference, plan.depth()).categories;
  expected.exact = reference->activations();
  expected.fused = bench::in_order_activations(plan, expected.images, bench::Products::fused);
  expected.rounded = bench::in_order_activations(plan, expected.images, bench::Products::rounded);
  expected.rounding = bench::worst_difference(expected.fused, expected.exact);
  const bench::Visibility seen = bench::visibility(plan, expected.fused);
  fmt::print(
      "the check sees {} images: {:.1f} % of their last activations strictly between 0 and the cap, {:.1f} % of a "
      "row's values distinct, {} rows distinct, {} categories; rounding alone: {:.1e}\n",
      expected.images.images(), 100 * seen.between, 100 * seen.distinct_values, seen.distinct_rows,
      expected.categories.size(), expected.rounding);
  return expected;
}

struct Check {
  double worst = 0;  ///< against fp64
  double bits = 0;   ///< share of activations that are in-order fp32 to the last bit
  std::uint64_t checksum = 0;
  bool right = false;
};

/// Another order of summation may have ten times the error of the given one; errors below 1e-5 are accepted.
Check check(InspectableEngine& engine, const Candidate& candidate, const Expected& expected, Index depth) {
  engine.load(expected.images);
  const Outcome outcome = run_once(engine, depth);
  const std::vector<double> got = engine.activations();
  const auto& in_order = candidate.products == bench::Products::fused ? expected.fused : expected.rounded;
  Check result;
  result.worst = bench::worst_difference(got, expected.exact);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < std::min(got.size(), in_order.size()); ++i) equal += got[i] == in_order[i] ? 1 : 0;
  result.bits = static_cast<double>(equal) / static_cast<double>(std::max<std::size_t>(in_order.size(), 1));
  result.checksum = XXH3_64bits(got.data(), got.size() * sizeof(double));
  result.right =
      outcome.categories == expected.categories && got.size() == in_order.size() &&
      (candidate.in_order ? equal == in_order.size() : result.worst <= std::max(1e-5, 10 * expected.rounding));
  return result;
}

constexpr double kSharedRate = 32.9e12;  ///< bytes per second of all shared memories of an H200, as measured

/// Times and checks one engine; false if it is wrong.
bool bench_engine(const Candidate& candidate, const Plan& plan, const Problem& problem, const Expected& expected,
                  int trials) {
  const double images = problem.images.images();
  const Stopwatch set_up;
  const auto engine = testing::engine_by(candidate.make, plan, problem.images, {});
  const Check checked = check(*engine, candidate, expected, plan.depth());
  engine->load(problem.images);
  const double upload = set_up.seconds();
  std::vector<double> times;
  Outcome outcome;
  for (int trial = 0; trial <= trials; ++trial) {
    const Stopwatch watch;
    outcome = run_once(*engine, plan.depth());
    if (trial > 0 || trials == 0) times.push_back(1e3 * watch.seconds());  // the first warms up
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  const double floor_ms = 1e3 * sizeof(float) / kSharedRate * images * static_cast<double>(plan.edges());
  fmt::print(
      "{:<28} set-up {:5.2f} s  min {:9.3f} median {:9.3f} max {:9.3f} ms  {:8.2f} TE/s  floor/median {:5.1f} %"
      "  cats {} {}  bits {:.2f} % err {:.1e} sum {:016x} {}\n",
      candidate.name, upload, times.front(), median, times.back(),
      images * static_cast<double>(problem.network.edges()) / median / 1e9, 100 * floor_ms / median,
      outcome.categories.size(), digest(outcome.categories).substr(0, 8), 100 * checked.bits, checked.worst,
      checked.checksum, checked.right ? "right" : "WRONG");
  return checked.right;
}

/// True if every engine that takes the plan is right.
bool bench_all(const po::variables_map& values) {
  const Stopwatch making;
  const Problem problem = make_problem(values);
  const Plan plan = make_plan(problem.network, parse_passes(values["reduce"].as<std::string>()));
  fmt::print("{} {}x{} weights {} reduce {} images {}: made in {:.1f} s, stored width {}\n",
             values["network"].as<std::string>(), values["neurons"].as<Index>(), plan.depth(),
             values["weights"].as<std::string>(), to_string(plan.passes), problem.images.images(), making.seconds(),
             plan.max_width());
  const Expected expected = expect(plan, problem.images, values["check"].as<Index>());
  bool right = true;
  for (const Candidate& candidate : candidates(values["engines"].as<std::string>(), plan, {})) {
    try {
      right = bench_engine(candidate, plan, problem, expected, values["trials"].as<int>()) && right;
    } catch (const Error& error) {
      fmt::print("{:<28} {}\n", candidate.name, error.what());
    }
    std::fflush(stdout);
  }
  return right;
}

}  // namespace
}  // namespace spdnn

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  using spdnn::Index;
  const auto text = [](const char* value) { return po::value<std::string>()->default_value(value); };
  const auto count = [](Index value) { return po::value<Index>()->default_value(value); };
  po::options_description options("kernel_bench");
  options.add_options()("neurons", count(1024))("layers", count(120))("images", count(60000))                     //
      ("network", text("random"), "random, power-law or official")                                                //
      ("weights", text("uniform"), "uniform or different")                                                        //
      ("biases", text("own"), "of uniform weights: own, one a neuron, or none, with which neurons end up alike")  //
      ("reduce", text("dead"))                                                                                    //
      ("mnist", text(""), "official images from this IDX file; otherwise synthetic")                              //
      ("engines", text("all"),
       "all shapes of resident, or numbers of shapes and names of variants, joined by commas")  //
      ("trials", po::value<int>()->default_value(5))("check", count(64));
  try {
    po::variables_map values;
    po::store(po::parse_command_line(argc, argv, options), values);
    po::notify(values);
    return spdnn::bench_all(values) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "kernel_bench: " << error.what() << '\n';
    return 2;
  }
}
