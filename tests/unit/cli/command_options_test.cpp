// Options of commands change what their reports say and what they write, each its own.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "inference/checkpoint/parser.hpp"
#include "io/arrays/npy.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/networks.hpp"
#include "support/printed_json.hpp"
#include "support/small_files.hpp"

namespace spdnn {
namespace {

using testing::Arguments;
using testing::joined;

std::string said_of(const Json& line, const std::vector<const char*>& fields) {
  std::string text;
  for (const char* const field : fields) {
    std::string value = json_line(line[field]);
    value.pop_back();
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", field, value);
  }
  return text;
}

class CommandOptions : public testing::SmallFiles {
 protected:
  CommandOptions() {
    testing::ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 3});
    const ValueId sums =
        builder.add(Linear{testing::make_matrix(3, {{{0, 1.F}, {2, -1.F}}, {{1, 2.F}}}), {0.5F, 0}}, {x});
    const ValueId hidden = builder.add(BatchNorm{{2, 2}, {0, 0}, {0, 0}, {1, 1}, 0}, {sums});
    const ValueId y = builder.add(testing::make_activation(Activation::Kind::relu), {hidden});
    write_model(model_, builder.finish({y, sums}));
    write_npy(arrays_, testing::make_tensor({5, 3}, {4, 0, 0, 0, 4, 0, 8, 0, 0, 0, 8, 0, 2, 0, 1}));
    std::ofstream(path("labels.txt")) << "0\n1\n0\n1\n1\n";
    std::ofstream(path("names.txt")) << "cat\ndog\n";
  }
  Json line() const { return parse_json(text_of_file(json_)); }

  std::string model_ = path("m.spdnn");
  std::string arrays_ = path("x.npy");
};

TEST_F(CommandOptions, OfInferAreThoseOfTheRun) {
  const auto infer = [&](const Arguments& options) {
    const Arguments all = joined({"--network", network_, "--inputs", images_, "--json", json_}, options);
    EXPECT_EQ(testing::run_command("infer", all).code, 0);
    return line();
  };
  const std::vector<const char*> settings{"variant", "precision", "trials", "warm_up", "batch", "passes", "compared"};
  const Json usual = infer({"--variant", "cpu_openmp"});
  EXPECT_EQ(
      said_of(usual, settings),
      R"(variant: "cpu_openmp", precision: "fp32", trials: 1, warm_up: 0, batch: 5, passes: "twins,unused,dead,identical", compared: null)");
  EXPECT_EQ(usual["problem"]["images"], 5);
  EXPECT_EQ(usual["verdict"]["categories"], 3);
  const Json& seconds = usual["seconds"];
  EXPECT_EQ(seconds["join"], 0);
  EXPECT_GT(seconds["load"].get<double>(), 0);
  EXPECT_GT(seconds["write"].get<double>(), 0);
  double phases = seconds["infer"]["sum"].get<double>();
  for (const char* const phase : {"load", "read", "plan", "upload", "gather", "write"})
    phases += seconds[phase].get<double>();
  EXPECT_GE(seconds["total"].get<double>(), phases);
  const Json all = infer({"--variant", "cpu_reference", "--precision", "fp64", "--trials", "2", "--warm-up", "3",
                          "--batch", "2", "--reduce", "dead", "--threads", "1"});
  EXPECT_EQ(
      said_of(all, settings),
      R"(variant: "cpu_reference", precision: "fp64", trials: 2, warm_up: 3, batch: 2, passes: "dead", compared: null)");
  EXPECT_EQ(all["machine"]["threads"], 1);
  EXPECT_EQ(infer({"--images", "5"})["problem"]["images"], 5);
  EXPECT_EQ(testing::message_of<UsageError>([&] { infer({"--cap", "8"}); }), "cap: " + network_ + " has its own");
  EXPECT_EQ(infer({"--layers", "1"})["problem"]["layers"], 1);
  EXPECT_EQ(infer({"--compare"})["compared"]["passes"], "dead");
  EXPECT_EQ(infer({"--verify", "2"})["verdict"]["against"], "cpu_reference on 2 of 5 images, a sample");
  EXPECT_EQ(infer({"--verify", "all"})["verdict"]["against"], "cpu_reference on all images");
  EXPECT_EQ(infer({"--checkpoint", path("run")})["checkpoints"]["every"], 900);
  EXPECT_EQ(infer({"--checkpoint", path("run"), "--checkpoint-every", "2m"})["checkpoints"]["every"], 120);
  EXPECT_EQ(infer({"--checkpoint", path("run"), "--checkpoint-every", "never"})["checkpoints"]["every"], nullptr);
  EXPECT_FALSE(std::filesystem::exists(path("run"))) << "the run is done";
  infer({"--categories", path("c.tsv"), "--activations", path("a.tsv")});
  EXPECT_EQ(text_of_file(path("c.tsv")), "1\n2\n4\n");
  EXPECT_EQ(text_of_file(path("a.tsv")), "1\t1\t0.5\n4\t1\t0.5\n2\t2\t0.5\n4\t2\t1.25\n");
}

