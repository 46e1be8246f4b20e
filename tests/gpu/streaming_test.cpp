// Streamed layers on the device: resident or through two buffers there, every variant that takes them computes the same
// bits as from layers in host memory.

#include <gtest/gtest.h>

#include <set>

#include "gpu/cuda_variants.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/streamed.hpp"

namespace spdnn::cuda {
namespace {

using testing::Case;
using testing::CopiedLayers;

void expect_same_bits(const Variant& variant, const Plan& plan, const Plan& streamed, const Case& c,
                      const EngineOptions& options) {
  testing::expect_same_bits(*testing::engine_for(variant, streamed, c.images, options),
                            *testing::engine_for(variant, plan, c.images), c.images, plan.depth());
}

TEST(StreamingTest, EveryActivationIsTheSameBitForBit) {
  std::set<std::string_view> ran;
  for_each_cuda_variant([&](const Variant& variant) {
    for (const Case& c : testing::battery()) {
      if (c.name == "repeated_terms" && variant.name == "cusparse_spmm") continue;  // no given network has such rows
      for (const char* passes : {"none", "dead", "dead,saturated,identical"}) {
        const Plan plan = make_plan(c.network, parse_passes(passes));
        for (const Index at_once : {2U, 5U}) {
          const Plan streamed = testing::streamed_plan(testing::stream_of(c.network), parse_passes(passes), at_once);
          for (const std::size_t device_memory : {std::size_t{0}, std::size_t{4096}}) {
            SCOPED_TRACE(c.name + " " + passes);
            const EngineOptions options{.device_memory = device_memory};
            if (!support_of(variant, streamed, batch_info(c.images), options).takes()) continue;
            if (!support_of(variant, plan, batch_info(c.images), {}).takes()) continue;
            expect_same_bits(variant, plan, streamed, c, options);
            ran.insert(variant.name);
          }
        }
      }
    }
  });
  EXPECT_EQ(ran, (std::set<std::string_view>{"spmm_rows", "spmm_merge", "spmm_shared", "cusparse_spmm"}));
}

/// A layer of one long row beside short ones, so that spmm_merge cuts it, among layers of other sizes.
TEST(StreamingTest, WorkItemsComeWithTheirLayers) {
  testing::Rng rng(17);
  Network network;
  for (const Index heavy : {0U, 1500U, 0U, 3000U, 7U, 2999U}) {
    testing::Rows rows = testing::random_rows(rng, 3000, 200, 6, 0.05, 0.4);
    if (heavy > 0) rows[heavy % 200] = testing::random_rows(rng, 3000, 1, heavy, 0.0, 0.002).front();
    network.layers.push_back(testing::make_layer(3000, rows, -0.1));
    network.layers.push_back(testing::random_layer(rng, 200, 3000, 4, 0.1, 0.6, -0.1));
  }
  const Case c{"heavy_rows", network, testing::bit_images(rng, 300, 3000, 0.3)};
  const Plan plan = make_plan(network, parse_passes("dead"));
  const Plan streamed = testing::streamed_plan(testing::stream_of(network), parse_passes("dead"), 3);
  for (const char* name : {"spmm_rows", "spmm_merge", "spmm_shared"})
    for (const std::size_t device_memory : {std::size_t{0}, std::size_t{4096}}) {
      SCOPED_TRACE(name);
      expect_same_bits(find_variant(name), plan, streamed, c, {.device_memory = device_memory});
      expect_same_bits(find_variant(name), plan, plan, c, {.device_memory = device_memory});
    }
}

TEST(StreamingTest, LayersThatAreResidentAreReadOnce) {
  const Network network = testing::deep_network(20);
  testing::Rng rng(5);
  const ImageSet images = testing::bit_images(rng, 100, 64, 0.4);
  for (const std::size_t device_memory : {std::size_t{0}, std::size_t{1} << 14U}) {
    const NetworkStream stream = testing::stream_of(network);
    const auto& layers = dynamic_cast<const CopiedLayers&>(*stream.layers);
    RunOptions options;
    options.engine.device_memory = device_memory;
    options.trials = 4;
    options.batch = 100;
    run(find_variant("spmm_rows"), testing::streamed_plan(stream, parse_passes("none"), 4), images, options);
    EXPECT_LE(layers.most_at_once(), 4);
    if (device_memory == 0) {
      EXPECT_LE(layers.bytes_read(), 20U + 3);  // and what was read ahead after the last
    } else {
      EXPECT_GE(layers.bytes_read(), 20U * 4);
    }
  }
}

TEST(StreamingTest, ALayerThatCannotBeReadEndsTheRun) {
  const Network network = testing::deep_network(6);
  testing::Rng rng(5);
  const ImageSet images = testing::bit_images(rng, 100, 64, 0.4);
  for (const std::size_t device_memory : {std::size_t{0}, std::size_t{1} << 12U})
    for (const Index broken : {0U, 1U, 4U}) {
      const Plan whole = testing::streamed_plan(testing::stream_of(network), {}, 2);
      StreamedLayers layers = *whole.streamed;
      layers.stream = testing::stream_of(network, broken).layers;
      Plan plan = whole;
      plan.streamed = std::make_shared<const StreamedLayers>(layers);
      RunOptions options;
      options.engine.device_memory = device_memory;
      options.batch = 100;
      for (const char* name : {"spmm_rows", "spmm_merge", "spmm_shared", "cusparse_spmm"})
        EXPECT_THROW(run(find_variant(name), plan, images, options), DataError) << name;
    }
}

TEST(StreamingTest, OtherVariantsSayWhyTheyRefuse) {
  const Plan plan = testing::streamed_plan(testing::stream_of(testing::deep_network(4)), {}, 2);
  for (const char* name : {"cascade", "resident", "cublas_dense", "cusparse_spgemm_filtered"})
    EXPECT_NE(support_of(find_variant(name), plan, {10, true, true}, {}).why_not.find("they are streamed"),
              std::string::npos)
        << name;
}

}  // namespace
}  // namespace spdnn::cuda
