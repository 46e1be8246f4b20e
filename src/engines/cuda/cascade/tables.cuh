#pragma once

// Layer 0 from the counts of count_kernel, and layer 1 as well if the plan has a table for it. After layer 0 an
// activation is a function of one integer count, so sums a, b, a, b, ... of layer 1 depend on two counts: the table has
// the layer's output for each pair of counts, added term by term in the layer's order. The activations after layer 0
// are then never stored.
//
// A wave's counts are laid out in shared memory like its activations later, one row for each neuron, but as bytes: the
// counts of four of its groups take one region.

#include "engines/cuda/cascade/layer.cuh"

namespace spdnn::cuda::cascade {

/// Tabulates the output of layer 0 for each count, before clamping to [0, cap]: Z + bias if all neurons have the same
/// bias, otherwise Z.
__device__ inline void tabulate(BlockContext& block, const CascadeLayer& layer) {
  for (Index i = threadIdx.x; i < block.program.sum_count; i += kThreads) {
    const float z = block.program.sums[i];
    const bool with_bias = layer.biases == CascadeLayer::kUniform && (layer.bias_always || z != 0.0F);
    block.shared.sums[i] = with_bias ? z + layer.bias : z;
  }
}

/// Copies the table of layer 1 to shared memory, by `threads` threads.
__device__ inline void copy_table(const float* from, float* to, Index threads) {
  for (Index i = threadIdx.x; i < kTableFloats / 4; i += threads)
    reinterpret_cast<float4*>(to)[i] = __ldg(reinterpret_cast<const float4*>(from) + i);
}

/// Where a wave's counts are.
struct Counts {
  Index first;   ///< the region with those of the wave's first four groups
  Index second;  ///< the region with those of the other groups, if there are any

  __device__ Index region(Index group) const { return group < 4 ? first : second; }
  __device__ std::uint8_t* at(const Memory& memory, Index group) const {
    return reinterpret_cast<std::uint8_t*>(memory.at(region(group))) + group % 4 * memory.region_floats;
  }
};
static_assert(kMostRegions <= 9);

/// Highest and lowest of a thread's counts, in two halves of 16 bits.
struct Extremes {
  std::uint32_t most = 0;
  std::uint32_t least = 0x00ff00ffU;

