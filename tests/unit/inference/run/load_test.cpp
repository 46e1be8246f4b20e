// Networks and images from a specification: what files leave open, what they may not have twice, and room for them.

#include "inference/run/load.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/generate.hpp"
#include "io/networks/outputs.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

template <class Change>
std::string refusal_of_official(const Change& change) {
  NetworkSpec spec;
  spec.neurons = {1024};
  spec.layers = 1;
  change(spec);
  return testing::message_of<UsageError>([&] { load_network(spec, {}); });
}

TEST(LoadNetwork, AnOfficialNetworkHasOneWidthADepthAndItsOwnParameters) {
  const std::string numbers = "neurons: an official network takes one number of neurons and one of layers";
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.neurons = {1024, 1024}; }), numbers);
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.neurons.clear(); }), numbers);
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.layers.reset(); }), numbers);
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.bias = 0; }), "bias: an official network has its own");
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.bias_rule = BiasRule::everywhere; }),
            "bias_rule: an official network has its own");
  EXPECT_EQ(refusal_of_official([](NetworkSpec& s) { s.cap = Cap{4}; }), "cap: an official network has its own");
  NetworkSpec spec;
  spec.neurons = {1024};
  spec.layers = 1;
  const GivenNetwork one_layer = load_network(spec, {});
  EXPECT_EQ(one_layer.network.layers.size(), 1U);
  EXPECT_FALSE(one_layer.official) << "the challenge's have 120 layers and more";
}

/// Two layers of two neurons.
NetworkFile two_layer_file(bool has_bias, bool has_rule) {
  NetworkFile file{testing::network_of({testing::make_layer(2, {{{0, 1.F}}, {{1, 1.F}}}, -0.25),
                                        testing::make_layer(2, {{{1, 1.F}}, {{0, 2.F}}}, -0.5)}),
                   has_bias, has_rule};
  file.network.bias_rule = BiasRule::non_zeros;
  file.network.cap = 32;
  return file;
}

TEST(LoadNetwork, ParametersThatAFileHasAreNotGivenTwice) {
  const auto refused = [](bool has_bias, bool has_rule, const auto& change) {
    NetworkSpec spec;
    spec.path = "n.spdnn";
    spec.bias = has_bias ? std::nullopt : std::optional(-0.75);
    change(spec);
    NetworkFile file = two_layer_file(has_bias, has_rule);
    return testing::message_of<UsageError>([&] { fill_in_parameters(spec, file); });
  };
  const auto bias = [](NetworkSpec& s) { s.bias = -0.125; };
  const auto rule = [](NetworkSpec& s) { s.bias_rule = BiasRule::everywhere; };
  const auto cap = [](NetworkSpec& s) { s.cap = Cap{4}; };
  EXPECT_EQ(refused(true, false, bias), "bias: n.spdnn has its own biases");
  EXPECT_EQ(refused(false, true, rule), "bias_rule: n.spdnn has its own");
  EXPECT_EQ(refused(false, true, cap), "cap: n.spdnn has its own");
  EXPECT_EQ(refused(false, false, [](NetworkSpec& s) { s.bias.reset(); }),
            "bias: n.spdnn is not of official form and has no biases: give one");
  EXPECT_EQ(refused(true, true, [](NetworkSpec&) {}), "no error");
  EXPECT_EQ(refused(true, false, rule), "no error");
  EXPECT_EQ(refused(false, true, bias), "no error");
}

TEST(LoadNetwork, ParametersThatAFileLeavesOpenAreThoseThatWereGiven) {
  NetworkSpec spec;
  spec.bias = -0.75;
  spec.bias_rule = BiasRule::everywhere;
  spec.cap = Cap{4};
  NetworkFile file = two_layer_file(false, false);
  fill_in_parameters(spec, file);
  for (const Layer& layer : file.network.layers) EXPECT_EQ(layer.bias.uniform, -0.75);
  EXPECT_EQ(file.network.bias_rule, BiasRule::everywhere);
  EXPECT_EQ(file.network.cap, 4);
  spec.cap = Cap{std::nullopt};
  fill_in_parameters(spec, file);
  EXPECT_EQ(file.network.cap, std::nullopt) << "none";
  for (const auto given : {std::optional(-0.75), std::optional<double>()}) {
    NetworkFile official{generate_official_network(1024, 1, {})};
    spec.bias = given;
    fill_in_parameters(spec, official);
    EXPECT_EQ(official.network.layers[0].bias.uniform, given.value_or(-0.3));
  }
  NetworkFile own = two_layer_file(true, true);
  fill_in_parameters({}, own);
  EXPECT_EQ(own.network.layers[1].bias.uniform, -0.5);
  EXPECT_EQ(own.network.bias_rule, BiasRule::non_zeros);
  EXPECT_EQ(own.network.cap, 32);
}

TEST(LoadImages, AreThoseOfAFileOrTheOfficialOnes) {
  const auto refused = [](const ImageSpec& spec, std::optional<Index> neurons) {
    return testing::message_of<UsageError>([&] { load_images(spec, neurons, {}); });
  };
  const std::string either = "images: expected either a file of images or MNIST's images";
  EXPECT_EQ(refused({}, 1024), either);
  EXPECT_EQ(refused({"i.tsv", "train.gz", {}}, 1024), either);
  EXPECT_EQ(refused({"", "train.gz", 10}, 1024), "images: the number of official images is fixed: that of MNIST");
  EXPECT_EQ(refused({"", "train.gz", {}}, {}), "neurons: official images take a number of neurons");
}

