#pragma once

#include <vector>

#include "plan/planner.hpp"
#include "support/networks.hpp"

namespace spdnn::testing {

/// A network whose neuron j reads input j alone, `degrees[k]` times in layer k, with a weight of 1/4, a bias of -1/4
/// and a cap of 1.5: from 8 terms on, an activation at the cap stays there.
inline Network own_input_network(Index width, const std::vector<Index>& degrees) {
  Network network;
  for (const Index degree : degrees) {
    Rows rows(width);
    for (Index j = 0; j < width; ++j) rows[j].assign(degree, {j, 0.25F});
    network.layers.push_back(make_layer(width, rows, -0.25, true));
  }
  network.cap = 1.5;
  return network;
}

/// Images of bits, whose lit inputs are `lit(image, input)`.
template <class Lit>
ImageSet images_lit_by(Index images, Index inputs, Lit lit) {
  MatrixBuilder builder(inputs);
  for (Index image = 0; image < images; ++image) {
    for (Index input = 0; input < inputs; ++input)
      if (lit(image, input)) builder.add(input);
    builder.end_row();
  }
  return ImageSet{ImageSet{builder.uniform()}.to_bits()};
}

/// Layer 0 raises lit inputs to the cap, layer 1 lowers them again, and from layer 2 on activations at the cap stay
/// there. One image has every input lit, the other a single one.
struct OffTheCap {
  static constexpr Index kWidth = 36;
  Plan plan = make_plan(own_input_network(kWidth, {32, 4, 8, 8}), parse_passes("dead,saturated"));
  ImageSet images = images_lit_by(2, kWidth, [](Index image, Index input) { return image == 0 || input == 3; });
};

}  // namespace spdnn::testing
