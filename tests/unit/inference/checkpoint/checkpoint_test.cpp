#include "inference/checkpoint/checkpoint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "core/text/json_text.hpp"
#include "io/files/input_file.hpp"
#include "io/packed/format.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"
#include "support/message_of.hpp"
#include "support/networks.hpp"
#include "support/printed_json.hpp"
#include "support/reports.hpp"
#include "support/sampled.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// The checksum as a checkpoint's file has it.
std::string checksum_of(Json json) {
  json.erase("checksum");
  const std::string text = json_text(json);
  return fmt::format("{:016x}", packed::hash_block(std::as_bytes(std::span(text))));
}

/// Runs that are stopped at one question after another, and continued each time from the checkpoint.
class CheckpointTest : public ::testing::Test {
 protected:
  static constexpr Index kLayers = 7;

  CheckpointTest() {
    testing::Rng rng(7);
    constexpr std::array<Index, kLayers + 1> kNeurons{12, 20, 9, 16, 18, 11, 14, 13};
    for (std::size_t k = 0; k < kLayers; ++k)
      network_.layers.push_back(testing::random_layer(rng, kNeurons[k], kNeurons[k + 1], 4, -0.6, 1.0, -0.05));
    images_ = testing::valued_images(rng, 11, 12, 0.3);
  }

  InferenceSpec spec(const char* variant) const {
    InferenceSpec spec;
    spec.variant = variant;
    spec.passes = parse_passes("dead");
    return spec;
  }

  Report run(const InferenceSpec& spec) const { return testing::report_of(spec, network_, images_); }

  /// Stops each run at its `question`-th question, until one ends unstopped.
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
  Json file() const { return parse_json(text_of_file(path())); }
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
      for (const int question : testing::sampled({3, 9}, {2, 3, 5, 9, 17})) {
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

TEST_F(CheckpointTest, ARunThatWasKilledLosesNoTimeByAClockThatWasSetBack) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  stopped.stop = [asked = 0]() mutable { return ++asked > 3; };
  EXPECT_THROW(run(stopped), Stopped);
  Json json = file();
  json["next_within"] = 5;
  json["time"] = json["time"].get<double>() + 3600;
  json["checksum"] = checksum_of(json);
  write(json_text(json));
  stopped.stop = {};
  const Report report = run(stopped);
  EXPECT_EQ(report.checkpoints->lost_parts, 1);
  EXPECT_EQ(report.checkpoints->lost_seconds, 0.0);
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
  const Json good = file();
  ASSERT_EQ(good["left"].size(), 1U);
  const auto refused = [&](Json json) {
    json["checksum"] = checksum_of(json);
    write(json_text(json));
    EXPECT_THROW(run(stopped), DataError) << json_text(json);
  };
  const std::string deep = "{\"schema\": " + std::string(1000000, '[') + std::string(1000000, ']') + "}";
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("null"),
                                  std::string("{\"schema\": 1}"), deep}) {
    write(text);
    EXPECT_THROW(run(stopped), DataError) << text.substr(0, 80);
  }
  for (const auto& [key, value] : good.items()) {
    if (key == "checksum") continue;
    Json without = good;
    without.erase(key);
    refused(without);
    Json other = good;
    other[key] = "x";
    refused(other);
  }
  const auto with = [&](const char* part, const char* key, const char* value) {
    Json json = good;
    json[part][key] = parse_json(value);
    return json;
  };
  const auto with_left = [&](const char* key, const char* value) {
    Json json = good;
    json["left"][0][key] = parse_json(value);
    return json;
  };
  const auto with_activations = [&](const Json& digests) {
    Json json = good;
    json["activations"] = digests;
    return json;
  };
  refused(with_left("layer", std::to_string(kLayers).c_str()));
  refused(with_left("layer", "-1"));
  for (const char* const beyond : {"[[10, 2]]", "[[0, 1], [9, 3]]"}) {
    Json json = with_left("images", beyond);
    json["checksum"] = checksum_of(json);
    write(json_text(json));
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "images: expected a number in 0..",
                        testing::message_of<DataError>([&] { run(stopped); }));
  }
  refused(with_left("images", "[[0, 12]]"));
  refused(with_left("images", "[[0, 6], [5, 6]]"));
  refused(with_left("images", "[[4000000000, 1]]"));
  Json twice = with_activations(Json::array());
  twice["left"] = parse_json(R"([{"layer": 0, "images": [[0, 4]]}, {"layer": 0, "images": [[3, 4]]}])");
  refused(twice);
  refused(with_left("images", "[0, 11]"));
  refused(with("known", "categories", "[3, 3]"));
  refused(with("known", "categories", "[11]"));
  refused(with("known", "alive", "[1, 2]"));
  refused(with("known", "overflow", "[[11, 0]]"));
  refused(with("seconds", "infer", "-1"));
  refused(with_activations("0123456789abcdef"));
  refused(with_activations(Json::array({"../../etc/passwd"})));
  refused(with_activations(Json::array()));
  refused(with_activations(Json::array({good["activations"][0], good["activations"][0]})));
  write(json_text(with("seconds", "infer", "0.5")));  // sound but for the checksum
  EXPECT_THROW(run(stopped), DataError);
  write(json_text(good));
  EXPECT_NO_THROW(run(stopped));
}

