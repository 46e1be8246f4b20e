// Small networks made from the input, run by every CPU engine with any set of passes. Where no rounding can occur, all
// runs must agree; where it can, a run with passes must agree with one without, and the engines in fp64 with each
// other. That is also true where sums overflow, unless the overflow is noticed.

#include <algorithm>
#include <bit>
#include <cmath>

#include "fuzz/harness.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "support/networks.hpp"

namespace {

using namespace spdnn;
using fuzz::Bytes;
using fuzz::require;

/// The kinds of numbers: quarters, whose sums fp32 holds exactly; numbers that round but never overflow; any numbers.
enum class Numbers { exact, rounding, any };

float number(Bytes& bytes, Numbers numbers) {
  if (numbers == Numbers::any) {
    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits = bits << 8U | bytes.take();
    const auto value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? value : 1e38F;
  }
  const int whole = static_cast<int>(bytes.below(17)) - (bytes.below(4) == 0 ? 8 : 0);
  return static_cast<float>(whole) / (numbers == Numbers::exact ? 4.0F : 7.3F);
}

Layer make_layer(Bytes& bytes, Numbers numbers, Index inputs) {
  const Index outputs = bytes.below(40);
  const unsigned style = bytes.take();
  testing::Rows rows(outputs);
  for (Index j = 0; j < outputs; ++j) {
    const std::uint32_t degree = bytes.below(8);
    if (degree == 7 && j > 0) {  // a twin
      rows[j] = rows[bytes.below(j)];
      continue;
    }
    for (std::uint32_t k = 0; k < degree && inputs > 0; ++k)
      rows[j].emplace_back(bytes.below(inputs), number(bytes, numbers));
  }
  Layer layer{testing::make_matrix(inputs, rows, style % 2 == 0), {}};
  layer.bias.uniform = -std::abs(number(bytes, numbers));
  if (style % 4 == 3 && outputs > 0) {
    std::vector<double> values(outputs);
    for (double& value : values) value = number(bytes, numbers);
    layer.bias.values = std::move(values);
  }
  return layer;
}

Network make_network(Bytes& bytes, Numbers numbers, Index inputs) {
  Network network;
  const unsigned style = bytes.take();
  network.bias_rule = style % 4 == 0 ? BiasRule::everywhere : BiasRule::non_zeros;
  if (style / 4 % 4 == 0) network.cap.reset();
  if (style / 4 % 4 == 1) network.cap = 1.5;
  const std::uint32_t depth = 1 + bytes.below(network.cap ? 5 : 3);  // exact without a cap only if not deep
  for (std::uint32_t k = 0; k < depth; ++k) {
    network.layers.push_back(make_layer(bytes, numbers, inputs));
    inputs = network.layers.back().outputs();
  }
  return network;
}

ImageSet make_images(Bytes& bytes, Numbers numbers, Index neurons) {
  const Index count = bytes.below(70);
  const bool ones = bytes.below(2) == 0;
  testing::Rows rows(count);
  for (auto& row : rows)
    for (Index neuron = bytes.below(8); neuron < neurons; neuron += 1 + bytes.below(8))
      row.emplace_back(neuron, ones ? 1.0F : number(bytes, numbers));
  ImageSet images{testing::make_matrix(neurons, rows, ones)};
  return ones ? ImageSet{images.to_bits()} : images;
}

struct Problem {
  Network network;
  ImageSet images;
  Index batch;
  int threads;
};

Outcome run_on(std::string_view variant, Precision precision, const Problem& problem, const Passes& passes) {
  RunOptions options;
  options.engine.precision = precision;
  options.engine.threads = problem.threads;
  options.batch = problem.batch;
  return run(find_variant(variant), make_plan(problem.network, passes), problem.images, options).outcome;
}

void require_same(const Outcome& found, const Outcome& truth, const Passes& passes, std::string_view promise) {
  require(found.categories == truth.categories, promise);
  // Neurons that are not computed are not counted.
  if (!passes.unused) require(found.alive == truth.alive, "images alive are counted alike");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  Bytes bytes(data, size);
  const auto numbers = static_cast<Numbers>(bytes.below(3));
  Passes passes;
  const unsigned chosen = bytes.take();
  passes.twins = chosen % 2 != 0, passes.unused = chosen / 2 % 2 != 0, passes.merge = chosen / 4 % 2 != 0;
  passes.saturated = chosen / 8 % 2 != 0, passes.dead = chosen / 16 % 2 != 0, passes.identical = chosen / 32 % 2 != 0;
  Problem problem{.network = {}, .images = {}, .batch = 1 + bytes.below(70), .threads = 1};
  const Index inputs = 1 + bytes.below(70);
  problem.network = make_network(bytes, numbers, inputs);
  problem.images = make_images(bytes, numbers, inputs);
  problem.network.validate();

  Passes in_order = passes;  // the oracle takes no merged plan
  in_order.merge = false;
  const Outcome truth = run_on("cpu_reference", Precision::fp64, problem, {});
  const Outcome reduced = run_on("cpu_reference", Precision::fp64, problem, in_order);
  const Outcome tiles = run_on("cpu_openmp", Precision::fp64, problem, passes);
  const Outcome single = run_on("cpu_openmp", Precision::fp32, problem, passes);
  const Outcome plain = run_on("cpu_openmp", Precision::fp32, problem, {});
  for (const Outcome* outcome : {&reduced, &tiles, &single, &plain})
    if (!outcome->overflow.empty()) return 0;
  require_same(reduced, truth, in_order, "passes do not change the oracle's categories");
  require_same(tiles, truth, passes, "the tiles in fp64 agree with the oracle");
  require_same(single, plain, passes, "passes do not change the categories in fp32");
  if (numbers == Numbers::exact) require_same(plain, truth, {}, "fp32 is exact where nothing is rounded");
  return 0;
}
