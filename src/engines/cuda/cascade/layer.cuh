#pragma once

// One layer on a wave of images in shared memory.
//
// Mapping. A thread computes a neuron for up to four neighbouring columns of a region. With 128 columns the threads of
// a warp share one neuron's terms; with fewer, a warp works on several neurons. Terms come from L2. A layer processes
// region by region, each into the free one; its own becomes free for the next. Cost per term and image: a shared memory
// read of 4 bytes and an FMA; where the sums of a layer are a, b, a, b, ..., two reads for the whole sum.

#include "engines/cuda/cascade/wave.cuh"

namespace spdnn::cuda::cascade {

/// V neighbouring columns of a row, moved by one instruction.
template <Index V>
struct alignas(V * sizeof(float)) Columns {
  float at[V];

  __device__ static Columns read(const float* from) {
    Columns columns;
    if constexpr (V == 4)
      *reinterpret_cast<float4*>(columns.at) = *reinterpret_cast<const float4*>(from);
    else if constexpr (V == 2)
      *reinterpret_cast<float2*>(columns.at) = *reinterpret_cast<const float2*>(from);
    else
      columns.at[0] = *from;
    return columns;
  }
  __device__ void write(float* to) const {
    if constexpr (V == 4)
      *reinterpret_cast<float4*>(to) = make_float4(at[0], at[1], at[2], at[3]);
    else if constexpr (V == 2)
      *reinterpret_cast<float2*>(to) = make_float2(at[0], at[1]);
    else
      *to = at[0];
  }
  __device__ void add(const Columns& y, float weight) {
#pragma unroll
    for (Index v = 0; v < V; ++v) at[v] = fmaf(y.at[v], weight, at[v]);
  }
};

/// Highest and lowest sum, bias included, of this thread's columns over its neurons.
template <Index V>
struct Range {
  float high[V];
  float low[V];

  __device__ Range() {
#pragma unroll
    for (Index v = 0; v < V; ++v) {
      high[v] = -INFINITY;
      low[v] = INFINITY;
    }
  }
  __device__ void add(Index v, float sum) {
    high[v] = fmaxf(high[v], sum);
    low[v] = fminf(low[v], sum);
  }
  /// Sets the marks of a layer's activations for the columns from `slot` on.
  __device__ void mark(BlockContext& block, Index slot) const {
#pragma unroll
    for (Index v = 0; v < V; ++v) {
      if (high[v] > 0.0F) block.shared.marks[slot + v].live = 1;
      if (low[v] < block.program.activation.cap) block.shared.marks[slot + v].below_cap = 1;
    }
  }
};

/// Turns sums into activations. The common case takes five instructions per value.
template <Index V>
__device__ void activate(const BlockContext& block, const CascadeLayer& layer, float bias, Columns<V>& sums,
                         Range<V>& range) {
  const float cap = block.program.activation.cap;
  if (layer.bias_always) {
#pragma unroll
    for (Index v = 0; v < V; ++v) {
      sums.at[v] += bias;
      range.add(v, sums.at[v]);
      sums.at[v] = fminf(fmaxf(sums.at[v], 0.0F), cap);
    }
    return;
  }
#pragma unroll
  for (Index v = 0; v < V; ++v) {
    const float z = sums.at[v];
    const float y = z != 0.0F ? z + bias : z;
    range.add(v, y);
    sums.at[v] = fminf(fmaxf(y, 0.0F), cap);
  }
}

/// This thread's columns of a row, given those of row 0: the address takes one multiply-add.
__device__ inline const float* in_row(const float* rows, Index row, Index row_bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(rows) + row * row_bytes);
}

/// The activations of eight 16-bit terms, or of the first `count` of them.
template <Index V>
struct Terms {
  Columns<V> at[8];

  __device__ void read(const uint4& chunk, const float* rows, Index row_bytes, Index count = 8) {
#pragma unroll
    for (Index t = 0; t < 8; ++t) {
      const std::uint32_t pair = t < 2 ? chunk.x : t < 4 ? chunk.y : t < 6 ? chunk.z : chunk.w;
      const Index input = t % 2 == 0 ? pair & 0xffffU : pair >> 16U;
      if (t < count) at[t] = Columns<V>::read(in_row(rows, input, row_bytes));
    }
  }
  /// Adds them in order.
  __device__ void add_to(Columns<V>& sums, float weight, Index count = 8) const {
#pragma unroll
    for (Index t = 0; t < 8; ++t)
      if (t < count) sums.add(at[t], weight);
  }
};

/// The sum of a neuron's terms, in order. Chunks of eight are read four at a time: 32 terms, the official degree.
template <Index V>
__device__ Columns<V> sum_terms(const BlockContext& block, const CascadeLayer& layer, Index neuron, const float* rows,
                                Index shift) {
  Columns<V> sums{};
  Terms<V> terms;
  const Index row_bytes = sizeof(float) << shift;
  const uint4* next = block.program.terms + layer.terms + neuron;
  const Index degree =
      layer.degrees == CascadeLayer::kUniform ? layer.degree : __ldg(block.program.degrees + layer.degrees + neuron);
  Index left = degree / 8;
  for (; left >= 4; left -= 4) {
    uint4 chunks[4];
#pragma unroll
    for (Index k = 0; k < 4; ++k, next += layer.outputs) chunks[k] = __ldg(next);
#pragma unroll
    for (Index k = 0; k < 4; ++k) {
      terms.read(chunks[k], rows, row_bytes);
      terms.add_to(sums, layer.weight);
    }
  }
#pragma unroll 1
  for (; left > 0; --left, next += layer.outputs) {
    terms.read(__ldg(next), rows, row_bytes);
    terms.add_to(sums, layer.weight);
  }
  if (degree % 8 != 0) {
    terms.read(__ldg(next), rows, row_bytes, degree % 8);
    terms.add_to(sums, layer.weight, degree % 8);
  }
  return sums;
}