TEST_F(CheckpointTest, ActivationsOfAnotherCheckpointAreRefused) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  const auto stop_at = [&](int question) {
    stopped.stop = [asked = 0, question]() mutable { return ++asked >= question; };
    EXPECT_THROW(run(stopped), Stopped);
    stopped.stop = {};
    return path() + "." + file()["activations"][0].get<std::string>() + ".spdnn";
  };
  const std::string activations = stop_at(4);
  const ImageSet right = read_images(activations, std::nullopt, std::nullopt);
  CsrMatrix other = right.to_csr();  // as many images, of which one differs in one value
  ASSERT_FALSE(other.values.empty());
  std::vector<float> values(other.values.begin(), other.values.end());
  values.back() *= 2;
  other.values = Array<float>(std::move(values));
  write_images(activations, {other});
  try {
    run(stopped);
    FAIL() << "taken";
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()), activations + ": holds other activations than the checkpoint's");
  }
  write_images(activations, right);
  EXPECT_NO_THROW(run(stopped));
}

TEST_F(CheckpointTest, ActivationsOfEarlierPartsDoNotStay) {
  InferenceSpec stopped = spec("cpu_openmp");
  stopped.checkpoint = path();
  for (int part = 0; part < 3; ++part) {
    stopped.stop = [asked = 0]() mutable { return ++asked > 2; };
    EXPECT_THROW(run(stopped), Stopped);
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      files.push_back(entry.path().filename());
    std::sort(files.begin(), files.end());
    EXPECT_EQ(files,
              (std::vector<std::string>{"run", "run." + file()["activations"][0].get<std::string>() + ".spdnn"}));
  }
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

/// A network in files that exceeds the memory limit, so that its layers are streamed.
class StreamedCheckpointTest : public CheckpointTest {
 protected:
  static constexpr Index kWidth = 256;
  static constexpr Index kDepth = 40;

  StreamedCheckpointTest() {
    testing::Rng rng(3);
    network_ = {};
    for (Index k = 0; k < kDepth; ++k)
      network_.layers.push_back(testing::random_layer(rng, kWidth, kWidth, 16, -0.1, 0.3, -0.05));
    write_network(directory_ / "n.spdnn", Form::packed, network_);
    write_images(directory_ / "i.spdnn", testing::bit_images(rng, 30, kWidth, 0.1));
    in_memory_ = spec("cpu_openmp");
    in_memory_.network.path = directory_ / "n.spdnn";
    in_memory_.images.path = directory_ / "i.spdnn";
    in_memory_.threads = 1;
    streamed_ = in_memory_;
    streamed_.host_memory = std::size_t{1400} << 10U;
  }

  /// Reads the files, and stops at the `question`-th question; 0: never.
  Report run(InferenceSpec spec, int question) const {
    spec.checkpoint = path();
    if (question > 0) spec.stop = [asked = 0, question]() mutable { return ++asked >= question; };
    Inference inference(spec);
    inference.load();
    inference.plan();
    inference.run();
    return inference.report();
  }

  InferenceSpec in_memory_;
  InferenceSpec streamed_;
};

TEST_F(StreamedCheckpointTest, EitherWayGoesOnWhereTheOtherStopped) {
  const Report expected = run(in_memory_, 0);
  ASSERT_FALSE(expected.outcome.categories.empty());
  ASSERT_FALSE(expected.streamed);
  for (const auto& [first, second] :
       {std::pair{streamed_, streamed_}, {streamed_, in_memory_}, {in_memory_, streamed_}})
    for (const int question : {1, 4, 20}) {
      EXPECT_THROW(run(first, question), Stopped);
      EXPECT_EQ(file()["left"][0]["layer"], question - 1);
      const Report report = run(second, 0);
      EXPECT_EQ(report.outcome.categories, expected.outcome.categories);
      EXPECT_EQ(report.parts, 2);
      EXPECT_EQ(report.streamed.has_value(), second.host_memory != 0);
      remove_checkpoint(path());
    }
}

TEST_F(StreamedCheckpointTest, APassThatStoodAsideDoesSoToTheEnd) {
  streamed_.passes = in_memory_.passes = parse_passes("twins,dead");
  const Report expected = run(in_memory_, 0);
  EXPECT_TRUE(expected.passes.twins);
  EXPECT_THROW(run(streamed_, 5), Stopped);
  const Report report = run(in_memory_, 0);
  EXPECT_EQ(report.outcome.categories, expected.outcome.categories);
  EXPECT_FALSE(report.passes.twins);
  EXPECT_NE(
      std::find(report.notes.begin(), report.notes.end(), "the run continues with the passes that it began with: dead"),
      report.notes.end());
  remove_checkpoint(path());
  EXPECT_THROW(run(in_memory_, 5), Stopped);
  EXPECT_THROW(run(streamed_, 0), DataError);
}

TEST_F(CheckpointTest, AnotherEngineIsNoted) {
  const auto part_by = [](const Report& report) {
    const auto is_it = [](const std::string& note) { return note.starts_with("part of the run was computed by"); };
    const auto found = std::find_if(report.notes.begin(), report.notes.end(), is_it);
    return found == report.notes.end() ? "" : *found;
  };
  InferenceSpec first = spec("cpu_openmp");
  first.precision = Precision::fp64;
  first.checkpoint = path();
  InferenceSpec second = first;
  second.variant = "cpu_reference";
  first.stop = [asked = 0]() mutable { return ++asked > 3; };
  EXPECT_THROW(run(first), Stopped);
  first.stop = {};
  EXPECT_EQ(part_by(run(first)), "");
  EXPECT_EQ(part_by(run(second)), "part of the run was computed by cpu_openmp");
}

/// Simulates a disk with room for the checkpoint's line, but not for the activations.
class FullDiskTest : public CheckpointTest {
 protected:
  /// Runs batches of four images, of which the first is done before question 12.
  void stop_at(int question) const {
    InferenceSpec stopped = rest();
    stopped.stop = [asked = 0, question]() mutable { return ++asked >= question; };
    run(stopped);
  }
  InferenceSpec rest() const {
    InferenceSpec rest = spec("cpu_openmp");
    rest.checkpoint = path();
    rest.batch = 4;
    return rest;
  }
  std::string why_not(int question) const {
    try {
      stop_at(question);
    } catch (const DataError& error) {
      return error.what();
    }
    return "a checkpoint was written, or the run came to its end";
  }
  std::string activations() const { return path() + "." + file()["activations"][0].get<std::string>() + ".spdnn"; }
  /// The activations' file of a run that stops there; no such file is left.
  std::string activations_at(int question) const {
    EXPECT_THROW(stop_at(question), Stopped);
    std::string found = activations();
    remove_checkpoint(path());
    return found;
  }
  static void block(const std::string& name) { std::filesystem::create_directories(name + "/full"); }
};

TEST_F(FullDiskTest, ImagesThatAreDoneAreKeptAndTheOthersBegunAgain) {
  const Categories expected = run(spec("cpu_openmp")).outcome.categories;
  const std::string first = activations_at(12);
  block(first);
  const std::string said = testing::message_of<Stopped>([&] { stop_at(12); });
  EXPECT_NE(said.find(", but begins some images again, for " + first + ": "), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(path() + ".next.spdnn"));
  EXPECT_EQ(file()["activations"], Json::array());
  EXPECT_EQ(file()["left"], parse_json(R"([{"layer": 0, "images": [[4, 7]]}])"));
  std::filesystem::remove_all(first);
  EXPECT_EQ(run(rest()).outcome.categories, expected);
}

TEST_F(FullDiskTest, WithNoImageDoneThereIsNoCheckpoint) {
  block(activations_at(3));
  EXPECT_TRUE(why_not(3).ends_with("; the run has stopped, and its work is lost")) << why_not(3);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(FullDiskTest, ACheckpointWithAsManyImagesDoneStays) {
  const Categories expected = run(spec("cpu_openmp")).outcome.categories;
  EXPECT_THROW(stop_at(3), Stopped);
  const std::string second = activations_at(3);
  EXPECT_THROW(stop_at(3), Stopped);
  const Json one = file();
  block(second);
  EXPECT_TRUE(why_not(3).ends_with("; the previous checkpoint is kept")) << why_not(3);
  EXPECT_EQ(file(), one);
  EXPECT_EQ(run(rest()).outcome.categories, expected);
}

TEST_F(CheckpointTest, FilesOfOthersBesideItStay) {
  const std::vector<std::string> of_a_user{path() + ".official-network.spdnn", path() + ".0123456789abcdef-kept.spdnn",
                                           path() + ".0123456789abcdef.saved", path() + ".0123456789ABCDEF.spdnn"};
  const std::vector<std::string> of_a_killed_run{path() + ".0123456789abcdef.spdnn", path() + ".next.spdnn"};
  for (const std::string& name : of_a_user) std::ofstream(name) << "a network";
  run_in_parts(spec("cpu_openmp"), 3);
  for (const std::string& name : of_a_killed_run) std::ofstream(name) << "activations";
  remove_checkpoint(path());
  for (const std::string& name : of_a_user) EXPECT_TRUE(std::filesystem::exists(name)) << name;
  for (const std::string& name : of_a_killed_run) EXPECT_FALSE(std::filesystem::exists(name)) << name;
}

TEST_F(CheckpointTest, ARunWhoseTimeIsUpStopsWithACheckpoint) {
  InferenceSpec limited = spec("cpu_openmp");
  const Categories expected = run(limited).outcome.categories;
  limited.max_time = 0;
  EXPECT_THROW(Inference{limited}, UsageError);
  limited.checkpoint = path();
  try {
    run(limited);
    FAIL() << "the run came to its end";
  } catch (const Stopped& stopped) {
    const std::string text = stopped.what();
    EXPECT_TRUE(text.starts_with("stopped 0 s before its time is up: ")) << text;
  }
  limited.max_time = 1e6;
  EXPECT_EQ(run(limited).outcome.categories, expected);
  limited.checkpoint_every = 0;
  EXPECT_THROW(Inference{limited}, UsageError);
}

/// Reading and planning count, too.
TEST_F(CheckpointTest, TheTimeOfARunBeginsBeforeItsLayers) {
  InferenceSpec limited = spec("cpu_openmp");
  limited.checkpoint = path();
  limited.max_time = 0.3;
  Inference inference(limited);
  inference.load(network_, images_);
  inference.plan();
  std::this_thread::sleep_for(std::chrono::duration<double>(*limited.max_time));
  EXPECT_THROW(inference.run(), Stopped);
}

TEST_F(CheckpointTest, NeedsOneTrial) {
  InferenceSpec two = spec("cpu_openmp");
  two.checkpoint = path();
  two.trials = 2;
  EXPECT_THROW(Inference{two}, UsageError);
}

}  // namespace
}  // namespace spdnn