TEST_F(CommandOptions, OfInferWithAModelAreThoseOfTheRun) {
  const auto infer = [&](const Arguments& options, int code = 0) {
    const Arguments all = joined({"--model", model_, "--inputs", arrays_, "--json", json_}, options);
    EXPECT_EQ(testing::run_command("infer", all).code, code);
    return line();
  };
  const std::vector<const char*> settings{"variant", "precision", "trials",  "warm_up",  "batch",
                                          "images",  "available", "classes", "rewrites", "compared"};
  EXPECT_EQ(
      said_of(infer({"--variant", "conv_dense"}), settings),
      R"(variant: "conv_dense", precision: "fp32", trials: 1, warm_up: 0, batch: 5, images: 5, available: 5, classes: 2, rewrites: "constants,hard_swish,padding,affine,dead_channels,twin_filters,unread,epilogues", compared: null)");
  const Json all =
      infer({"--variant", "conv_reference", "--precision", "fp64", "--trials", "2", "--warm-up", "3", "--batch", "2",
             "--rewrite", "affine", "--threads", "1", "--first", "3", "--output", "value1", "--profile"});
  EXPECT_EQ(
      said_of(all, settings),
      R"(variant: "conv_reference", precision: "fp64", trials: 2, warm_up: 3, batch: 2, images: 3, available: 5, classes: 2, rewrites: "affine", compared: null)");
  EXPECT_EQ(all["machine"]["threads"], 1);
  EXPECT_EQ(json_line(all["model"]["named_outputs"]), "[{\"name\":\"value1\",\"shape\":[\"N\",2]}]\n");
  EXPECT_EQ(infer({"--compare"})["compared"]["rewrites"], "none");
  EXPECT_EQ(infer({"--verify", "2"})["reference"]["images"], 2);
  EXPECT_EQ(infer({"--verify", "all"})["verdict"]["status"], "PASSED");
  EXPECT_EQ(infer({"--labels", path("labels.txt")})["accuracy"]["top_1"], 0.8);
  EXPECT_EQ(infer({"--labels", path("labels.txt"), "--min-accuracy", "0.75"})["verdict"]["status"], "PASSED");
  EXPECT_EQ(infer({"--labels", path("labels.txt"), "--min-accuracy", "0.85"}, 1)["verdict"]["status"], "FAILED");
  EXPECT_EQ(infer({"--shape", "5,3"})["model"]["input"][0], 5);
  infer(
      {"--output", "value1", "--logits", path("y.npy"), "--predictions", path("p.csv"), "--names", path("names.txt")});
  const std::string predicted = text_of_file(path("p.csv"));
  EXPECT_EQ(std::count(predicted.begin(), predicted.end(), '\n'), 6) << predicted;
  EXPECT_NE(predicted.find("cat"), std::string::npos) << predicted;
  EXPECT_EQ(infer({"--output", "value1", "--expected", path("y.npy")})["verdict"]["status"], "PASSED");
  EXPECT_EQ(infer({"--output", "value1", "--expected", path("y.npy"), "--subtract", "1"}, 1)["verdict"]["status"],
            "FAILED");
  infer({"--logits", path("y.npz")});
  EXPECT_EQ(infer({"--expected", path("y.npz")})["verdict"]["status"], "PASSED");
  EXPECT_EQ(
      testing::message_of<UsageError>([&] {
        infer({"--logits", path("z.npy")});
      }),
      "--logits: the model has 2 outputs (value3, value1): an .npz file takes all of them; --output NAME chooses one");
}

