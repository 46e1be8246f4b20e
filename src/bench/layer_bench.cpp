#include "bench/layer_bench.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "core/system/stopwatch.hpp"
#include "data/generate.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"

namespace spdnn::bench {

namespace {

/// In every image, about half of the pixels are set.
ImageSet random_images(Index images, Index neurons) {
  std::mt19937_64 random(1);
  BitMatrix bits{.rows = images, .cols = neurons};
  std::vector<std::uint64_t> words(bits.words_per_row() * images);
  for (std::uint64_t& word : words) word = random();
  const std::uint64_t last = neurons % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << neurons % 64) - 1;
  for (std::size_t end = bits.words_per_row(); end <= words.size(); end += bits.words_per_row()) words[end - 1] &= last;
  bits.words = Array<std::uint64_t>(std::move(words));
  return {bits};
}

/// Bias 0 and a mean weight of 2 / degree: images stay alive through all layers.
Plan make_layers(const LayerBench& bench) {
  FamilyOptions family{.neurons = bench.neurons, .layers = bench.layers, .degree = bench.degree};
  const double mean = 2.0 / bench.degree;
  if (bench.distinct) family.law = WeightLaw{WeightLaw::Kind::normal, mean, mean / 4};
  return make_plan(generate_random(family), parse_passes("dead"));
}

}  // namespace

LayerProblem make_problem(const LayerBench& bench) {
  const auto images = static_cast<Index>(std::max(1.0, std::round(bench.alive * bench.images)));
  return {make_layers(bench), random_images(images, bench.neurons)};
}

LayerTiming time_layers(const Variant& variant, const LayerBench& bench, const LayerProblem& problem,
                        const EngineOptions& options) {
  const Plan& plan = problem.plan;
  LayerTiming timing;
  BatchInfo batch = batch_info(problem.images);
  batch.images = timing.images = automatic_batch(variant, plan, batch, options);
  const auto engine = make_engine(variant, std::make_shared<const Plan>(plan), batch, options);
  engine->load(problem.images.slice(0, timing.images));
  std::vector<double> samples;
  const Stopwatch all;
  for (int run = 0; run <= bench.trials && (run < 2 || all.seconds() < bench.seconds); ++run) {
    const Stopwatch watch;
    engine->reset();  // timed as in `infer`: some engines do it in the background
    for (Index layer = 0; layer < plan.depth();) layer = engine->advance(layer, plan.depth());
    engine->outcome();
    const double seconds = watch.seconds();
    const bool only_one = run == 0 && seconds >= bench.seconds;
    if (run > 0 || only_one) samples.push_back(seconds / plan.depth());  // otherwise the first warms up
    if (only_one) break;
  }
  timing.trials = static_cast<int>(samples.size());
  timing.seconds = spread(std::move(samples));
  const std::size_t layer_edges = plan.edges() / plan.depth();
  timing.edges = static_cast<double>(timing.images) * static_cast<double>(layer_edges);
  timing.bytes = plan.bytes() / plan.depth() + 2 * sizeof(float) * std::size_t{timing.images} * bench.neurons;
  return timing;
}

}  // namespace spdnn::bench
