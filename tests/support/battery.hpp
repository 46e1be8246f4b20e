#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "support/engines.hpp"
#include "support/networks.hpp"
#include "support/recorded.hpp"

namespace spdnn::testing {

/// A small network with images on which an engine may go wrong.
struct Case {
  std::string name;
  Network network;
  ImageSet images;
};

inline Network network_of(std::vector<Layer> layers) {
  Network network;
  network.layers = std::move(layers);
  return network;
}

/// Square layers, whose weights keep some images alive.
inline Network random_network(Rng& rng, Index neurons, Index layers, Index degree, double bias) {
  Network network;
  for (Index k = 0; k < layers; ++k)
    network.layers.push_back(random_layer(rng, neurons, neurons, degree, 0.5 / degree, 3.5 / degree, bias));
  return network;
}

inline Case square_case(const std::string& name, Index neurons, Index images) {
  Rng rng(neurons * 1000 + images);
  return {name, random_network(rng, neurons, 4, std::min<Index>(neurons, 6), -0.3),
          bit_images(rng, images, neurons, 0.15)};
}

inline Case skewed_case(const std::string& name, const std::function<Index(Index)>& degree_of) {
  Rng rng(11);
  constexpr Index kNeurons = 48;
  Network network;
  for (int k = 0; k < 3; ++k) {
    Rows rows;
    for (Index j = 0; j < kNeurons; ++j) {
      const Index degree = degree_of(j);
      rows.push_back(degree == 0 ? std::vector<Term>{}
                                 : random_rows(rng, kNeurons, 1, degree, 0.5 / degree, 3.0 / degree).front());
    }
    network.layers.push_back(make_layer(kNeurons, rows, -0.2));
  }
  return {name, std::move(network), bit_images(rng, 40, kNeurons, 0.15)};
}

inline void append_shape_cases(std::vector<Case>& cases) {
  for (const Index n : {31U, 32U, 33U}) {
    const std::string size = std::to_string(n);
    cases.push_back(square_case("width_" + size, n, 40));
    cases.push_back(square_case("images_" + size, 24, n));
  }
  cases.push_back(square_case("images_0", 24, 0));
  cases.push_back(square_case("one_image", 24, 1));
  cases.push_back({"one_by_one",
                   network_of({make_layer(1, {{{0, 0.5F}}}, -0.25)}),
                   {make_matrix(1, {{{0, 1.0F}}, {}, {{0, 1.0F}}}, true)}});
  Rng rng(5);
  cases.push_back(
      {"not_square",
       network_of({random_layer(rng, 70, 20, 9, 0.1, 0.4, -0.1), random_layer(rng, 20, 130, 5, 0.1, 0.6, -0.1),
                   random_layer(rng, 130, 3, 40, 0.01, 0.05, -0.02)}),
       bit_images(rng, 65, 70, 0.3)});
  cases.push_back({"empty_layer", network_of({make_layer(12, Rows(12), -0.1), random_layer(rng, 12, 12, 3, 0, 1, 0)}),
                   bit_images(rng, 20, 12, 0.5)});
  cases.push_back({"no_outputs", network_of({random_layer(rng, 12, 12, 3, 0, 1, 0), make_layer(12, {}, -0.1)}),
                   bit_images(rng, 20, 12, 0.5)});
  cases.push_back(skewed_case("empty_rows", [](Index j) { return j % 3 == 0 ? 0U : 5U; }));
  cases.push_back(skewed_case("one_heavy_row", [](Index j) { return j == 7 ? 48U : 2U; }));
  cases.push_back(skewed_case("degrees_0_to_N", [](Index j) { return j; }));
}

inline void append_value_cases(std::vector<Case>& cases) {
  Rng rng(21);
  Case dead{"all_dead", random_network(rng, 30, 5, 4, -9), bit_images(rng, 50, 30, 0.4)};
  cases.push_back(std::move(dead));

  Rows doubling;
  for (Index j = 0; j < 16; ++j) doubling.push_back({{j, 32.0F}, {(j + 1) % 16, 1.0F}});
  Network exact = network_of({make_layer(16, doubling, -1.0), make_layer(16, doubling, -1.0)});
  cases.push_back({"exactly_cap", exact, bit_images(rng, 40, 16, 0.5)});  // a lit pair: 33 - 1

  Network back_and_forth;  // every lit image reaches the cap, leaves it, and reaches it again for good
  for (const double scale : {100.0, 0.02, 100.0, 2.0})
    back_and_forth.layers.push_back(random_layer(rng, 20, 20, 10, scale, 1.5 * scale, -0.5));
  cases.push_back({"cap_and_back", std::move(back_and_forth), bit_images(rng, 60, 20, 0.6)});

  Network negative;
  for (int k = 0; k < 4; ++k) negative.layers.push_back(random_layer(rng, 40, 40, 8, -0.6, 1.0, 0.05));
  cases.push_back({"negative_weights", negative, bit_images(rng, 70, 40, 0.4)});
  negative.bias_rule = BiasRule::everywhere;
  cases.push_back({"bias_everywhere", negative, bit_images(rng, 70, 40, 0.4)});
  negative.cap.reset();
  cases.push_back({"no_cap", std::move(negative), bit_images(rng, 70, 40, 0.4)});

  Network per_neuron = random_network(rng, 36, 4, 6, 0);
  for (Layer& layer : per_neuron.layers) {
    std::vector<double> biases(layer.outputs());
    for (double& bias : biases) bias = rng.real(-0.5, 0.2);
    layer.bias.values = std::move(biases);
  }
  cases.push_back({"bias_per_neuron", per_neuron, bit_images(rng, 45, 36, 0.3)});
  per_neuron.bias_rule = BiasRule::everywhere;
  cases.push_back({"bias_per_neuron_everywhere", std::move(per_neuron), bit_images(rng, 45, 36, 0.3)});

  cases.push_back({"positive_bias", random_network(rng, 32, 4, 4, 0.25), bit_images(rng, 45, 32, 0.1)});
  cases.push_back({"valued_images", random_network(rng, 50, 5, 7, -0.1), valued_images(rng, 45, 50, 0.4)});
  cases.push_back({"sparse_ones", random_network(rng, 50, 3, 7, -0.01), {bit_images(rng, 45, 50, 0.05).to_csr()}});

  Network uniform;
  for (const float weight : {0.0625F, 0.3F, 0.25F}) {
    Rows rows = random_rows(rng, 64, 64, 16, weight, weight);
    uniform.layers.push_back(make_layer(64, rows, -0.1, true));
  }
  cases.push_back({"one_weight", uniform, bit_images(rng, 70, 64, 0.3)});
  cases.push_back({"one_weight_valued_images", std::move(uniform), valued_images(rng, 70, 64, 0.4)});

  Rows repeated = random_rows(rng, 24, 24, 5, 0.05, 0.3);
  for (auto& row : repeated) {
    row.push_back(row.front());
    row.push_back(row[1]);
    row.push_back(row.front());
  }
  cases.push_back({"repeated_terms", network_of({make_layer(24, repeated, -0.1), make_layer(24, repeated, -0.1)}),
                   bit_images(rng, 45, 24, 0.4)});
}

/// Many layers: images die early and late, stay alive, reach the cap, become equal.
inline Network deep_network(Index layers) {
  Rng rng(3);
  Network network;
  for (Index k = 0; k < layers; ++k) {
    Rows rows = random_rows(rng, 64, 64, 8, 0.25, 0.25);
    network.layers.push_back(make_layer(64, rows, -0.5, true));
  }
  return network;
}

inline std::vector<Case> battery() {
  std::vector<Case> cases;
  append_shape_cases(cases);
  append_value_cases(cases);
  Rng rng(8);
  cases.push_back({"deep_40", deep_network(40), bit_images(rng, 300, 64, 0.35)});
  cases.push_back({"deep_copies", deep_network(40), [&rng] {
                     const ImageSet some = bit_images(rng, 20, 64, 0.45);
                     std::vector<Index> many;
                     for (Index i = 0; i < 200; ++i) many.push_back(i * i % 20);
                     return some.select(many);
                   }()});
  return cases;
}

/// The oracle's results: activations after each layer, categories, images alive after each layer.
struct Truth {
  std::vector<std::vector<double>> activations;
  Outcome outcome;
};

inline Truth oracle(const Case& c) {
  const Plan plan = unreduced_plan(c.network);
  const auto engine = oracle_engine(plan, 1);
  engine->load(c.images);
  Truth truth;
  for (Index layer = 0; layer < plan.depth(); ++layer) {
    engine->advance(layer, layer + 1);
    truth.activations.push_back(engine->activations());
  }
  truth.outcome = engine->outcome();
  return truth;
}

/// The first difference between the engine's activations or outcome and the oracle's, layer by layer; or "".
/// Deviations up to tolerance * (1 + magnitude) are rounding.
inline std::string difference(const Truth& truth, const Case& c, const MakeEngine& make, const Passes& passes,
                              const EngineOptions& options, double tolerance) {
  const Plan plan = unreduced_plan(c.network, passes);
  const auto engine = engine_by(make, plan, c.images, options);
  engine->load(c.images);
  for (Index layer = 0; layer < plan.depth(); ++layer) {
    const std::string where = "layer " + std::to_string(layer + 1);
    if (engine->advance(layer, layer + 1) != layer + 1) return where + ": advance() went too far";
    const std::vector<double> found = engine->activations();
    record(found);
    const std::vector<double>& expected = truth.activations[layer];
    if (found.size() != expected.size()) return where + ": the number of activations differs";
    if (!sparse_agrees(*engine, found)) return where + ": the activations without zeros are others";
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i]))))
        return where + ", activation " + std::to_string(i) + ": " + std::to_string(found[i]) + " is not " +
               std::to_string(expected[i]);
  }
  for (const Outcome& outcome : {engine->outcome(), run_through(*engine, plan.depth())}) {
    if (outcome.categories != truth.outcome.categories) return "categories differ";
    if (outcome.alive.size() != truth.outcome.alive.size()) return "the images alive are not counted";
    for (std::size_t layer = 0; layer < outcome.alive.size(); ++layer)
      if (outcome.alive[layer] != truth.outcome.alive[layer])
        return "layer " + std::to_string(layer + 1) + ": the number of images alive differs";
  }
  return "";
}

/// The cases of one variant. Those that it refuses are listed with their reasons, so that none is skipped unnoticed.
struct BatteryCount {
  int taken = 0;
  std::vector<std::string> refused;  ///< case and reason
};

/// Calls check(case) for each case that the variant supports.
inline BatteryCount run_battery(const Variant& variant, Precision precision, const std::vector<Case>& cases,
                                const std::function<void(const Case&)>& check) {
  BatteryCount count;
  for (const Case& c : cases) {
    const Support support =
        support_of(variant, unreduced_plan(c.network), batch_info(c.images), {.precision = precision});
    if (support.takes()) {
      ++count.taken;
      check(c);
    } else {
      count.refused.push_back(c.name + ": " + support.why_not);
    }
  }
  return count;
}

}  // namespace spdnn::testing
