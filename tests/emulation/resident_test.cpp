// The kernel of the `resident` engine, run on the CPU, so that it is tested on machines without a device, too: every
// tile shape, even and uneven layouts, fp32 and fp16 storage. Sums are exact: activations are compared bit for bit with
// the fp64 reference after every phase.

#include "resident_run.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda::resident {
namespace {

using testing::Rng;

/// Small enough that there are more tiles than blocks for few images.
constexpr ResidentShape kSmallTiles{.tile = {.images = 8, .lane_images = 8, .threads = 64, .rounds = 2},
                                    .chunks_ahead = 2};

TEST(EmulatedResident, UnevenSumsAreRightLayerByLayerAndInOneRun) {
  Seen seen;
  for (const Index width : {60U, 300U}) {
    for (const bool uniform : width < 100 ? std::vector{true, false} : testing::sampled({false}, {true, false})) {
      Rng rng(width + (uniform ? 1U : 0U));
      const bool own_biases = uniform == (width < 100);
      const Network network = testing::skewed_network(rng, width, width, uniform, own_biases);
      const ImageSet images = testing::bit_images(rng, width < 100 ? 35 : 17, width, 0.1);
      const Plan plan = make_plan(network, parse_passes("dead"));
      check_shapes<kFp32Shapes, 0, 2, 3, 4, 5, 6, 7, 8>(plan, images, 1, true, seen);
      if (width < 100) check_shapes<kFp32Shapes, 0, 2, 3, 4, 5, 6, 7, 8>(plan, images, 3, false, seen);
    }
  }
  EXPECT_GT(seen.runs, testing::sampled(35, 45));
  EXPECT_GT(seen.uneven, 15);
}

/// Ten weights of at most 1 and a cap of 2: halves hold the activations of five layers.
TEST(EmulatedResident, HalvesAreRightWhereTheyHoldEverything) {
  Seen seen;
  Rng rng(3);
  Network network;
  for (const double bias : {-0.25, -0.5, -0.5})
    network.layers.push_back(testing::skewed_layer(rng, 150, 150, 20, true, bias));
  network.cap = 2.0;
  check_shapes<kFp16Shapes, 0, 3, 5>(make_plan(network, parse_passes("dead,saturated")),
                                     testing::bit_images(rng, 35, 150, 0.1), 1, true, seen);
  EXPECT_EQ(seen.runs, 3);
}

/// Images of 13 kinds; those of one kind differ only in pixels that the first layer does not read. In long phases two
/// blocks share a tile.
TEST(EmulatedResident, DuplicatesAreFoundAndEndAsTheirOwnersDo) {
  constexpr Index kWidth = 45;
  constexpr Index kImages = 100;
  Seen seen;
  for (const Index depth : {5U, 14U}) {
    Rng rng(depth);
    Network network;
    for (Index k = 0; k < depth; ++k)
      network.layers.push_back(testing::skewed_layer(rng, kWidth, kWidth / 3, 12, true, k % 3 == 2 ? -0.75 : -0.25));
    network.cap = 2.0;
    std::vector<Offset> offsets{0};
    std::vector<Index> indices;
    for (Index image = 0; image < kImages; ++image) {
      Rng kind(1000 + image % 13);
      Rng own(image);
      for (Index input = 0; input < kWidth; ++input)
        if (input < kWidth / 3 ? kind.below(100) < 6 * (image % 13) : own.below(2) == 0) indices.push_back(input);
      offsets.push_back(indices.size());
    }
    const CsrMatrix sparse = make_csr(kImages, kWidth, std::move(offsets), std::move(indices), {});
    const ImageSet images{ImageSet{sparse}.to_bits()};
    for (const char* passes : {"all", "identical", "dead,identical", "saturated"}) {
      SCOPED_TRACE(passes);
      const Plan plan = make_plan(network, parse_passes(passes));
      for (const bool by_layer : {true, false}) {
        check_shape<kFp32Shapes.all[0]>(plan, images, 4, by_layer, seen);
        check_shape<kSmallTiles>(plan, images, 4, by_layer, seen);
      }
    }
  }
  EXPECT_GT(seen.duplicates, 500U);
}

}  // namespace
}  // namespace spdnn::cuda::resident