/// Of a run that was stopped and goes on, all phases are those of both parts.
TEST_F(CommandOptions, OfInferContinueWhatWasStoppedAndAddItsTimes) {
  const std::string run = path("run");
  Arguments infer{"--network",  network_, "--inputs", images_,        "--variant",
                  "cpu_openmp", "--json", json_,      "--checkpoint", run};
  EXPECT_EQ(testing::run_command("infer", joined(infer, {"--max-time", "0.000001s"})).code, 5);
  Json stopped = parse_json(text_of_file(run));
  int seconds = 1000;
  for (const char* const phase : {"read", "plan", "share", "upload", "gather", "images", "checkpoint", "infer"})
    stopped["seconds"][phase] = seconds += 1000;
  stopped["checksum"] = checkpoint_checksum(stopped);
  std::ofstream(run) << json_line(stopped);
  EXPECT_EQ(testing::run_command("infer", infer).code, 0);
  EXPECT_EQ(line()["parts"], 2);
  const Json all = line()["seconds"];
  seconds = 1000;
  const auto phase_seconds = [&](const std::string& phase) {
    if (phase == "infer") return all["infer"]["sum"].get<double>();
    return all[phase == "images" ? "upload_images" : phase.c_str()].get<double>();
  };
  for (const char* const phase : {"read", "plan", "share", "upload", "gather", "images", "checkpoint", "infer"}) {
    seconds += 1000;
    EXPECT_GE(phase_seconds(phase), seconds) << phase;
    EXPECT_LT(phase_seconds(phase), seconds + 1000) << phase;
  }
}

TEST_F(CommandOptions, OfPruneAreThoseOfItsReport) {
  testing::ModelBuilder builder;
  testing::Rng rng(2);
  ValueId x = builder.input({kBatchExtent, 40});
  for (int k = 0; k < 2; ++k) {
    x = builder.add(Linear{testing::random_layer(rng, 40, 40, 40, 0.1, 1, 0).weights, {}}, {x});
    x = builder.add(BatchNorm{std::vector<float>(40, 2), std::vector<float>(40, 0), std::vector<float>(40, 0),
                              std::vector<float>(40, 1), 0},
                    {x});
  }
  write_model(model_, builder.finish({x}));
  std::vector<float> numbers;
  for (int i = 0; i < 8 * 40; ++i) numbers.push_back(static_cast<float>(rng.real(-1, 1)));
  write_npy(arrays_, testing::make_tensor({8, 40}, numbers));
  const std::string out = path("out.spdnn");
  const auto prune = [&](const Arguments& options) {
    const Arguments all = joined({model_, out, "--json", json_, "--threads", "1"}, options);
    EXPECT_EQ(testing::run_command("prune", all).code, 0);
    return line();
  };
  const std::vector<const char*> settings{"method", "calibrated", "batch", "threads"};
  const Json plain = prune({"--sparsity", "0.5"});
  EXPECT_EQ(
      said_of(plain, settings),
      R"(method: "pattern free, scores by magnitude in each layer, repair of nothing", calibrated: 0, batch: 1, threads: 1)");
  EXPECT_EQ(plain["nonzeros"]["after"], 1600);
  EXPECT_EQ(plain["measured"], nullptr);
  const auto method = [&](const Arguments& options) {
    const Arguments with = joined({"--sparsity", "0.5", "--inputs", arrays_}, options);
    return said_of(prune(with), settings);
  };
  EXPECT_EQ(
      method({}),
      R"(method: "pattern free, scores by magnitude in each layer, repair of weights and norms", calibrated: 4, batch: 1, threads: 1)");
  EXPECT_EQ(method({"--repair", "all"}), method({}));
  EXPECT_EQ(
      method({"--repair", "none", "--calibrate", "3", "--batch", "2"}),
      R"(method: "pattern free, scores by magnitude in each layer, repair of nothing", calibrated: 3, batch: 2, threads: 1)");
  EXPECT_EQ(
      method({"--repair", "weights"}),
      R"(method: "pattern free, scores by magnitude in each layer, repair of weights", calibrated: 4, batch: 1, threads: 1)");
  EXPECT_EQ(
      method({"--repair", "norms"}),
      R"(method: "pattern free, scores by magnitude in each layer, repair of norms", calibrated: 4, batch: 1, threads: 1)");
  EXPECT_EQ(
      method({"--score", "activations", "--scope", "global", "--repair", "none"}),
      R"(method: "pattern free, scores by activations over all layers, repair of nothing", calibrated: 4, batch: 1, threads: 1)");
  EXPECT_EQ(
      method({"--pattern", "uniform", "--repair", "none"}),
      R"(method: "pattern uniform, scores by magnitude in each layer, repair of nothing", calibrated: 4, batch: 1, threads: 1)");
  std::ofstream(path("shares")) << "1 0.25\n";
  EXPECT_EQ(prune({"--per-layer", path("shares")})["nonzeros"]["after"], 1200 + 1600);
  std::ofstream(path("eight.txt")) << "0\n1\n2\n3\n4\n5\n6\n7\n";
  EXPECT_NE(prune({"--sparsity", "0.5", "--inputs", arrays_, "--labels", path("eight.txt")})["measured"]["accuracy"],
            nullptr);
  EXPECT_EQ(prune({"--sparsity", "0.5", "--inputs", arrays_, "--first", "6"})["calibrated"], 3);
}

}  // namespace
}  // namespace spdnn
