#include "engines/cuda/cascade/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/threads/parallel.hpp"
#include "engines/cuda/cascade/tail_program.hpp"
#include "engines/cuda/layers/activation.hpp"
#include "engines/cuda/layers/alternation.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kSlice = 32;
constexpr Index kNoClass = 0xffffffff;
constexpr Index kChunk = 8;  ///< terms of 16 bits in 16 bytes

SlicedLists slice_up(const std::vector<std::vector<Index>>& lists, Index padding) {
  SlicedLists sliced;
  for (std::size_t first = 0; first < lists.size(); first += kSlice) {
    const std::size_t last = std::min(lists.size(), first + kSlice);
    std::size_t length = 0;
    for (std::size_t i = first; i < last; ++i) length = std::max(length, lists[i].size());
    sliced.starts.push_back(narrow<Index>(sliced.values.size()));
    for (std::size_t k = 0; k < length; ++k)
      for (std::size_t i = first; i < first + kSlice; ++i)
        sliced.values.push_back(i < last && k < lists[i].size() ? lists[i][k] : padding);
  }
  sliced.starts.push_back(narrow<Index>(sliced.values.size()));
  return sliced;
}

/// CountedLayer::words for these lists of the classes' inputs.
std::vector<Index> words_of(const SlicedLists& inputs, Index input_count) {
  Index longest = 0;
  for (Index slice = 0; slice < inputs.slices(); ++slice)
    longest = std::max(longest, (inputs.starts[slice + 1] - inputs.starts[slice]) / kSlice);
  if (longest > CountedLayer::kMostWords) return {};
  for (std::size_t i = 0; i < inputs.values.size(); ++i)
    if (inputs.values[i] != std::size_t{inputs.values[i / kSlice * kSlice] / kSlice} * kSlice + i % kSlice) return {};
  const Index image_words = (input_count + 63) / 64 * 2;
  std::vector<Index> words((std::size_t{longest} + 3) / 4 * 4 * inputs.slices(), image_words);
  for (Index slice = 0; slice < inputs.slices(); ++slice)
    for (Index at = inputs.starts[slice], k = 0; at < inputs.starts[slice + 1]; at += kSlice, ++k)
      words[std::size_t{k} * inputs.slices() + slice] = inputs.values[at] / kSlice;
  return words;
}

/// CountedLayer::runs for these lists of the neurons' classes, padded with `padding`. A count of class `zeros` is 0.
std::vector<Index> runs_of(const SlicedLists& classes, Index padding, Index zeros) {
  const Index quads = classes.slices() * kSlice / 4;
  Index longest = 0;
  for (Index slice = 0; slice < classes.slices(); ++slice)
    longest = std::max(longest, (classes.starts[slice + 1] - classes.starts[slice]) / kSlice);
  std::vector<Index> runs(std::size_t{longest} * quads, zeros);
  for (Index quad = 0; quad < quads; ++quad) {
    const Index slice = quad * 4 / kSlice;
    for (Index at = classes.starts[slice] + quad * 4 % kSlice, k = 0; at < classes.starts[slice + 1];
         at += kSlice, ++k) {
      const Index* four = classes.values.data() + at;
      if (std::all_of(four, four + 4, [&](Index number) { return number == padding; })) continue;
      const bool run = four[1] == four[0] + 1 && four[2] == four[0] + 2 && four[3] == four[0] + 3;
      runs[std::size_t{k} * quads + quad] = run ? four[0] : CountedLayer::kScattered;
    }
  }
  return runs;
}

