// Where a network comes from: whether it is official, and what its stored plan leaves of the host memory.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "data/generate.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/planned_network.hpp"
#include "support/battery.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// What a run of two images of 1024 neurons is verified against.
template <class Given>
std::string basis_of_verdict(const Given& network) {
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.passes = parse_passes("dead");
  Inference inference(spec);
  testing::Rng rng(3);
  inference.load(network, testing::bit_images(rng, 2, 1024, 0.2));
  inference.plan();
  inference.run();
  inference.verify();
  return inference.report().verdict.against;
}

TEST(LoadedNetworks, AreOfficialInAnyForm) {
  const Passes passes = parse_passes("dead");
  Network network = generate_official_network(1024, 120);
  const std::string official = "nothing: no truth was given, and the images are not the official ones";
  const std::string other = "nothing: no truth was given, and this is not an official problem";
  EXPECT_EQ(basis_of_verdict(network), official);
  EXPECT_EQ(basis_of_verdict(PlannedNetwork(network, passes)), official);
  network.layers.pop_back();
  EXPECT_EQ(basis_of_verdict(network), other);
  EXPECT_EQ(basis_of_verdict(PlannedNetwork(network, passes)), other);
}

TEST(LoadedNetworks, ThatAreStreamedAreOfficialToo) {
  const TemporaryDirectory directory;
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.passes = parse_passes("dead");
  spec.network.neurons = {1024};
  spec.network.layers = 120;
  spec.host_memory = std::size_t{12} << 20U;
  spec.images.path = (directory / "i.spdnn").string();
  testing::Rng rng(3);
  write_images(spec.images.path, testing::bit_images(rng, 2, 1024, 0.2));
  Inference inference(spec);
  inference.load();
  inference.plan();
  inference.run();
  inference.verify();
  EXPECT_TRUE(inference.report().streamed);
  EXPECT_EQ(inference.report().verdict.against,
            "nothing: no truth was given, and the images are not the official ones");
}

TEST(LoadedNetworks, WithAStoredPlanLeaveLessForImages) {
  const TemporaryDirectory directory;
  testing::Rng rng(4);
  const Network network{{testing::random_layer(rng, 400, 400, 50, 0.1, 1, -0.5)}};
  Plan plan = make_plan(network, parse_passes("dead"));
  plan.set_network_digest(network_digest(network));
  const ImageSet images = testing::bit_images(rng, 2000, 400, 0.2);
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.passes = parse_passes("dead");
  spec.network.path = (directory / "n.spdnn").string();
  spec.images.path = (directory / "i.spdnn").string();
  write_network_with_plan(spec.network.path, network, plan);
  write_images(spec.images.path, images);
  const auto load = [&](std::size_t beside) {
    spec.host_memory = plan.bytes() + beside;
    Inference(spec).load();
  };
  ASSERT_GT(images.bytes(), plan.bytes() / 2) << "or the plan would not be taken";
  EXPECT_NO_THROW(load(images.bytes() + 1000));
  EXPECT_THROW(load(images.bytes() - 1000), DeviceError);
}

}  // namespace
}  // namespace spdnn
