// Two families of synthetic networks, `radixnet` and `random`. Every row has its own random sequence (RandomStream), so
// a seed gives the same network with any number of threads.
//
// By default images stay alive: with constant weights of 2/degree and bias 0, a neuron becomes twice the mean of its
// inputs. Nothing is negative, so nothing cancels: rows double until the cap stops them (saturated, alive). A row dies
// only if no neuron reads any of its non-zeros. For a single non-zero input the probability is about exp(-degree) in a
// `random` network, and zero in a `radixnet` one, where every input has readers. Callers may choose other laws and
// biases.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/threads/parallel.hpp"
#include "data/counter_random.hpp"
#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The purposes of random sequences.
enum : std::uint64_t { kInputs, kWeights, kPermutation };

void check(const FamilyOptions& options, Index least_degree) {
  if (options.neurons == 0 || options.layers == 0) throw UsageError("a network needs neurons and layers");
  if (options.degree < least_degree || options.degree > options.neurons)
    throw UsageError(
        fmt::format("degree {} is outside {}..{} (the neurons)", options.degree, least_degree, options.neurons));
}

Array<Offset> equal_offsets(Index rows, Index degree) {
  std::vector<Offset> offsets(std::size_t{rows} + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * degree;
  return {std::move(offsets)};
}

/// The index of a row among all rows of the network, which selects its random sequences.
std::uint64_t row_number(const FamilyOptions& options, std::size_t layer, std::size_t row) {
  return layer * std::uint64_t{options.neurons} + row;
}

/// Calls fill(layer, row, inputs) for all rows of all layers in parallel to write the inputs of the row; then draws the
/// weights.
Network make_network(const FamilyOptions& options, const auto& fill) {
  const WeightLaw law = options.law.value_or(WeightLaw{.value = 2.0 / options.degree});
  CsrMatrix weights;
  weights.rows = weights.cols = options.neurons;
  weights.offsets = equal_offsets(options.neurons, options.degree);  // shared by all layers
  weights.value = static_cast<float>(law.value);
  Network network;
  network.layers.assign(options.layers, Layer{weights, {.uniform = options.bias, .values = {}}});

  const Offset edges = Offset{options.neurons} * options.degree;
  for (std::size_t layer = 0; layer < options.layers; ++layer) {
    const auto indices = allocate<Index>(edges);
    const auto values = allocate<float>(law.kind == WeightLaw::Kind::normal ? edges : 0);
    const auto pieces = static_cast<std::size_t>(host_threads()) * 4;
    parallel_ranges(options.neurons, pieces, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const Offset first = row * options.degree;
        fill(layer, row, std::span<Index>(indices.get() + first, options.degree));
        if (law.kind == WeightLaw::Kind::constant) continue;
        RandomStream stream(options.seed, kWeights, row_number(options, layer, row));
        for (Offset k = first; k < first + options.degree; ++k)
          values[static_cast<std::ptrdiff_t>(k)] = static_cast<float>(law.value + law.deviation * stream.normal());
      }
    });
    CsrMatrix& made = network.layers[layer].weights;
    made.indices = Array<Index>(indices, edges);
    if (law.kind == WeightLaw::Kind::normal) made.values = Array<float>(values, edges);
  }
  return network;
}

/// A block of RadiX-Net (Robinett & Kepner, "RadiX-Net: Structured Sparse Matrices for Deep Neural Networks", IPDPSW
/// 2019): a mixed-radix topology with equal radices, combined with a dense one. There are N = width x groups neurons,
/// and neuron j is in group j mod groups. Layer k of a block connects all members of group g with all members of the
/// groups g + i radix^k (mod groups), i < radix, so the degree is width x radix. Between blocks the neurons are
/// permuted at random.
struct Butterfly {
  Index radix = 1;
  Index groups = 1;
  Index depth = 1;  ///< layers of a block: radix^depth <= groups, so that the groups read are distinct
  bool exact =
      false;  ///< radix^depth == groups: a block connects every input with every output by the same number of paths
};

/// The width must divide the number of neurons, and degree <= neurons must hold; then radix <= groups.
Butterfly butterfly(Index neurons, Index degree, Index radix) {
  const Index width = degree / radix;
  Butterfly shape{.radix = radix, .groups = neurons / width};
  Offset reach = radix;
  for (; reach * radix <= shape.groups; reach *= radix) ++shape.depth;
  shape.exact = reach == shape.groups;
  return shape;
}

/// Among the radices that divide the degree and give whole groups, chooses the smallest exact one, or the smallest if
/// none is exact. One always exists: the degree itself, with groups of one neuron.
Butterfly choose_butterfly(Index neurons, Index degree) {
  Butterfly best = butterfly(neurons, degree, degree);
  for (Index radix = degree - 1; radix >= 2; --radix) {
    if (degree % radix != 0 || neurons % (degree / radix) != 0) continue;
    const Butterfly shape = butterfly(neurons, degree, radix);
    if (shape.exact || !best.exact) best = shape;
  }
  return best;
}

std::vector<Index> permutation(std::uint64_t seed, std::uint64_t block, Index size) {
  std::vector<Index> order(size);
  std::iota(order.begin(), order.end(), Index{0});
  RandomStream stream(seed, kPermutation, block);
  for (Index i = size; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);  // Fisher & Yates
  return order;
}

}  // namespace

Network generate_radixnet(const FamilyOptions& options) {
  check(options, 2);
  const Butterfly shape = choose_butterfly(options.neurons, options.degree);
  std::vector<std::vector<Index>> orders((std::size_t{options.layers} + shape.depth - 1) / shape.depth);
  parallel_for(orders.size(),
               [&](std::size_t block) { orders[block] = permutation(options.seed, block, options.neurons); });
  std::vector<Offset> strides{1};
  while (strides.size() < shape.depth) strides.push_back(strides.back() * shape.radix);

  return make_network(options, [&](std::size_t layer, std::size_t row, std::span<Index> inputs) {
    const Index k = static_cast<Index>(layer % shape.depth);
    const std::vector<Index>& order = orders[layer / shape.depth];
    auto next = inputs.begin();
    for (Offset i = 0; i < shape.radix; ++i)
      for (Offset input = (row + i * strides[k]) % shape.groups; input < options.neurons; input += shape.groups)
        *next++ = k == 0 ? order[input] : static_cast<Index>(input);
    std::sort(inputs.begin(), inputs.end());
  });
}

/// Floyd's sampling (Bentley & Floyd 1987): it takes `degree` draws for any number of neurons.
Network generate_random(const FamilyOptions& options) {
  check(options, 1);
  return make_network(options, [&](std::size_t layer, std::size_t row, std::span<Index> inputs) {
    RandomStream stream(options.seed, kInputs, row_number(options, layer, row));
    auto end = inputs.begin();
    for (Index last = options.neurons - options.degree; last < options.neurons; ++last, ++end) {
      const Index drawn = stream.below(last + 1);
      const auto place = std::lower_bound(inputs.begin(), end, drawn);
      if (place != end && *place == drawn) {
        *end = last;  // larger than all drawn so far
      } else {
        std::move_backward(place, end, end + 1);
        *place = drawn;
      }
    }
  });
}

}  // namespace spdnn
