// Support::working_bytes of the CPU engines, from which batches are chosen, compared with the bytes that the C
// library's allocator has in use while an engine runs.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>

#include "core/system/host_memory.hpp"
#include "engines/devices.hpp"
#include "support/battery.hpp"

namespace spdnn {
namespace {

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// The most bytes in use between the calls of an engine's run, less those in use before the engine was made.
std::size_t bytes_taken(const Variant& variant, const std::shared_ptr<const Plan>& plan, const ImageSet& images,
                        const EngineOptions& options) {
  const std::size_t before = bytes_in_use();
  std::size_t most = before;
  const auto look = [&] { most = std::max(most, bytes_in_use()); };
  const auto engine = make_engine(variant, plan, batch_info(images), options);
  look();
  engine->load(images);
  look();
  for (Index layer = 0; layer < plan->depth();) {
    layer = engine->advance(layer, plan->depth());
    look();
  }
  return most - before;
}

struct NetworkShape {
  Index neurons;
  Index layers;  ///< 2100 are more than cpu_openmp computes at once: it keeps all images between its phases
};

/// Within a factor of 0.75 to 1.05: bits become lists whose size is stated as if every pixel were set, and the
/// allocator's own words are counted. Buffers stay below a huge page, so that nothing is rounded up to one.
TEST(WorkingBytes, OfCpuEnginesAreWhatTheyAllocate) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "this allocator, a sanitizer's, does not count";
  for (const auto& [neurons, layers] : {NetworkShape{512, 40}, NetworkShape{64, 2100}}) {
    testing::Rng rng(17);
    const Network network = testing::random_network(rng, neurons, layers, 2, -0.01);
    const auto plan = std::make_shared<const Plan>(testing::unreduced_plan(network, parse_passes("dead,identical")));
    const ImageSet images = testing::bit_images(rng, 3000, neurons, 0.8);
    for (const Variant& variant : variants()) {
      if (variant.device != Device::cpu) continue;
      for (const Precision precision : variant.precisions) {
        const EngineOptions options{.precision = precision, .threads = 2};
        const auto stated = static_cast<double>(support_of(variant, *plan, batch_info(images), options).working_bytes);
        const auto taken = static_cast<double>(bytes_taken(variant, plan, images, options));
        SCOPED_TRACE(std::string(variant.name) + " in " + std::string(to_string(precision)));
        EXPECT_LT(taken, 1.05 * stated) << layers << " layers";
        EXPECT_GT(taken, 0.75 * stated) << layers << " layers";
      }
    }
  }
}

/// Narrow images take nearly as many bytes for their vectors as for their numbers; the bound leaves room for the
/// allocator's own words.
TEST(WorkingBytes, OfTheReferenceCountAVectorForEachImage) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "this allocator, a sanitizer's, does not count";
  testing::Rng rng(17);
  const Network network = testing::random_network(rng, 8, 4, 2, -0.01);
  const auto plan = std::make_shared<const Plan>(testing::unreduced_plan(network, {}));
  const ImageSet images = testing::bit_images(rng, 3000, 8, 0.8);
  const Variant& reference = find_variant("cpu_reference");
  const EngineOptions options{.precision = Precision::fp64, .threads = 1};
  const auto stated = static_cast<double>(support_of(reference, *plan, batch_info(images), options).working_bytes);
  const auto taken = static_cast<double>(bytes_taken(reference, plan, images, options));
  EXPECT_LT(taken, 1.2 * stated);
}

/// A thread's tile of the images is as wide as they are, and those of the layers as these.
TEST(WorkingBytes, OfImagesThatAreWiderThanAllLayers) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "this allocator, a sanitizer's, does not count";
  Network network;
  network.layers.push_back(testing::make_layer(9000, {{{0, 1.F}}, {{8999, 2.F}}}, 0));
  const auto plan = std::make_shared<const Plan>(testing::unreduced_plan(network, {}));
  const ImageSet images{testing::make_matrix(9000, testing::Rows(70, {{7, 0.5F}}))};
  const EngineOptions options{.threads = 2};
  const Variant& variant = find_variant("cpu_openmp");
  const auto stated = static_cast<double>(support_of(variant, *plan, batch_info(images), options).working_bytes);
  const auto taken = static_cast<double>(bytes_taken(variant, plan, images, options));
  EXPECT_LT(taken, 1.05 * stated);
  EXPECT_GT(taken, 0.75 * stated);
}

/// Other programs take memory meanwhile, so that what is there is known roughly.
TEST(WorkingBytes, MayBeAShareOfTheMemoryThatIsThereAndNoMoreThanTheUserAllows) {
  const auto budget = [](int sharers, std::size_t allowed) {
    return memory_budget(Device::cpu, {.host_memory = allowed, .sharers = sharers});
  };
  const auto all = static_cast<double>(budget(1, 0));
  EXPECT_NEAR(static_cast<double>(budget(4, 0)), all / 4, all / 10);
  EXPECT_EQ(budget(1, 12345), 12345U);
  EXPECT_EQ(budget(4, 12345), 12345U) << "the user allows each process as much";
  EXPECT_NEAR(static_cast<double>(budget(1, std::size_t{1} << 62U)), all, all / 10);
  EXPECT_LT(all, 0.95 * static_cast<double>(available_host_bytes())) << "a part is left for others";
}

}  // namespace
}  // namespace spdnn
