#pragma once

// Types shared by the host and the kernels of `cascade`: the arguments of both kernels, and a block's variables in
// shared memory. They do not need CUDA.

#include <cstdint>

#include "engines/cuda/cascade/front_filter.hpp"
#include "engines/cuda/cascade/front_program.hpp"
#include "engines/cuda/cascade/program.hpp"
#include "engines/cuda/cascade/tail_program.hpp"
#include "engines/cuda/layers/activation.hpp"
#include "engines/cuda/retire/duplicate_search.hpp"

struct uint4;  // of CUDA

namespace spdnn::cuda::cascade {

inline constexpr Index kCountThreads = 256;  ///< of a block of count_kernel
inline constexpr Index kThreads = 512;       ///< of a block of cascade_kernel
inline constexpr Index kMostRegions = 8;     ///< their numbers have four bits in Wave::regions
inline constexpr Index kMostColumns = 128;   ///< of a region
inline constexpr Index kSlots = kThreads;    ///< the most columns of a wave: one thread per column
inline constexpr Index kNoLayer = 0xffffffff;
/// In sectors of 32 bytes: the terms of a larger layer are not prefetched.
inline constexpr Index kMostPrefetched = 1024;

/// The arguments of count_kernel: CountedLayer on the device, and the images that it counts.
struct CountingArgs {
  const Index* input_starts;
  const Index* input_values;
  const Index* class_starts;
  const Index* class_values;
  const Index* runs;
  Index runs_per_neuron;
  const Index* words;     ///< null where classes do not fill words
  Index words_per_class;  ///< a multiple of four
  Index class_slices;
  Index neuron_slices;
  Index tile;  ///< images per block
  const std::uint64_t* image_words;
  Index image_pairs;  ///< 64-bit words per image
  Index images;
  std::uint8_t* counts;  ///< images x 32 neuron_slices

  /// The pitch of an image's bits in shared memory, in 32-bit words: a pair of zeros follows them.
  SPDNN_HOST_DEVICE Index bits_pitch() const { return 2 * image_pairs + 2; }
  /// The pitch of an image's counts of classes in shared memory, in bytes: zeros follow them.
  SPDNN_HOST_DEVICE Index counts_pitch() const { return 32 * class_slices + 16; }
  std::size_t shared_bytes() const { return std::size_t{tile} * (4 * std::size_t{bits_pitch()} + counts_pitch()); }
};

/// The plan as an argument of cascade_kernel; CascadeProgram describes the arrays.
struct ProgramView {
  const CascadeLayer* layers;
  const uint4* terms;
  const Index* degrees;
  const float* biases;
  const float* sums;  ///< of layer 0, by count
  Index sum_count;
  Index depth;
  Index dead_from;       ///< kNoLayer where the pass is off
  Index saturated_from;  ///< likewise
  Activation activation;
  Index columns;  ///< of a region at most, a power of two
  Index regions;
  Index region_floats;
  const float* pair_table;  ///< CascadeProgram::pair_table, padded to quads; null where there is none
};

/// FrontFilter as an argument of filter_kernel: numbers of 16 bits, twice in a word.
struct FilterView {
  Index weight;  ///< once
  std::uint32_t cap;
  std::uint32_t biases[kMostFrontLayers];    ///< at most 0
  std::uint32_t live[kMostFrontLayers];      ///< bias - margin + 1: images live where a sum and this one are above 0
  std::uint32_t may_live[kMostFrontLayers];  ///< bias + margin: likewise they may live
};

/// The images that filter_kernel leaves to front_kernel, in any order.
struct KeptImages {
  Index* images;  ///< null: there is no filter
  Index* count;
};

/// The front of a plan and the images' bits, as an argument of filter_kernel and front_kernel.
struct FrontView {
  FrontLayer steps[kMostFrontLayers];
  FilterView filter;  ///< unused where there is none
  KeptImages kept;
  Index until;    ///< layers
  Index outputs;  ///< of the last one
  Index words_per_class;
  Index class_shift;
  Index threshold;
  Index saturated_from;      ///< as in ProgramView
  bool keeps_zero;           ///< images that are all zero do not retire within the front
  float cap;                 ///< of activations
  const float* pair_table;   ///< as in ProgramView
  const float* activations;  ///< of layer 0, by count
  const std::uint32_t* bits;
  Index bits_pitch;  ///< 32-bit words per image
};

/// The tail of a plan as tail_kernel takes it.
struct TailView {
  const TailLayer* layers;
  const uint4* terms;
  Index first;   ///< layer
  Index inputs;  ///< of it
};

/// The kernels' counts of one layer.
struct LayerTally {
  Index live;        ///< images that entered the layer active and are not all zero after it
  Index saturated;   ///< of these, retired at the cap
  Index duplicates;  ///< change from the layer before: duplicates of images that are not all zero
};

/// Images between two launches, in any order.
struct Survivors {
  float* rows;   ///< activations, `stride` floats per image; null: not needed
  Index stride;  ///< a multiple of four
  Index* images;
  Index* count;
};

/// The results of a run: the last block of the last launch writes them to page-locked host memory, which saves a copy
/// after that launch, and clears the state for the next run.
struct Results {
  uint4* to;  ///< null: another launch follows
  uint4* state;
  Index bytes;               ///< before the tallies; of these, only those of counted layers are written
  Index cleared;             ///< bytes that are cleared
  const Index* counted;      ///< LaunchArgs::counted
  unsigned long long* done;  ///< finished blocks in its higher half; DuplicateSearch::listed in its lower half
};

/// The work of one launch of cascade_kernel: layers first .. until-1. Images come from `counts` if it begins with layer
/// 0, otherwise from `in`; images that are still active at the end go to `out`.
struct LaunchArgs {
  const std::uint8_t* counts;  ///< of layer 0's terms that are 1, by image and neuron
  std::size_t stride;          ///< bytes of an image's counts
  Index images;                ///< with counts
  Survivors in;
  Survivors out;
  Index first;
  Index until;
  Index* next;  ///< images taken after the blocks' first ones
  LayerTally* tallies;
  Index* counted;             ///< layers from here on have tallies of 0
  std::uint32_t* categories;  ///< one bit per image
  Index* runs;                ///< before this one
  Results results;
  DuplicateSearch search;  ///< among the survivors of the first launch
};

/// Properties of an image's activations after a layer.
struct alignas(2) Marks {
  std::uint8_t live;       ///< one is above 0
  std::uint8_t below_cap;  ///< one is below the cap
};

/// Variables that the threads of a block share. The regions follow in shared memory.
struct alignas(16) Shared {
  Index image[kSlots];  ///< by column; kNoImage: none
  Marks marks[kSlots];
  std::uint16_t order[kSlots];                    ///< columns with active images
  std::uint32_t active[kSlots / 32];              ///< one bit per column
  float sums[kMostCounted + 1];                   ///< the output of layer 0 for each count
  float pair_table[kTableFloats];                 ///< CascadeProgram::pair_table
  std::uint32_t prefetched[kMostPrefetched + 4];  ///< the target of prefetches into L1; never read
  /// The first image of the block's next wave, and the position in `out` of the first survivor of its wave;
  /// finish_run() reuses both. The other two only fill 16 bytes.
  Index next[4];
};
static_assert(sizeof(Shared) % 16 == 0);
static_assert(kSlots / 32 <= 32, "one lane per word of Shared::active");

}  // namespace spdnn::cuda::cascade
