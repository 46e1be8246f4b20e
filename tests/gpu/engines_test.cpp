// Every CUDA variant of this build against cpu_reference, layer by layer: networks of all shapes, every set of passes,
// memory as it is and forced so small that layers are streamed and products run in chunks of few images.
//
// Weights and inputs are small multiples of 1/4 or 1/8, biases of 1/16, so that the sums of three layers are exact in
// fp32: whatever the order of summation, activations must be equal to the last bit.

#include "support/engines.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>

#include "data/generate.hpp"
#include "engines/cuda/runtime/device_info.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "gpu/cuda_variants.hpp"
#include "plan/planner.hpp"
#include "support/recorded.hpp"

namespace spdnn::cuda {
namespace {

struct Case {
  std::string name;
  Network network;
  ImageSet images;
};

struct LayerShape {
  Index inputs;
  Index outputs;
  Index min_degree;
  Index max_degree;
  bool uniform = false;
};

float quarters(std::mt19937& random, int least, int most) {
  return static_cast<float>(least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1))) / 4.0F;
}

/// Rows may repeat inputs and need not ascend, as the rows of a plan with `twins`. Every 50th row takes all inputs.
Layer random_layer(const LayerShape& shape, std::mt19937& random) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (Index row = 0; row < shape.outputs; ++row) {
    const bool heavy = row % 50 == 7 && shape.max_degree > 0;
    const Index degree =
        heavy ? shape.inputs
              : shape.min_degree + static_cast<Index>(random() % (shape.max_degree - shape.min_degree + 1));
    for (Index k = 0; k < degree; ++k) {
      indices.push_back(heavy ? k : static_cast<Index>(random() % shape.inputs));
      values.push_back(heavy ? 0.25F : quarters(random, -2, 3));
    }
    offsets.push_back(indices.size());
  }
  Layer layer;
  layer.weights.rows = shape.outputs;
  layer.weights.cols = shape.inputs;
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  layer.weights.value = 0.125F;
  if (!shape.uniform) layer.weights.values = Array<float>(std::move(values));
  return layer;
}

/// A share of the images is empty; values are 1, or multiples of 1/4 where `ones` is not asked for.
ImageSet random_images(Index images, Index neurons, bool ones, std::mt19937& random) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (Index image = 0; image < images; ++image) {
    for (Index neuron = 0; neuron < neurons; ++neuron) {
      if (image % 5 == 4 || random() % 3 != 0) continue;
      indices.push_back(neuron);
      values.push_back(quarters(random, 1, 4));
    }
    offsets.push_back(indices.size());
  }
  CsrMatrix sparse;
  sparse.rows = images;
  sparse.cols = neurons;
  sparse.offsets = Array<Offset>(std::move(offsets));
  sparse.indices = Array<Index>(std::move(indices));
  if (!ones) sparse.values = Array<float>(std::move(values));
  return ones ? ImageSet{ImageSet{sparse}.to_bits()} : ImageSet{sparse};
}

Case random_case(std::string name, const std::vector<LayerShape>& shapes, Index images, double bias,
                 std::uint32_t seed) {
  std::mt19937 random(seed);
  Case made{std::move(name), {}, {}};
  for (const LayerShape& shape : shapes) {
    made.network.layers.push_back(random_layer(shape, random));
    made.network.layers.back().bias.uniform = bias;
  }
  made.images = random_images(images, shapes.front().inputs, seed % 2 == 0, random);
  return made;
}

