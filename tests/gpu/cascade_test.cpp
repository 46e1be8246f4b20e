// The cascade engine on its own kind of problem: layers of one weight, images of bits that retire one after another,
// enough of them that blocks take several waves and fill their pools. Sums are exact in fp32, as in engines_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>

#include "engines/cuda/cascade/front_filter.hpp"
#include "engines/cuda/cascade/setup.hpp"
#include "plan/planner.hpp"
#include "support/engines.hpp"
#include "support/narrow_network.hpp"
#include "support/shifted_network.hpp"

namespace spdnn::cuda {
namespace {

struct Shape {
  std::string name;
  Index images;
  Index inputs;
  std::vector<Index> widths;
  Index least_degree;
  Index most_degree;
  bool alternating = false;  ///< after the first layer
  bool biases = false;       ///< of their own for each neuron
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name.
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

std::vector<Shape> shapes() {
  return {
      {"one_image", 1, 10, {5, 5}, 2, 2},
      {"narrow", 500, 100, {40, 33, 70, 12, 40}, 0, 12},
      {"one_neuron", 300, 64, {1, 1, 1}, 1, 1},
      {"without_neurons", 40, 30, {0, 6, 0}, 0, 0},
      {"long_sums", 400, 300, {64, 64, 64, 64}, 60, 70},
      {"biases", 700, 200, {65, 40, 65, 40}, 3, 9, false, true},
      {"alternating", 3000, 256, {64, 64, 64, 32, 64}, 8, 8, true},
      {"deep", 800, 128, {48, 48, 48, 48, 48, 48, 48, 48, 48}, 5, 5},
      {"full_tables", 2000, 256, {64, 60, 64, 64}, 32, 32, true},
      {"deep_alternating", 800, 256, {64, 64, 64, 64, 64, 64, 64, 64, 64}, 8, 8, true},
      {"many_waves", 90000, 60, {30, 30, 30, 30, 30, 30}, 4, 4},
      {"wide", 5000, 500, {1500, 1500, 1500, 700, 1500, 1500}, 6, 6},
      {"wide_alternating", 4000, 512, {2048, 2048, 2048, 2048, 2048, 2048}, 8, 8, true},
      {"two_columns", 1500, 256, {4096, 4096, 4096}, 8, 8, true},  // waves of several regions, and several waves
      {"widest", 1500, 128, {8192, 5000, 8192, 8192}, 4, 4},
  };
}

Layer make_layer(const Shape& shape, std::size_t number, std::mt19937& random) {
  const Index inputs = number == 0 ? shape.inputs : shape.widths[number - 1];
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  Layer layer;
  layer.weights.rows = shape.widths[number];
  layer.weights.cols = inputs;
  for (Index row = 0; row < layer.weights.rows; ++row) {
    const Index degree =
        shape.least_degree + static_cast<Index>(random() % (shape.most_degree - shape.least_degree + 1));
    const auto any_input = [&] { return static_cast<Index>(random() % std::max(inputs, Index{1})); };
    const Index pair[2] = {any_input(), any_input()};
    for (Index k = 0; k < degree; ++k) indices.push_back(shape.alternating && number > 0 ? pair[k % 2] : any_input());
    offsets.push_back(indices.size());
  }
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  layer.weights.value = shape.most_degree > 32 ? 0.03125F : shape.most_degree > 16 ? 0.0625F : 0.25F;
  layer.bias.uniform = -0.25;
  if (!shape.biases) return layer;
  std::vector<double> biases(layer.outputs());
  for (std::size_t j = 0; j < biases.size(); ++j) biases[j] = (static_cast<double>(j % 7) - 5.0) / 16.0;
  layer.bias.values = Array<double>(std::move(biases));
  return layer;
}

/// Images of all densities: the thin ones die, the dense ones saturate, each after another layer.
ImageSet make_images(const Shape& shape, std::mt19937& random) {
  CsrMatrix sparse;
  sparse.rows = shape.images;
  sparse.cols = shape.inputs;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index image = 0; image < shape.images; ++image) {
    const auto density = random() % 101;
    for (Index input = 0; input < shape.inputs; ++input)
      if (random() % 100 < density) indices.push_back(input);
    offsets.push_back(indices.size());
  }
  sparse.offsets = Array<Offset>(std::move(offsets));
  sparse.indices = Array<Index>(std::move(indices));
  return ImageSet{ImageSet{sparse}.to_bits()};
}

Network make_network(const Shape& shape, std::mt19937& random) {
  Network network;
  for (std::size_t k = 0; k < shape.widths.size(); ++k) network.layers.push_back(make_layer(shape, k, random));
  network.cap = 1.5;
  return network;
}

class CascadeShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(CascadeShapes, AgreesWithTheReferenceAfterEveryLayer) {
  const Shape& shape = GetParam();
  std::mt19937 random(shape.images);
  const Network network = make_network(shape, random);
  const ImageSet images = make_images(shape, random);
  if (shape.name == "full_tables") {
    ASSERT_FALSE(compile_cascade(make_plan(network, {})).pair_table.empty());
  }
  for (const char* passes : {"none", "dead", "all", "saturated", "twins,dead,saturated"}) {
    SCOPED_TRACE(passes);
    const Plan plan = make_plan(network, parse_passes(passes));
    const auto engine = testing::engine_for(find_variant("cascade"), plan, images);
    const auto reference = testing::oracle_engine(plan);
    engine->load(images);
    reference->load(images);
    reference->reset();
    const bool every_layer = shape.images < 3000;
    for (Index k = 0; k < plan.depth(); ++k) {
      reference->advance(k, k + 1);
      engine->advance(k, k + 1);
      if (!every_layer && k + 1 < plan.depth()) continue;
      ASSERT_EQ(engine->activations(), reference->activations()) << "after layer " << k + 1;
    }
    const Outcome expected = reference->outcome();
    for (int trial = 0; trial < 2; ++trial) {
      engine->reset();
      engine->advance(0, plan.depth());
      const Outcome found = engine->outcome();
      EXPECT_EQ(found.categories, expected.categories);
      EXPECT_EQ(found.alive, expected.alive);
      if (!plan.passes.identical) {
        EXPECT_EQ(found.saturated, expected.saturated);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CascadeShapes, ::testing::ValuesIn(shapes()),
                         [](const auto& test) { return test.param.name; });

/// activations() after a layer of the front, too, which is then computed without front_kernel.
TEST(CascadeTest, FrontsAgreeWithTheReferenceAfterEveryLayer) {
  const testing::Shifts shifts = testing::shifts_of_all_widths()[0];
  const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes("dead,saturated"));
  const ImageSet images = testing::images_of_strips(500, shifts.neurons * shifts.words);
  const auto engine = testing::engine_for(find_variant("cascade"), plan, images);
  const auto reference = testing::oracle_engine(plan);
  engine->load(images);
  reference->load(images);
  reference->reset();
  for (Index k = 0; k < plan.depth(); ++k) {
    reference->advance(k, k + 1);
    engine->advance(k, k + 1);
    ASSERT_EQ(engine->activations(), reference->activations()) << "after layer " << k + 1;
  }
}

void expect_outcome_again_and_again(Engine& engine, const Plan& plan, const Outcome& expected) {
  for (int trial = 0; trial < 3; ++trial) {
    testing::run_through(engine, plan.depth());
    const Outcome found = engine.outcome();
    EXPECT_EQ(found.categories, expected.categories);
    EXPECT_EQ(found.alive, expected.alive);
    if (!plan.passes.identical) {
      EXPECT_EQ(found.saturated, expected.saturated);
    }
  }
}

void expect_reference(const Plan& plan, const ImageSet& images) {
  const auto engine = testing::engine_for(find_variant("cascade"), plan, images);
  const auto reference = testing::oracle_engine(plan);
  engine->load(images);
  reference->load(images);
  testing::run_through(*reference, plan.depth());
  expect_outcome_again_and_again(*engine, plan, reference->outcome());
  EXPECT_EQ(engine->activations(), reference->activations());
}

/// Front and second launch, of every width that front_kernel has a shape for.
TEST(CascadeTest, FrontsAgreeWithTheReference) {
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    const Network network = testing::shifted_network(shifts);
    const ImageSet images =
        testing::images_of_strips(shifts.neurons > 256 ? 600 : 20000, shifts.neurons * shifts.words);
    for (const char* passes : {"none", "dead", "saturated", "dead,saturated", "all"}) {
      SCOPED_TRACE(::testing::Message() << shifts.neurons << " neurons, " << passes);
      const Plan plan = make_plan(network, parse_passes(passes));
      ASSERT_TRUE(find_front(compile_cascade(plan), plan) || plan.passes.twins);
      expect_reference(plan, images);
    }
  }
}

/// Images of which most die in the front, and more of them than teams.
TEST(CascadeTest, FiltersAgreeWithTheReference) {
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    if (!testing::powers_of_two(shifts)) continue;
    const ImageSet images = testing::images_of_strips(4000, shifts.neurons * shifts.words, 7);
    for (const char* passes : {"dead", "dead,saturated", "dead,saturated,identical"}) {
      SCOPED_TRACE(::testing::Message() << shifts.neurons << " neurons, " << passes);
      const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes(passes));
      const CascadeProgram program = compile_cascade(plan);
      const std::optional<Front> front = find_front(program, plan);
      ASSERT_TRUE(front);
      const std::optional<FrontFilter> filter = find_filter(*front, program, plan);
      ASSERT_TRUE(filter && even_image_dies(*front, *filter, cascade::lit_share(images.bits())));
      expect_reference(plan, images);
    }
  }
}

/// The second launch of narrow plans, with fewer and with more images than warps.
TEST(CascadeTest, TailsAgreeWithTheReference) {
  testing::Rng rng(1);
  const Network network = testing::narrow_network(150, {64, 64, 64, 64, 64, 40, 32, 64, 33, 50}, rng);
  for (const Index count : {1U, 600U, 20000U}) {
    MatrixBuilder lit(150);
    for (Index image = 0; image < count; ++image) {
      const auto density = rng.below(101);
      for (Index input = 0; input < 150; ++input)
        if (rng.below(100) < density) lit.add(input);
      lit.end_row();
    }
    const ImageSet images{ImageSet{lit.uniform()}.to_bits()};
    for (const char* passes : {"none", "dead", "dead,saturated", "all"}) {
      SCOPED_TRACE(::testing::Message() << count << " images, " << passes);
      const Plan plan = make_plan(network, parse_passes(passes));
      ASSERT_EQ(find_tail(compile_cascade(plan), plan, 6).has_value(), plan.passes.dead);
      const auto engine = testing::engine_for(find_variant("cascade"), plan, images);
      const auto reference = testing::oracle_engine(plan);
      engine->load(images);
      reference->load(images);
      reference->reset();
      for (const Index layers : {8U, 10U}) {
        reference->advance(layers == 8 ? 0 : 8, layers);
        testing::run_through(*engine, layers);
        ASSERT_EQ(engine->activations(), reference->activations()) << "after layer " << layers;
      }
      expect_outcome_again_and_again(*engine, plan, reference->outcome());
    }
  }
}

TEST(CascadeTest, ImagesRetireOneAfterAnother) {
  const std::vector<Shape> all = shapes();
  const Shape& shape =
      *std::find_if(all.begin(), all.end(), [](const Shape& one) { return one.name == "alternating"; });
  std::mt19937 random(shape.images);
  const Plan plan = make_plan(make_network(shape, random), parse_passes("dead,saturated"));
  const ImageSet images = make_images(shape, random);
  const auto engine = testing::engine_for(find_variant("cascade"), plan, images);
  engine->load(images);
  engine->reset();
  engine->advance(0, plan.depth());
  const Outcome outcome = engine->outcome();
  EXPECT_GT(outcome.saturated, 0);
  EXPECT_LT(outcome.alive.back(), outcome.alive.front());
}

TEST(CascadeTest, RefusesWhatItIsNotMadeFor) {
  const Shape shape{"refused", 10, 300, {20, 20}, 8, 8};
  std::mt19937 random(6);
  Network network = make_network(shape, random);
  const ImageSet images = make_images(shape, random);
  const auto refuses = [&](const Plan& plan, const ImageSet& batch) {
    return !support_of(find_variant("cascade"), plan, batch_info(batch), {}).takes();
  };
  EXPECT_FALSE(refuses(make_plan(network, {}), images));
  EXPECT_FALSE(refuses(make_plan(network, {}), ImageSet{images.to_csr()}));
  EXPECT_TRUE(refuses(make_plan(network, parse_passes("twins,merge")), images));
  CsrMatrix halves = images.to_csr();
  halves.value = 0.5F;
  EXPECT_TRUE(refuses(make_plan(network, {}), ImageSet{halves}));

  network.layers[1].weights.values = Array<float>(std::vector<float>(network.layers[1].weights.entries(), 0.5F));
  EXPECT_TRUE(refuses(make_plan(network, {}), images));
  const Shape heavy{"heavy", 10, 300, {20}, 256, 256};
  EXPECT_TRUE(refuses(make_plan(make_network(heavy, random), {}), images));
  const Shape wide{"wide", 10, 300, {kCascadeWidth + 1}, 2, 2};
  EXPECT_TRUE(refuses(make_plan(make_network(wide, random), {}), images));
}

}  // namespace
}  // namespace spdnn::cuda
