#pragma once

// The first layers of a plan whose neurons read c and c + shift, as `front_kernel` runs them. The front of an official
// network is its first block of layers after the pass `twins`.

#include <optional>
#include <vector>

#include "engines/cuda/cascade/program.hpp"

namespace spdnn {

inline constexpr Index kFrontNarrowest = 64;  ///< neurons
inline constexpr Index kFrontWidest = 4096;
inline constexpr Index kMostFrontLayers = 16;   ///< that kernel arguments have room for
inline constexpr Index kMostFrontWords = 16;    ///< of the inputs of a class
inline constexpr Index kFewestFrontLayers = 3;  ///< from counts, by the table, and by sums

/// A layer of a front after layer 0: neuron c adds up a, b, a, b, ..., where a and b are the inputs c and
/// (c + shift) % neurons, that of the lower number first.
struct FrontLayer {
  Index shift = 0;  ///< even, so that neighbours read neighbours
  Index pairs = 0;
  float weight = 0.0F;
  float bias = 0.0F;  ///< at most 0
};

/// Layers 0 .. layers-1 of a plan. In all of them a neuron whose inputs are all zero is zero, so that kernels compute
/// only where an input is not. All but the last layer have `neurons` neurons, a power of two.
struct Front {
  Index neurons = 0;
  Index outputs = 0;               ///< of the last layer, a multiple of 32
  Index layers = 0;                ///< at least kFewestFrontLayers
  Index words_per_class = 0;       ///< layer 0: the inputs of classes 32 s .. 32 s + 31 are words s + k neurons / 32
  Index class_shift = 0;           ///< layer 0: neuron c counts class c and class (c + class_shift) % neurons; 1 .. 31
  Index threshold = 0;             ///< layer 0: counts from here on make an activation above 0
  std::vector<float> activations;  ///< of layer 0, by count
  std::vector<FrontLayer> steps;   ///< by layer; [0] is empty
};

/// The front of a plan with a table for layer 1 and a layer left after the front; nothing where it has none. O(terms of
/// the front).
std::optional<Front> find_front(const CascadeProgram& program, const Plan& plan);

}  // namespace spdnn