/// Groups inputs by the neurons that read them; inputs that nothing reads are in no class. Classes are numbered in the
/// order of their first inputs, so that neighbours stay neighbours.
CountedLayer count_classes(const CsrMatrix& weights) {
  const CsrMatrix columns = transpose(weights);
  std::map<std::vector<Index>, Index> number_of;
  std::vector<std::vector<Index>> inputs;
  std::vector<Index> class_of(weights.cols, kNoClass);
  for (Index input = 0; input < weights.cols; ++input) {
    const auto column = columns.row(input);
    if (column.empty()) continue;
    const auto [found, added] = number_of.try_emplace({column.begin(), column.end()}, narrow<Index>(inputs.size()));
    if (added) inputs.emplace_back();
    inputs[found->second].push_back(input);
    class_of[input] = found->second;
  }
  // A neuron reads all inputs of a class equally often: the first input represents the class.
  std::vector<std::vector<Index>> classes(weights.rows);
  for (Index row = 0; row < weights.rows; ++row)
    for (const Index input : weights.row(row))
      if (inputs[class_of[input]].front() == input) classes[row].push_back(class_of[input]);

  CountedLayer layer;
  layer.class_count = narrow<Index>(inputs.size());
  layer.inputs = slice_up(inputs, weights.cols);
  layer.classes = slice_up(classes, layer.class_count);
  layer.words = words_of(layer.inputs, weights.cols);
  layer.runs = runs_of(layer.classes, layer.class_count, layer.inputs.slices() * kSlice);
  Offset most = 0;
  for (Index row = 0; row < weights.rows; ++row) most = std::max(most, weights.degree(row));
  layer.sums.push_back(0.0F);
  for (Offset k = 0; k < most; ++k) layer.sums.push_back(std::fma(1.0F, weights.value, layer.sums.back()));
  return layer;
}

/// Pairs of terms per row if all rows have the same length, at least four, and each alternates between two inputs;
/// otherwise 0.
Index alternating_pairs(const CsrMatrix& weights) {
  const Offset degree = weights.rows == 0 ? 0 : weights.degree(0);
  if (degree < 4) return 0;
  for (Index row = 0; row < weights.rows; ++row) {
    const auto inputs = weights.row(row);
    if (inputs.size() != degree || !cuda::alternates(inputs)) return 0;
  }
  return narrow<Index>(degree / 2);
}

/// A layer and its additions to the program's arrays.
struct CompiledLayer {
  CascadeLayer layer;
  std::vector<std::uint32_t> terms;
  std::vector<Index> degrees;
  std::vector<float> biases;
};

void write_terms(const CsrMatrix& weights, CompiledLayer& to) {
  to.layer.pairs = alternating_pairs(weights);
  if (to.layer.pairs > 0) {
    for (Index row = 0; row < weights.rows; ++row) to.terms.push_back(weights.row(row)[0] | weights.row(row)[1] << 16U);
    to.terms.resize((to.terms.size() + 3) / 4 * 4);
    return;
  }
  Offset most = 0;
  for (Index row = 0; row < weights.rows; ++row) {
    most = std::max(most, weights.degree(row));
    to.degrees.push_back(narrow<Index>(weights.degree(row)));
  }
  to.terms.assign((most + kChunk - 1) / kChunk * weights.rows * kChunk / 2, 0);
  for (Index row = 0; row < weights.rows; ++row) {
    const auto inputs = weights.row(row);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::size_t unit = k / kChunk * weights.rows + row;
      to.terms[unit * kChunk / 2 + k % kChunk / 2] |= inputs[k] << (k % 2 * 16);
    }
  }
  to.layer.degree = narrow<Index>(most);
  if (std::adjacent_find(to.degrees.begin(), to.degrees.end(), std::not_equal_to<>()) == to.degrees.end())
    to.degrees.clear();
}

CompiledLayer compile_layer(const Plan& plan, Index number) {
  const Layer& from = plan.layers[number];
  CompiledLayer to;
  to.layer.inputs = from.inputs();
  to.layer.outputs = from.outputs();
  to.layer.weight = from.weights.value;
  to.layer.bias = static_cast<float>(from.bias.uniform);
  to.layer.bias_always = cuda::adds_bias_always(plan, from);
  if (!from.bias.values.empty())
    for (const double bias : from.bias.values) to.biases.push_back(static_cast<float>(bias));
  if (number > 0) write_terms(from.weights, to);
  return to;
}

template <class T>
Index append(std::vector<T>& all, const std::vector<T>& part) {
  if (part.empty()) return CascadeLayer::kUniform;
  const Index begin = narrow<Index>(all.size());
  all.insert(all.end(), part.begin(), part.end());
  return begin;
}

/// CascadeProgram::pair_table: term by term, in the layer's own order.
std::vector<float> tabulate_pairs(const CascadeProgram& program, const Plan& plan) {
  const cuda::Activation activation = cuda::activation_of(plan);
  const CascadeLayer& second = program.layers[1];
  std::vector<float> table(kTableFloats, 0.0F);
  const Index counts = narrow<Index>(program.first.sums.size());
  for (Index first = 0; first < counts; ++first)
    for (Index other = 0; other < counts; ++other) {
      const float a = activation(program.first.sums[first], program.layers[0].bias);
      const float b = activation(program.first.sums[other], program.layers[0].bias);
      float z = 0.0F;
      for (Index pair = 0; pair < second.pairs; ++pair) z = std::fma(b, second.weight, std::fma(a, second.weight, z));
      table[first * kTablePitch + other] = activation(z, second.bias);
    }
  return table;
}

