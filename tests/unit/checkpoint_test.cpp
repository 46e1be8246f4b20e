#include "inference/checkpoint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "io/packed/format.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using nlohmann::ordered_json;

/// As a checkpoint's file has it.
std::string checksum_of(ordered_json json) {
  json.erase("checksum");
  const std::string text = json.dump();
  return fmt::format("{:016x}", packed::hash_block(std::as_bytes(std::span(text))));
}

/// Runs that are stopped at one question after another, and continued each time from what they left.
class CheckpointTest : public ::testing::Test {
 protected:
  static constexpr Index kLayers = 7;

  CheckpointTest() {
    testing::Dice dice(7);
    constexpr std::array<Index, kLayers + 1> kNeurons{12, 20, 9, 16, 18, 11, 14, 13};
    for (std::size_t k = 0; k < kLayers; ++k)
      network_.layers.push_back(testing::random_layer(dice, kNeurons[k], kNeurons[k + 1], 4, -0.6, 1.0, -0.05));
    images_ = testing::valued_images(dice, 11, 12, 0.3);
  }

  InferenceSpec spec(const char* variant) const {
    InferenceSpec spec;
    spec.variant = variant;
    spec.passes = parse_passes("dead");
    return spec;
  }

  Report run(const InferenceSpec& spec) const {
    Inference inference(spec);
    inference.load(network_, images_);
    inference.plan();
    inference.run();
    return inference.report();
  }

  /// Stops each run at its `question`-th question, until one ends by itself.
  Report run_in_parts(InferenceSpec spec, int question) const {
    spec.checkpoint = path();
    for (int part = 0; part < 100; ++part) {
      int asked = 0;
      spec.stop = [&] { return ++asked >= question; };
      try {
        return run(spec);
      } catch (const Stopped&) {
        EXPECT_TRUE(std::filesystem::exists(path()));
      }
    }
    throw std::logic_error("the run does not come to an end");
  }

  std::string path() const { return (directory_ / "run").string(); }
  ordered_json file() const { return ordered_json::parse(std::ifstream(path())); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  TemporaryDirectory directory_;
  Network network_;
  ImageSet images_;
};

TEST_F(CheckpointTest, AStoppedRunContinuesToTheSameCategories) {
  for (const char* variant : {"cpu_openmp", "cpu_reference"}) {
    const Categories expected = run(spec(variant)).outcome.categories;
    ASSERT_FALSE(expected.empty());
    ASSERT_LT(expected.size(), images_.images());
    for (const Index batch : {0U, 4U})
      for (const int question : {2, 3, 5, 9, 17}) {
        InferenceSpec one = spec(variant);
        one.batch = batch;
        // The reference computes in fp64, so a batch is begun again: it has to come to its end between two stops.
        if (variant == std::string("cpu_reference") && question <= static_cast<int>(kLayers) + 1) continue;
        const Report report = run_in_parts(one, question);
        EXPECT_EQ(report.outcome.categories, expected) << variant << " " << batch << " " << question;
        remove_checkpoint(path());
        EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
      }
  }
}

TEST_F(CheckpointTest, TimesAreThoseOfAllParts) {
  const Report report = run_in_parts(spec("cpu_openmp"), 3);
  EXPECT_GT(report.parts, 2);
  EXPECT_GT(report.earlier.infer.sum, 0.0);
  PhaseSeconds sum = report.seconds;
  sum.add(report.earlier);
  EXPECT_DOUBLE_EQ(sum.infer.median, report.seconds.infer.sum + report.earlier.infer.sum);
  EXPECT_DOUBLE_EQ(sum.total, report.seconds.total + report.earlier.total);
}

TEST_F(CheckpointTest, IsRefusedForAnotherProblem) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  stopped.stop = [asked = 0]() mutable { return ++asked > 3; };
  EXPECT_THROW(run(stopped), Stopped);
  stopped.passes = parse_passes("dead");
  stopped.stop = {};
  const ImageSet images = images_;
  images_ = images.slice(1, 10);
  EXPECT_THROW(run(stopped), DataError);
  images_ = images;
  network_.layers[3].bias.uniform = -0.3;
  EXPECT_THROW(run(stopped), DataError);
  network_.layers[3].bias.uniform = -0.05;
  EXPECT_NO_THROW(run(stopped));
}