TEST(RoomForImages, IsRefusedByTheByte) {
  EXPECT_NO_THROW(require_room_for_images(900, 900));
  EXPECT_EQ(testing::message_of<DeviceError>([] { require_room_for_images(900, 899); }),
            "host_memory: the images take 900 bytes, but 899 bytes are available");
  const ImageSpec official{"", "train.gz", {}};
  for (const Index neurons : {65U, 128U}) {  // two words of 64 neurons each
    EXPECT_NO_THROW(require_room_for_images(official, neurons, 16U * 60000)) << neurons;
    EXPECT_THROW(require_room_for_images(official, neurons, 16U * 60000 - 1), DeviceError) << neurons;
  }
  EXPECT_NO_THROW(require_room_for_images(official, 64, 8U * 60000));
  const TemporaryDirectory directory;
  testing::Rng rng(3);
  const ImageSpec packed{(directory / "i.spdnn").string(), "", {}};
  const ImageSpec text{(directory / "i.tsv").string(), "", {}};
  const ImageSet images = testing::bit_images(rng, 10, 64, 0.5);
  write_images(packed.path, images);
  write_images(text.path, images);
  EXPECT_NO_THROW(require_room_for_images(packed, 64, images.bytes()));
  EXPECT_THROW(require_room_for_images(packed, 64, images.bytes() - 1), DeviceError);
  EXPECT_NO_THROW(require_room_for_images(text, 64, 1)) << "nobody knows before it is read";
  EXPECT_PRED_FORMAT2(
      ::testing::IsSubstring, "layers: 1099511627776 need at least 1152921504606 MB, but ",
      testing::message_of<DeviceError>([] { check_memory_for("layers", Offset{1} << 40U, 1U << 20U); }));
  EXPECT_NO_THROW(check_memory_for("layers", 10, 100));
}

class PlanStoredBeside : public ::testing::Test {
 protected:
  PlanStoredBeside() {
    spec_.path = (directory_ / "n.spdnn").string();
    Plan plan = make_plan(network_, parse_passes("dead"));
    plan.set_network_digest(network_digest(network_));
    write_network_with_plan(spec_.path, network_, plan);
  }
  bool used(const NetworkSpec& spec) const {
    return stored_plan(spec, parse_passes("dead"), 1U << 20U).plan.has_value();
  }

  const TemporaryDirectory directory_;
  const Network network_ = two_layer_file(true, true).network;
  NetworkSpec spec_;
};

TEST_F(PlanStoredBeside, IsUsedForTheWholeNetworkWithItsOwnParametersAlone) {
  EXPECT_TRUE(used(spec_));
  const auto with = [&](const auto& change) {
    NetworkSpec spec = spec_;
    change(spec);
    return used(spec);
  };
  EXPECT_FALSE(with([](NetworkSpec& s) { s.layers = 2; }));
  EXPECT_FALSE(with([](NetworkSpec& s) { s.neurons = {2}; }));
  EXPECT_FALSE(with([](NetworkSpec& s) { s.bias = -0.25; }));
  EXPECT_FALSE(with([](NetworkSpec& s) { s.bias_rule = BiasRule::everywhere; }));
  EXPECT_FALSE(with([](NetworkSpec& s) { s.cap = Cap{4}; }));
  EXPECT_FALSE(with([](NetworkSpec& s) { s.path.clear(); }));
  EXPECT_FALSE(stored_plan(spec_, parse_passes("all"), 1U << 20U).plan) << "made by other passes";
  write_network(spec_.path, Form::packed, network_);
  EXPECT_FALSE(used(spec_)) << "there is none";
}

TEST_F(PlanStoredBeside, IsUsedWhereItFitsByTheByteAndOtherwiseSaysSo) {
  const std::size_t bytes = stored_plan_bytes(spec_.path);
  const StoredPlan fits = stored_plan(spec_, parse_passes("dead"), bytes);
  EXPECT_TRUE(fits.plan);
  EXPECT_TRUE(fits.notes.empty());
  const StoredPlan none = stored_plan(spec_, parse_passes("dead"), bytes - 1);
  EXPECT_FALSE(none.plan);
  ASSERT_EQ(none.notes.size(), 1U);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "the plan stored with the network is not used: it takes ", none.notes[0]);
}

TEST_F(PlanStoredBeside, BelongsToItsNetworkAlone) {
  const Plan plan = *stored_plan(spec_, parse_passes("dead"), 1U << 20U).plan;
  EXPECT_NO_THROW(check_stored_plan("n.spdnn", plan, network_));
  Network other = network_;
  other.layers[0].bias.uniform = -1;
  EXPECT_EQ(testing::message_of<DataError>([&] { check_stored_plan("n.spdnn", plan, other); }),
            "n.spdnn: its plan was made for another network");
  EXPECT_FALSE(claims_official(plan));
}

}  // namespace
}  // namespace spdnn
