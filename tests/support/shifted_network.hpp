#pragma once

// Networks whose first layers read c and c + shift, as the first block of an official network does after the pass
// `twins`, and images for them. All sums are exact in fp32.

#include <algorithm>
#include <bit>
#include <vector>

#include "spdnn/network.hpp"
#include "support/matrix_builder.hpp"
#include "support/networks.hpp"

namespace spdnn::testing {

/// The parameters of such a network. Two layers of five terms follow these layers.
struct Shifts {
  Index neurons;
  Index words;                ///< inputs that each class of the first layer counts
  Index class_shift;          ///< neuron c counts class c and class c + class_shift
  std::vector<Index> layers;  ///< the shift of each layer after the first
  Index outputs;              ///< of the last of these
};

/// Whether the filter of `front_kernel` takes such shifts.
inline bool powers_of_two(const Shifts& shifts) {
  return std::all_of(shifts.layers.begin(), shifts.layers.end(),
                     [](Index shift) { return std::has_single_bit(shift); });
}

/// At least one network for each width for which `front_kernel` has a shape.
inline std::vector<Shifts> shifts_of_all_widths() {
  return {{64, 16, 1, {2, 4, 8, 16, 32}, 32}, {64, 3, 31, {6, 62, 34}, 64},       {128, 5, 2, {14, 64, 100}, 128},
          {256, 16, 1, {2, 4, 128}, 128},     {512, 1, 7, {300, 32, 510}, 512},   {1024, 2, 31, {2, 512}, 512},
          {2048, 4, 1, {30, 1024}, 1024},     {4096, 1, 30, {2, 64, 2048}, 2048}, {128, 5, 2, {2, 64, 16}, 128},
          {512, 1, 7, {8, 256, 32}, 512},     {2048, 4, 1, {32, 4, 1024}, 1024}};
}

inline Layer shifted_layer(Index neurons, Index outputs, Index shift, double bias) {
  MatrixBuilder weights(neurons);
  for (Index c = 0; c < outputs; ++c) {
    const Index other = (c + shift) % neurons;
    for (Index t = 0; t < 8; ++t) weights.add(t % 2 == 0 ? std::min(c, other) : std::max(c, other));
    weights.end_row();
  }
  return {weights.uniform(0.25F), Bias{bias, {}}};
}

inline Network shifted_network(const Shifts& shifts) {
  const Index n = shifts.neurons;
  Network network;
  MatrixBuilder counted(n * shifts.words);
  for (Index c = 0; c < n; ++c) {
    const Index other = (c + shifts.class_shift) % n;
    for (Index k = 0; k < shifts.words; ++k) {
      counted.add(std::min(c, other) + k * n);
      counted.add(std::max(c, other) + k * n);
    }
    counted.end_row();
  }
  network.layers.push_back({counted.uniform(0.25F), Bias{shifts.words > 1 ? -0.5 : -0.25, {}}});
  for (std::size_t k = 0; k < shifts.layers.size(); ++k) {
    const Index outputs = k + 1 < shifts.layers.size() ? n : shifts.outputs;
    network.layers.push_back(shifted_layer(n, outputs, shifts.layers[k], k % 2 == 0 ? -0.75 : -0.25));
  }
  Rng rng(n);
  for (Index k = 0; k < 2; ++k) {
    MatrixBuilder weights(shifts.outputs);
    for (Index row = 0; row < shifts.outputs; ++row) {
      for (Index t = 0; t < 5; ++t) weights.add(static_cast<Index>(rng.below(shifts.outputs)));
      weights.end_row();
    }
    network.layers.push_back({weights.uniform(0.25F), Bias{-0.25, {}}});
  }
  network.cap = 3.0;
  return network;
}

/// No pixel, every pixel, all densities, and of eight images some with a thin strip only; every image twice.
inline ImageSet images_of_strips(Index images, Index inputs, Index strips = 4) {
  MatrixBuilder lit(inputs);
  for (Index image = 0; image < images; ++image) {
    Rng rng(1 + image / 2);
    const auto density = image < 2 ? 0 : image < 4 ? 100 : rng.below(101);
    const bool strip = image % 8 >= 8 - strips;
    const Index begin = strip ? static_cast<Index>(rng.below(inputs)) : 0;
    const Index end = strip ? std::min(inputs, begin + inputs / 8) : inputs;
    for (Index input = begin; input < end; ++input)
      if (rng.below(100) < density) lit.add(input);
    lit.end_row();
  }
  return ImageSet{ImageSet{lit.uniform()}.to_bits()};
}

}  // namespace spdnn::testing