  __device__ void add(std::uint32_t four) {
    const std::uint32_t even = four & 0x00ff00ffU;
    const std::uint32_t odd = four >> 8U & 0x00ff00ffU;
    most = __vimax3_u16x2(most, even, odd);
    least = __vimin3_u16x2(least, even, odd);
  }
  __device__ Index highest() const { return max(most & 0xffffU, most >> 16U); }
  __device__ Index lowest() const { return min(least & 0xffffU, least >> 16U); }
};

/// Loads the counts of images first .. first+count-1. A thread takes 16 neurons of one image in each of four groups at
/// a time, to have enough reads of device memory in flight. If layer 1 has a table, this sets the marks after layer 0:
/// a sum of one weight is monotone in its count, so the extreme counts determine them. Ends with a barrier.
__device__ inline Counts load_counts(BlockContext& block, Index outputs, Index first, Index count, bool tabled,
                                     Wave& wave) {
  constexpr Index kAhead = 4;
  wave.shift = shift_for(count, block.program.columns);
  wave.groups = (count + wave.columns() - 1) >> wave.shift;
  Counts counts{block.memory.take(), 0};
  if (wave.groups > 4) counts.second = block.memory.take();
  const Index column = threadIdx.x & (wave.columns() - 1);
  const Index neuron = (threadIdx.x >> wave.shift) * 16;
  for (Index g = 0; g < wave.groups; g += kAhead) {
    uint4 sixteen[kAhead] = {};
#pragma unroll
    for (Index k = 0; k < kAhead; ++k) {
      const Index slot = ((g + k) << wave.shift) + column;
      if (slot < count && neuron < outputs)
        sixteen[k] =
            __ldcs(reinterpret_cast<const uint4*>(block.args.counts + (first + slot) * block.args.stride + neuron));
    }
#pragma unroll
    for (Index k = 0; k < kAhead; ++k) {
      if (g + k >= wave.groups || neuron >= outputs) break;
      std::uint8_t* to = counts.at(block.memory, g + k) + (neuron << wave.shift) + column;
      const std::uint32_t words[4] = {sixteen[k].x, sixteen[k].y, sixteen[k].z, sixteen[k].w};
      Extremes extremes;
#pragma unroll
      for (Index q = 0; q < 4; ++q) {
        if (neuron + 4 * q >= outputs) break;
        extremes.add(words[q]);
#pragma unroll
        for (Index j = 0; j < 4; ++j) to[(4 * q + j) << wave.shift] = static_cast<std::uint8_t>(words[q] >> (8 * j));
      }
      if (!tabled) continue;
      Range<1> range;
      range.add(0, block.shared.sums[extremes.highest()]);
      range.add(0, block.shared.sums[extremes.lowest()]);
      range.mark(block, ((g + k) << wave.shift) + column);
    }
  }
  if (threadIdx.x < wave.slots())
    block.shared.image[threadIdx.x] = threadIdx.x < count ? first + threadIdx.x : kNoImage;
  __syncthreads();
  return counts;
}

/// Computes the activations of each group of a wave from its counts: compute(counts, region, first slot). Ends with a
/// barrier.
template <class Compute>
__device__ void from_counts(BlockContext& block, const Counts& counts, Wave& wave, Compute compute) {
  for (Index g = 0; g < wave.groups; ++g) {
    const Index region = block.memory.take();
    compute(counts.at(block.memory, g), block.memory.at(region), g << wave.shift);
    wave.put(g, region);
    if (g % 4 != 3 && g + 1 < wave.groups) continue;
    __syncthreads();
    block.memory.give(counts.region(g));
  }
}

/// Layer 0 on a wave, if layer 1 has no table. Ends with a barrier.
__device__ inline void run_counts(BlockContext& block, const CascadeLayer& layer, const Counts& counts, Wave& wave) {
  const Index column = threadIdx.x & (wave.columns() - 1);
  const Index begin = threadIdx.x >> wave.shift;
  from_counts(block, counts, wave, [&](const std::uint8_t* from, float* to, Index slot) {
    Range<1> range;
#pragma unroll 4
    for (Index neuron = begin; neuron < layer.outputs; neuron += kThreads >> wave.shift) {
      const Index at = (neuron << wave.shift) + column;
      Columns<1> sum{{block.shared.sums[from[at]]}};
      if (layer.biases == CascadeLayer::kUniform) {
        range.add(0, sum.at[0]);
        sum.at[0] = fminf(fmaxf(sum.at[0], 0.0F), block.program.activation.cap);
      } else {
        activate(block, layer, __ldg(block.program.biases + layer.biases + neuron), sum, range);
      }
      sum.write(to + at);
    }
    range.mark(block, slot + column);
  });
}

/// The counts of V neighbouring columns, one byte each.
template <Index V>
__device__ std::uint32_t read_counts(const std::uint8_t* from) {
  if constexpr (V == 4) return *reinterpret_cast<const std::uint32_t*>(from);
  if constexpr (V == 2) return *reinterpret_cast<const std::uint16_t*>(from);
  return *from;
}

/// Layer 1 on a wave, by its table. Ends with a barrier.
template <Index V>
__device__ void run_tabled(BlockContext& block, const CascadeLayer& layer, const Counts& counts, Wave& wave) {
  const Mapping<V> mapping(wave.shift);
  const auto* pairs = reinterpret_cast<const std::uint32_t*>(block.program.terms + layer.terms);
  from_counts(block, counts, wave, [&](const std::uint8_t* from, float* to, Index slot) {
    if (mapping.neuron >= layer.outputs) return;
    Range<V> range;
#pragma unroll 4
    for (Index neuron = mapping.neuron; neuron < layer.outputs; neuron += mapping.step) {
      const std::uint32_t pair = __ldg(pairs + neuron);
      const std::uint32_t a = read_counts<V>(from + ((pair & 0xffffU) << wave.shift) + mapping.column);
      const std::uint32_t b = read_counts<V>(from + (pair >> 16U << wave.shift) + mapping.column);
      const std::uint32_t even = (a & 0x00ff00ffU) * kTablePitch + (b & 0x00ff00ffU);
      const std::uint32_t odd = (a >> 8U & 0x00ff00ffU) * kTablePitch + (b >> 8U & 0x00ff00ffU);
      Columns<V> columns;
#pragma unroll
      for (Index v = 0; v < V; ++v) {
        columns.at[v] = block.shared.pair_table[(v % 2 == 0 ? even : odd) >> (v / 2 * 16) & 0xffffU];
        range.add(v, columns.at[v]);
      }
      columns.write(to + (neuron << wave.shift) + mapping.column);
    }
    range.mark(block, slot + mapping.column);
  });
}
__device__ inline void run_tabled(BlockContext& block, const CascadeLayer& layer, const Counts& counts, Wave& wave) {
  if (wave.shift >= 2)
    run_tabled<4>(block, layer, counts, wave);
  else if (wave.shift == 1)
    run_tabled<2>(block, layer, counts, wave);
  else
    run_tabled<1>(block, layer, counts, wave);
}

}  // namespace spdnn::cuda::cascade