/// After the first layer, every row of Y is at the cap or empty.
Case saturating_case() {
  Case made =
      random_case("saturating", {{40, 40, 3, 3, true}, {40, 40, 4, 4, true}, {40, 40, 4, 4, true}}, 50, 0.0, 11);
  for (Layer& layer : made.network.layers) layer.weights.value = 32.0F;
  made.network.cap = 2.0;
  std::mt19937 random(12);
  made.images = random_images(50, 40, true, random);
  return made;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back(random_case("one_by_one", {{1, 1, 1, 1}, {1, 1, 1, 1}}, 3, 0.0, 1));
  all.push_back(random_case("around_a_warp", {{31, 32, 0, 6}, {32, 33, 0, 6}, {33, 31, 0, 6}}, 33, -0.0625, 2));
  all.push_back(random_case("not_square", {{100, 17, 1, 9}, {17, 300, 0, 5}, {300, 60, 4, 12}}, 101, -0.125, 3));
  all.push_back(
      random_case("uniform", {{64, 64, 5, 5, true}, {64, 64, 5, 5, true}, {64, 64, 5, 5, true}}, 70, -0.125, 4));
  all.push_back(random_case("empty_layer", {{20, 20, 2, 4}, {20, 30, 0, 0}, {30, 10, 1, 2}}, 12, -0.5, 5));
  all.push_back(random_case("all_dead", {{50, 50, 1, 4}, {50, 50, 1, 4}, {50, 50, 1, 4}}, 40, -20.0, 6));
  all.push_back(random_case("heavy_rows", {{257, 257, 0, 4}, {257, 257, 0, 4}, {257, 257, 0, 4}}, 60, -0.25, 7));
  all.push_back(random_case("positive_bias", {{40, 50, 0, 4}, {50, 30, 0, 4}, {30, 30, 0, 4}}, 30, 0.25, 8));
  all.push_back(random_case("one_image", {{64, 64, 1, 8}, {64, 64, 1, 8}}, 1, -0.0625, 10));
  all.push_back(random_case("no_cap", {{60, 60, 1, 8}, {60, 60, 1, 8}, {60, 60, 1, 8}}, 45, -0.25, 9));
  all.back().network.cap.reset();
  all.push_back(random_case("biases_everywhere", {{60, 50, 0, 6}, {50, 40, 0, 6}, {40, 70, 0, 6}}, 45, 0.0, 13));
  all.back().network.bias_rule = BiasRule::everywhere;
  for (Layer& layer : all.back().network.layers) {
    std::vector<double> biases(layer.outputs());
    for (std::size_t j = 0; j < biases.size(); ++j) biases[j] = -static_cast<double>(j % 5) / 16.0;
    layer.bias.values = Array<double>(std::move(biases));
  }
  all.push_back(all.back());
  all.back().name = "positive_biases_everywhere";
  for (Layer& layer : all.back().network.layers)
    layer.bias.values = Array<double>(std::vector<double>(layer.outputs(), 0.125));
  all.push_back(saturating_case());
  return all;
}

struct Trace {
  std::vector<std::vector<double>> layers;
  Outcome outcome;
};

Trace trace_of(InspectableEngine& engine, const Plan& plan) {
  engine.reset();
  Trace trace;
  for (Index k = 0; k < plan.depth(); ++k) {
    engine.advance(k, k + 1);
    trace.layers.push_back(engine.activations());
    testing::record(trace.layers.back());
  }
  trace.outcome = engine.outcome();
  return trace;
}

Trace trace_of(const Variant& variant, const Plan& plan, const ImageSet& images, const EngineOptions& options) {
  const auto engine = testing::engine_for(variant, plan, images, options);
  engine->load(images);
  return trace_of(*engine, plan);
}

void expect_same(const Trace& found, const Trace& expected) {
  for (std::size_t k = 0; k < expected.layers.size(); ++k)
    ASSERT_EQ(found.layers[k], expected.layers[k]) << "activations after layer " << k + 1;
  EXPECT_EQ(found.outcome.categories, expected.outcome.categories);
  EXPECT_EQ(found.outcome.alive, expected.outcome.alive);
}

class EnginesTest : public ::testing::Test {
 protected:
  template <class Check>
  void for_each_run(const Check& check_run) {
    for (const Case& one : cases())
      for (const Variant& variant : variants()) {
        if (variant.device != Device::cuda) continue;
        SCOPED_TRACE(one.name + ", " + std::string(variant.name));
        const EngineOptions options;
        const Support support = support_of(variant, make_plan(one.network, {}), batch_info(one.images), options);
        if (support.takes())
          check_run(one, variant, options);
        else
          refused_.insert(one.name + ": " + support.why_not);
      }
  }