bool can_tabulate(const CascadeProgram& program, const Plan& plan) {
  if (program.layers.size() < 2 || program.first.sums.size() > kTabled || plan.cap.value_or(1.0) <= 0) return false;
  const CascadeLayer& first = program.layers[0];
  const CascadeLayer& second = program.layers[1];
  return first.biases == CascadeLayer::kUniform && first.bias_always && first.outputs % 4 == 0 && second.pairs > 0 &&
         second.biases == CascadeLayer::kUniform;
}

}  // namespace

std::string reason_against_cascade(const Plan& plan) {
  if (plan.depth() == 0) return "cascade: a network without layers";
  if (plan.passes.merge) return "cascade: a merged plan has a different weight for each edge; resident supports any";
  for (Index k = 0; k < plan.depth(); ++k) {
    const Layer& layer = plan.layers[k];
    if (!layer.weights.uniform())
      return fmt::format("cascade: layer {} has a different weight for each edge; resident supports any", k + 1);
    if (layer.outputs() > kCascadeWidth)
      return fmt::format("cascade: layer {} has {} neurons to compute, more than {}; spmm_rows supports any", k + 1,
                         layer.outputs(), kCascadeWidth);
  }
  const CsrMatrix& weights = plan.layers.front().weights;
  for (Index row = 0; row < weights.rows; ++row)
    if (weights.degree(row) > kMostCounted)
      return fmt::format("cascade: neuron {} of layer 1 has {} terms, more than {}; resident supports any", row + 1,
                         weights.degree(row), kMostCounted);
  return {};
}

Preference cascade_preference(const Plan& plan) {
  constexpr Index kNarrowed = 4;       // the least ratio of the inputs to the widest layer
  constexpr Index kNarrowTail = 1024;  // neurons
  const Index width = plan.max_outputs();
  const bool suits =
      plan.passes.dead && Offset{width} * kNarrowed <= plan.inputs() && (plan.passes.saturated || width <= kNarrowTail);
  return suits ? Preference::preferred : Preference::last_resort;
}

std::size_t most_cascade_bytes(const Plan& plan) {
  std::size_t bytes = plan.depth() * sizeof(CascadeLayer);
  for (const Layer& layer : plan.layers) {
    Offset most = 0;
    for (Index row = 0; row < layer.outputs(); ++row) most = std::max(most, layer.weights.degree(row));
    bytes += layer.outputs() * (sizeof(Index) + sizeof(float) + (most + kChunk - 1) / kChunk * kChunk * 2);
  }
  if (plan.max_outputs() <= kTailWidth) bytes += plan.depth() * (sizeof(TailLayer) + Tail::kLayerBytes);
  // For layer 0: lists of its inputs and of its neurons' classes, four bytes per entry, padded to slices.
  return bytes + 4 * sizeof(Index) * (plan.layers.front().weights.entries() + plan.inputs() + 32);
}

CascadeProgram compile_cascade(const Plan& plan) {
  if (const std::string reason = reason_against_cascade(plan); !reason.empty()) throw UsageError(reason);
  CascadeProgram program;
  program.first = count_classes(plan.layers.front().weights);
  std::vector<CompiledLayer> compiled(plan.depth());
  parallel_for(plan.depth(), [&](std::size_t k) { compiled[k] = compile_layer(plan, narrow<Index>(k)); });
  for (CompiledLayer& part : compiled) {
    part.layer.terms = program.terms.size() / 4;
    program.terms.insert(program.terms.end(), part.terms.begin(), part.terms.end());
    part.layer.degrees = append(program.degrees, part.degrees);
    part.layer.biases = append(program.biases, part.biases);
    program.width = std::max(program.width, part.layer.outputs);
    program.layers.push_back(part.layer);
    part = {};
  }
  if (can_tabulate(program, plan)) program.pair_table = tabulate_pairs(program, plan);
  return program;
}

}  // namespace spdnn
