#pragma once

#include <string>
#include <vector>

#include "support/battery.hpp"

namespace spdnn::testing {

/// A network in which sums of some images overflow in any order of summation, with the expected images and layers.
struct OverflowingCase {
  std::string name;
  Network network;
  ImageSet images;
  std::vector<Overflow> in_fp32;
  std::vector<Overflow> in_fp64;
};

/// Six images of three pixels: 1, 2, 1+2, 3, 1+2+3, none. Those with both 1 and 2 are images 2 and 4 (0-based).
inline ImageSet six_images() {
  return {make_matrix(
      3, {{{0, 1.0F}}, {{1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}, {{2, 1.0F}}, {{0, 1.0F}, {1, 1.0F}, {2, 1.0F}}, {}}, true)};
}

inline std::vector<OverflowingCase> overflowing_cases() {
  constexpr float kHuge = 3e38F;
  const std::vector<Term> both{{0, kHuge}, {1, kHuge}};
  const std::vector<Term> third{{2, 1.0F}};
  const Layer sums = make_layer(3, {both, both, third}, 0);
  std::vector<OverflowingCase> cases;
  const auto add = [&](const std::string& name, std::vector<Layer> layers, bool capped) {
    cases.push_back({name, network_of(std::move(layers)), six_images(), {{2, 0}, {4, 0}}, {}});
    if (!capped) cases.back().network.cap.reset();
  };
  add("infinity", {sums, make_layer(3, {{{0, 1.0F}, {2, 1.0F}}}, -0.25)}, false);
  add("infinity_less_infinity", {sums, make_layer(3, {{{0, 1.0F}, {1, -1.0F}}, third}, -0.25)}, false);
  add("hidden_by_the_cap", {sums, make_layer(3, {{{0, 1.0F}, {2, 1.0F}}}, -0.25)}, true);
  add("hidden_by_the_relu",
      {make_layer(3, {{{0, -kHuge}, {1, -kHuge}, {2, 1.0F}}, {{0, 1.0F}}, third}, 0),
       make_layer(3, {{{0, 1.0F}, {1, 1.0F}, {2, 1.0F}}}, -0.25)},
      true);
  add("by_the_bias", {make_layer(3, {{{0, kHuge}, {1, 1.0F}}, third}, 0), make_layer(2, {{{0, 1.0F}, {1, 1.0F}}}, 0)},
      true);
  cases.back().network.bias_rule = BiasRule::everywhere;
  cases.back().network.layers[0].bias.values = std::vector<double>{3e38, 0.0};
  cases.back().in_fp32 = {{0, 0}, {2, 0}, {4, 0}};
  add("growing", std::vector<Layer>(35, make_layer(3, {{{0, 1e10F}}, {{1, 1.0F}}, {{2, 1.0F}}}, 0)), false);
  cases.back().in_fp32 = {{0, 3}, {2, 3}, {4, 3}};
  cases.back().in_fp64 = {{0, 30}, {2, 30}, {4, 30}};
  return cases;
}

struct OverflowingDuplicates {
  Network network;
  ImageSet images;
  std::vector<Overflow> expected;  ///< in fp32
};

/// Eighty images. Every third, beginning with the first, overflows in layer 4, which its activations do not show; from
/// there on all rows are equal, and all overflow in layer 16. An image may become a duplicate only of one with the same
/// history. No neuron reads an input twice: libraries add up such weights, and an infinite weight would make sums of
/// every image NaN.
inline OverflowingDuplicates duplicates_that_overflow() {
  constexpr float kHuge = 3e38F;
  OverflowingDuplicates made;
  for (int k = 0; k < 20; ++k) {
    Rows rows{{{0, 1.0F}}, {{1, k < 3 ? 1.0F : 0.0F}}};
    if (k == 3) rows[1] = {{1, -kHuge}};
    if (k == 15) rows[0] = {{0, kHuge}};
    made.network.layers.push_back(make_layer(2, rows, 0));
  }
  made.network.cap = 1e30;
  Rows images(80);
  for (Index i = 0; i < 80; ++i) {
    images[i].emplace_back(0, 2.0F);
    if (i % 3 == 0) images[i].emplace_back(1, 2.0F);
    made.expected.push_back({i, i % 3 == 0 ? 3U : 15U});
  }
  made.images = {make_matrix(2, images)};
  return made;
}

/// Networks with twins in every layer, whose images die, saturate or stay undecided for a long time. No sum overflows.
inline std::vector<std::pair<Network, ImageSet>> networks_to_merge() {
  std::vector<std::pair<Network, ImageSet>> made;
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    Rng rng(seed);
    constexpr Index kGroups = 12;
    constexpr Index kCopies = 4;
    Network network;
    for (int k = 0; k < 30; ++k) {
      Rows distinct;
      for (Index j = 0; j < kGroups; ++j) {
        const double weight = rng.real(0.11, 0.14);
        distinct.push_back(random_rows(rng, kGroups * kCopies, 1, 16, weight, weight).front());
      }
      Rows rows;
      for (Index j = 0; j < kGroups * kCopies; ++j) rows.push_back(distinct[j % kGroups]);
      network.layers.push_back(make_layer(kGroups * kCopies, rows, seed % 2 == 0 ? -0.3 : -0.05));
    }
    if (seed == 4) network.cap = 2.0;
    made.emplace_back(std::move(network), bit_images(rng, 200, kGroups * kCopies, 0.35));
  }
  return made;
}

}  // namespace spdnn::testing
