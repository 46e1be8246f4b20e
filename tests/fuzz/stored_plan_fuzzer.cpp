// Packed files with a plan, changed as in packed_fuzzer: a plan that loads must run on every CPU engine. Without its
// certificates it is a network like any other, and then the engines must agree.

#include <algorithm>
#include <cmath>

#include "fuzz/harness.hpp"
#include "fuzz/packed_editor.hpp"
#include "inference/run/run.hpp"
#include "io/packed/file.hpp"
#include "support/networks.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

constexpr Index kMostNeurons = 512;
constexpr Index kImages = 40;

Outcome run_on(std::string_view variant, Precision precision, const Plan& plan, const ImageSet& images, Index batch) {
  RunOptions options;
  options.engine.precision = precision;
  options.engine.threads = 1;
  options.batch = batch;
  return run(find_variant(variant), plan, images, options).outcome;
}

void require_sound(const Outcome& outcome, Index images) {
  const Categories& categories = outcome.categories;
  require(std::adjacent_find(categories.begin(), categories.end(), std::greater_equal<>()) == categories.end(),
          "categories ascend");
  require(categories.empty() || categories.back() < images, "categories are images");
}

/// Whether no sum, in any order, exceeds what fp32 can represent.
bool stays_in_range(const Plan& plan) {
  double most = 1;
  for (const Layer& layer : plan.layers) {
    double largest = 0;
    for (Index j = 0; j < layer.outputs(); ++j) {
      double sum = std::abs(layer.bias[j]);
      for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[j + 1]; ++k)
        sum += most * std::abs(static_cast<double>(layer.weights.entry_value(k)));
      largest = std::max(largest, sum);
    }
    most = largest;
    if (!(most < 1e30)) return false;
  }
  return true;
}

void run_everywhere(const Plan& plan, const ImageSet& images) {
  for (const Precision precision : {Precision::fp32, Precision::fp64})
    fuzz::attempt([&] { require_sound(run_on("cpu_openmp", precision, plan, images, 33), kImages); });
  if (!plan.passes.merge)
    fuzz::attempt([&] { require_sound(run_on("cpu_reference", Precision::fp64, plan, images, 33), kImages); });

  Plan plain = plan;
  plain.passes = {};
  plain.fallback.reset();
  if (!stays_in_range(plain)) return;
  const Outcome truth = run_on("cpu_reference", Precision::fp64, plain, images, kImages);
  const Outcome tiles = run_on("cpu_openmp", Precision::fp64, plain, images, kImages);
  require(truth.categories == tiles.categories && truth.alive == tiles.alive, "the engines agree on a stored plan");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  const std::shared_ptr<std::byte> data = fuzz::packed_input(bytes, size);
  Plan plan;
  const std::string problem = fuzz::attempt([&] { plan = load_plan(PackedFile("fuzz.spdnn", data, size)); });
  if (!problem.empty()) return 0;
  fuzz::require_sound(plan);
  if (plan.max_width() > kMostNeurons || plan.depth() > 100) return 0;
  if (plan.fallback && (plan.fallback->in_order->max_width() > kMostNeurons || plan.fallback->in_order->depth() > 100))
    return 0;

  testing::Rng rng(plan.inputs());
  run_everywhere(plan, size % 2 == 0 ? testing::bit_images(rng, kImages, plan.inputs(), 0.4)
                                     : testing::valued_images(rng, kImages, plan.inputs(), 0.4));
  return 0;
}