/// Which columns and neurons of a region this thread computes.
template <Index V>
struct Mapping {
  Index column;  ///< first of V
  Index neuron;  ///< first, and every `step`-th
  Index step;

  __device__ explicit Mapping(Index shift) {
    const Index lanes = shift - (V == 4 ? 2 : V == 2 ? 1 : 0);
    column = (threadIdx.x & ((1U << lanes) - 1)) * V;
    neuron = threadIdx.x >> lanes;
    step = kThreads >> lanes;
  }
};

/// Adds the bias, applies the activation function, stores, and updates the extremes of V columns of a neuron.
template <Index V>
__device__ void finish(const BlockContext& block, const CascadeLayer& layer, Index neuron, Columns<V>& sums, float* to,
                       Index shift, Range<V>& range) {
  const float bias =
      layer.biases == CascadeLayer::kUniform ? layer.bias : __ldg(block.program.biases + layer.biases + neuron);
  activate(block, layer, bias, sums, range);
  sums.write(to + (neuron << shift));
}

/// Sums of a, b, a, b, ...: both are read once. As each sum is a chain of additions, a thread works on several neurons
/// at a time; it prefetches the indices of the next neurons' a and b.
template <Index V>
__device__ void run_pairs(const BlockContext& block, const CascadeLayer& layer, const float* from, float* to,
                          Index shift, Range<V>& range) {
  constexpr Index kNeurons = 8 / V;
  const Mapping<V> mapping(shift);
  const Index row_bytes = sizeof(float) << shift;
  const auto* pairs = reinterpret_cast<const std::uint32_t*>(block.program.terms + layer.terms);
  std::uint32_t next[kNeurons];
  const auto look_up = [&](Index neuron) {
#pragma unroll
    for (Index k = 0; k < kNeurons; ++k)
      next[k] = neuron + k * mapping.step < layer.outputs ? __ldg(pairs + neuron + k * mapping.step) : 0;
  };
  look_up(mapping.neuron);
  for (Index neuron = mapping.neuron; neuron < layer.outputs; neuron += kNeurons * mapping.step) {
    Columns<V> a[kNeurons];
    Columns<V> b[kNeurons];
    Columns<V> sums[kNeurons] = {};
#pragma unroll
    for (Index k = 0; k < kNeurons; ++k) {
      a[k] = Columns<V>::read(in_row(from + mapping.column, next[k] & 0xffffU, row_bytes));
      b[k] = Columns<V>::read(in_row(from + mapping.column, next[k] >> 16U, row_bytes));
    }
    look_up(neuron + kNeurons * mapping.step);
#pragma unroll 4
    for (Index pair = 0; pair < layer.pairs; ++pair) {
#pragma unroll
      for (Index k = 0; k < kNeurons; ++k) sums[k].add(a[k], layer.weight);
#pragma unroll
      for (Index k = 0; k < kNeurons; ++k) sums[k].add(b[k], layer.weight);
    }
#pragma unroll
    for (Index k = 0; k < kNeurons; ++k)
      if (neuron + k * mapping.step < layer.outputs)
        finish(block, layer, neuron + k * mapping.step, sums[k], to + mapping.column, shift, range);
  }
}

/// A layer on the columns of one region; marks go to `slot` and the slots after it.
template <Index V>
__device__ void run_columns(BlockContext& block, const CascadeLayer& layer, const float* from, float* to, Index shift,
                            Index slot) {
  const Mapping<V> mapping(shift);
  if (mapping.neuron >= layer.outputs) return;
  Range<V> range;
  if (layer.pairs > 0) {
    run_pairs<V>(block, layer, from, to, shift, range);
  } else {
    for (Index neuron = mapping.neuron; neuron < layer.outputs; neuron += mapping.step) {
      Columns<V> sums = sum_terms<V>(block, layer, neuron, from + mapping.column, shift);
      finish(block, layer, neuron, sums, to + mapping.column, shift, range);
    }
  }
  range.mark(block, slot + mapping.column);
}

/// The same, with four columns per thread if there are enough.
__device__ inline void run_region(BlockContext& block, const CascadeLayer& layer, const float* from, float* to,
                                  Index shift, Index slot) {
  if (shift >= 2)
    run_columns<4>(block, layer, from, to, shift, slot);
  else if (shift == 1)
    run_columns<2>(block, layer, from, to, shift, slot);
  else
    run_columns<1>(block, layer, from, to, shift, slot);
}

/// A layer on all images of a wave, writing each region's outputs to a free one. Marks go to `marks` and the slots
/// after it. Ends with a barrier.
__device__ inline void run_layer(BlockContext& block, const CascadeLayer& layer, Index marks, Wave& wave) {
  for (Index g = 0; g < wave.groups; ++g) {
    const Index region = block.memory.take();
    run_region(block, layer, block.memory.at(wave.region(g)), block.memory.at(region), wave.shift,
               marks + (g << wave.shift));
    __syncthreads();
    block.memory.give(wave.region(g));
    wave.put(g, region);
  }
}

}  // namespace spdnn::cuda::cascade