  void TearDown() override {
    for (const std::string& refused : refused_) std::cout << "*** not run: " << refused << '\n';
  }

  std::set<std::string> refused_;
};

TEST_F(EnginesTest, EveryVariantAgreesWithTheReferenceAfterEveryLayer) {
  for_each_run([](const Case& one, const Variant& variant, const EngineOptions& options) {
    for (const char* passes : {"none", "dead", "all", "saturated", "twins,dead"}) {
      SCOPED_TRACE(passes);
      const Plan plan = make_plan(one.network, parse_passes(passes));
      expect_same(trace_of(variant, plan, one.images, options),
                  trace_of(find_variant("cpu_reference"), plan, one.images, {.precision = Precision::fp64}));
    }
  });
}

TEST_F(EnginesTest, LittleMemoryChangesNothing) {
  for_each_run([](const Case& one, const Variant& variant, EngineOptions options) {
    const Plan plan = make_plan(one.network, parse_passes("dead"));
    const Trace expected = trace_of(find_variant("cpu_reference"), plan, one.images, {.precision = Precision::fp64});
    for (const std::size_t limit : {std::size_t{1} << 12U, std::size_t{1} << 16U, std::size_t{1} << 20U}) {
      SCOPED_TRACE(limit);
      options.device_memory = limit;
      expect_same(trace_of(variant, plan, one.images, options), expected);
    }
  });
}

TEST_F(EnginesTest, TrialsAndBatchesFollowOneAnother) {
  for_each_run([](const Case& one, const Variant& variant, const EngineOptions& options) {
    const Plan plan = make_plan(one.network, parse_passes("all"));
    const auto engine = testing::engine_for(variant, plan, one.images, options);
    const auto reference = testing::oracle_engine(plan);
    const Index images = one.images.images();
    for (const Index count : {images, (images + 1) / 2, Index{1}, images}) {
      const ImageSet batch = one.images.slice(images - count, count);
      engine->load(batch);
      reference->load(batch);
      const Trace expected = trace_of(*reference, plan);
      for (int trial = 0; trial < 2; ++trial) expect_same(trace_of(*engine, plan), expected);
      engine->reset();
      EXPECT_EQ(engine->advance(0, plan.depth()), plan.depth());
      EXPECT_EQ(engine->outcome().categories, expected.outcome.categories);
    }
  });
}

TEST_F(EnginesTest, WorkingMemoryIsStatedAndGrowsWithTheBatch) {
  for_each_run([](const Case& one, const Variant& variant, const EngineOptions& options) {
    const Plan plan = make_plan(one.network, {});
    const auto bytes = [&](Index images) {
      return support_of(variant, plan, {images, one.images.binary(), one.images.is_bits()}, options).working_bytes;
    };
    EXPECT_GT(bytes(1), 0U);
    EXPECT_GE(bytes(1000), bytes(10));
  });
}

/// Workspaces that cuSPARSE and cuBLAS allocate outside the pool are not seen here.
TEST_F(EnginesTest, EnginesAllocateNoMoreThanTheyState) {
  constexpr std::size_t kRounding = std::size_t{1} << 20U;  // of tens of buffers, and tables by layer
  const Plan plan = make_plan(generate_official_network(1024, 12), parse_passes("dead"));
  std::mt19937 random(14);
  const ImageSet images = random_images(5000, 1024, true, random);
  for_each_cuda_variant([&](const Variant& variant) {
    const std::size_t stated = support_of(variant, plan, batch_info(images), {}).working_bytes;
    cuda::wait(0);
    reset_peak();
    const std::size_t used = pool_use().used;
    const auto engine = testing::engine_for(variant, plan, images);
    engine->load(images);
    testing::run_through(*engine, plan.depth());
    const std::size_t allocated = pool_use().peak - used;
    EXPECT_GT(allocated, images.bytes());
    EXPECT_LE(allocated, stated + kRounding);
  });
}

}  // namespace
}  // namespace spdnn::cuda
