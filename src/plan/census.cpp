#include "plan/census.hpp"

#include <algorithm>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

void count_given(const CsrMatrix& weights, LayerCensus& census) {
  std::vector<Offset> counts(weights.rows);
  for (Index row = 0; row < weights.rows; ++row) counts[row] = weights.degree(row);
  census.degrees = Histogram(std::move(counts));
  counts.assign(weights.cols, 0);
  for (const Index input : weights.indices) ++counts[input];
  census.readers = Histogram(std::move(counts));
}

/// `ordered` is the plan's layer with its terms in the given order, not merged.
void count_planned(const CsrMatrix& given, const CsrMatrix& ordered, const Array<Index>& expansion,
                   LayerCensus& census) {
  std::vector<Offset> members(ordered.rows, 0);
  for (Index row = 0; row < given.rows; ++row) {
    const Index stored = expansion.empty() ? row : expansion[row];
    if (stored == kAlwaysZero) {
      ++census.always_zero;
      census.always_zero_edges += given.degree(row);
    } else if (stored == kNotComputed) {
      ++census.unread;
      census.unread_edges += given.degree(row);
    } else if (members[stored]++ > 0) {
      ++census.twins;
      census.twin_edges += given.degree(row);
    } else {  // the lowest of a class is the one that is stored
      ++census.stored;
      census.always_zero_edges += given.degree(row) - ordered.degree(stored);
    }
  }
  census.classes = Histogram(std::move(members));
}

}  // namespace

Histogram::Histogram(std::vector<Offset> values) {
  std::sort(values.begin(), values.end());
  for (const Offset value : values) {
    if (bins.empty() || bins.back().value != value) bins.push_back({value, 0});
    ++bins.back().count;
  }
}

void Histogram::add(const Histogram& other) {
  std::vector<Bin> sum;
  auto mine = bins.begin();
  for (const Bin& bin : other.bins) {
    while (mine != bins.end() && mine->value < bin.value) sum.push_back(*mine++);
    const bool both = mine != bins.end() && mine->value == bin.value;
    sum.push_back({bin.value, bin.count + (both ? mine++->count : 0)});
  }
  sum.insert(sum.end(), mine, bins.end());
  bins = std::move(sum);
}

Offset Histogram::total() const {
  Offset sum = 0;
  for (const Bin& bin : bins) sum += bin.count;
  return sum;
}

Offset Histogram::median() const {
  const Offset half = (total() + 1) / 2;
  Offset below = 0;
  for (const Bin& bin : bins)
    if ((below += bin.count) >= half) return bin.value;
  return 0;
}

std::vector<LayerCensus> take_census(const Network& network, const Plan& plan) {
  const Plan& ordered = plan.fallback ? *plan.fallback->in_order : plan;
  std::vector<LayerCensus> result(network.layers.size());
  parallel_for(result.size(), [&](std::size_t k) {
    const CsrMatrix& given = network.layers[k].weights;
    const CsrMatrix& in_order = ordered.layers[k].weights;
    count_given(given, result[k]);
    count_planned(given, in_order, ordered.expansion[k], result[k]);
    result[k].stored_edges = plan.layers[k].weights.entries();
    result[k].merged_edges = in_order.entries() - result[k].stored_edges;
  });
  return result;
}

LayerCensus sum_of(const std::vector<LayerCensus>& layers) {
  LayerCensus sum;
  for (const LayerCensus& layer : layers) {
    for (Histogram LayerCensus::*const histogram :
         {&LayerCensus::degrees, &LayerCensus::readers, &LayerCensus::classes})
      (sum.*histogram).add(layer.*histogram);
    for (Offset LayerCensus::*const count :
         {&LayerCensus::stored_edges, &LayerCensus::twin_edges, &LayerCensus::always_zero_edges,
          &LayerCensus::unread_edges, &LayerCensus::merged_edges, &LayerCensus::stored, &LayerCensus::twins,
          &LayerCensus::always_zero, &LayerCensus::unread})
      sum.*count += layer.*count;
  }
  return sum;
}

}  // namespace spdnn