TEST_F(CheckpointTest, RefusesWhatIsMalformed) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  stopped.stop = [asked = 0]() mutable { return ++asked > 3; };
  EXPECT_THROW(run(stopped), Stopped);
  stopped.stop = {};
  const ordered_json good = file();
  ASSERT_EQ(good["left"].size(), 1U);
  const auto refused = [&](ordered_json json) {
    json["checksum"] = checksum_of(json);
    write(json.dump());
    EXPECT_THROW(run(stopped), DataError) << json.dump();
  };
  for (const char* const text : {"", "{", "[]", "null", "{\"schema\": 1}"}) {
    write(text);
    EXPECT_THROW(run(stopped), DataError) << text;
  }
  for (const auto& [key, value] : good.items()) {
    if (key == "checksum") continue;
    ordered_json without = good;
    without.erase(key);
    refused(without);
    ordered_json other = good;
    other[key] = "x";
    refused(other);
  }
  const auto with = [&](const char* pointer, const ordered_json& value) {
    ordered_json json = good;
    json[ordered_json::json_pointer(pointer)] = value;
    return json;
  };
  refused(with("/left/0/layer", kLayers));
  refused(with("/left/0/layer", -1));
  refused(with("/left/0/images", {{0, 12}}));
  refused(with("/left/0/images", {{0, 6}, {5, 6}}));
  refused(with("/left/0/images", {{4000000000U, 1}}));
  refused(with("/left/0/images", {0, 11}));
  refused(with("/known/categories", {3, 3}));
  refused(with("/known/categories", {11}));
  refused(with("/known/alive", {1, 2}));
  refused(with("/known/overflow", {{11, 0}}));
  refused(with("/seconds/infer", -1));
  refused(with("/activations", "0123456789abcdef"));
  refused(with("/activations", "../../etc/passwd"));
  write(with("/left/0/layer", 0).dump());  // of which the checksum knows
  EXPECT_THROW(run(stopped), DataError);
  write(good.dump());
  EXPECT_NO_THROW(run(stopped));
}

TEST_F(CheckpointTest, IsRefusedForOtherPassesAndAnotherPrecision) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  stopped.stop = [asked = 0]() mutable { return ++asked > 3; };
  EXPECT_THROW(run(stopped), Stopped);
  stopped.stop = {};
  InferenceSpec other = stopped;
  other.passes = {};
  EXPECT_THROW(run(other), DataError);
  other = stopped;
  other.precision = Precision::fp64;
  EXPECT_THROW(run(other), DataError);
  EXPECT_NO_THROW(run(stopped));
}

TEST_F(CheckpointTest, AMergedPlanThatRunsInOrderIsContinuedInOrder) {
  // Two inputs that are twins, and an image with a value outside 0..1, for which merge stands aside.
  Layer doubled;
  doubled.weights = make_csr(2, 2, {0, 2, 4}, {0, 1, 0, 1});
  doubled.bias.uniform = -0.5;
  network_ = {};
  network_.layers.assign(kLayers, doubled);
  images_ = {make_csr(3, 2, {0, 1, 3, 3}, {0, 0, 1}, {2.0F, 0.25F, 0.125F})};
  InferenceSpec merged = spec("cpu_openmp");
  merged.passes = parse_passes("twins,merge");
  const Categories expected = run(merged).outcome.categories;
  ASSERT_EQ(expected.size(), 1U);
  EXPECT_EQ(run_in_parts(merged, 3).outcome.categories, expected);
}

TEST_F(CheckpointTest, FilesOfOthersBesideItStay) {
  const std::string of_a_user = path() + ".official-network.spdnn";
  std::ofstream(of_a_user) << "a network";
  run_in_parts(spec("cpu_openmp"), 3);
  remove_checkpoint(path());
  EXPECT_TRUE(std::filesystem::exists(of_a_user));
}

TEST_F(CheckpointTest, NeedsOneTrial) {
  InferenceSpec two = spec("cpu_openmp");
  two.checkpoint = path();
  two.trials = 2;
  EXPECT_THROW(Inference{two}, UsageError);
}

}  // namespace
}  // namespace spdnn
