// What commands refuse before any work: options of another kind of input, and outputs that are inputs. Tables have each
// option on its own.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn::cli {
namespace {

/// The message with which `spdnn COMMAND ARGUMENTS` is refused as a usage error.
std::string said_by(const std::string& command, Arguments arguments) {
  return testing::message_of<UsageError>([&] { testing::run_command(command, arguments); });
}

using testing::joined;

/// A network, images for it and a model, in files.
class Refusals : public ::testing::Test {
 protected:
  Refusals() {
    write_network(network_, Form::packed, Network{{testing::make_layer(2, {{{0, 1.F}}, {{1, 1.F}}}, -0.25)}});
    write_images(images_, {testing::make_matrix(2, {{{0, 1.F}}})});
    testing::ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    write_model(model_, builder.finish({builder.add(Linear{testing::make_matrix(2, {{{0, 1.F}}}), {}}, {x})}));
    for (const std::string& file : {text_, graph_}) std::ofstream(file) << "text\n";
  }

  TemporaryDirectory directory_;
  std::string network_ = path("n.spdnn");
  std::string images_ = path("i.spdnn");
  std::string model_ = path("m.onnx");
  std::string text_ = path("text");              ///< stands for a file of any kind
  std::string weights_ = path("w.safetensors");  ///< a model whose graph is beside it
  std::string graph_ = path("architecture.json");

 private:
  std::string path(const char* name) const { return (directory_ / name).string(); }
};

using Option = std::pair<const char*, const char*>;  ///< with its value; null for a switch

Arguments given(const Option& option) {
  Arguments arguments{std::string("--") + option.first};
  if (option.second != nullptr) arguments.emplace_back(option.second);
  return arguments;
}

TEST_F(Refusals, OfConvertNameEachOptionThatIsForAnotherKindOfInput) {
  const std::string out = (directory_ / "out.spdnn").string();
  const auto refused = [&](const std::string& in, const std::string& to, const Option& option) {
    return said_by("convert", joined({in, to}, given(option)));
  };
  const std::vector<Option> of_models{
      {"shape", "N,2"},  {"program", "auto"},   {"tune", nullptr},    {"batch", "2"},
      {"threads", "2"},  {"precision", "fp32"}, {"weights", "dense"}, {"compile-seconds", "1"},
      {"to", "fp16"},    {"inputs", "x.npy"},   {"table", "x.npy"},   {"first", "1"},
      {"subtract", "1"}, {"divide", "2"},       {"mean", "0.5"},      {"std", "0.5"}};
  for (const Option& option : of_models)
    for (const std::string& in : {network_, images_})
      EXPECT_EQ(refused(in, out, option), fmt::format("--{} cannot be used with networks and images", option.first));
  for (const Option& option : std::vector<Option>{{"layers", "1"},
                                                  {"bias", "0.5"},
                                                  {"bias-rule", "everywhere"},
                                                  {"cap", "8"},
                                                  {"allow-missing-newline", nullptr},
                                                  {"form", "tsv"},
                                                  {"plan", "all"},
                                                  {"plan-device", "cpu"}})
    EXPECT_EQ(refused(images_, out, option), fmt::format("--{} cannot be used with images", option.first));
  for (const Option& option : std::vector<Option>{{"kind", "network"},
                                                  {"neurons", "2"},
                                                  {"layers", "1"},
                                                  {"bias", "0.5"},
                                                  {"bias-rule", "everywhere"},
                                                  {"cap", "8"},
                                                  {"allow-missing-newline", nullptr},
                                                  {"images", "1"},
                                                  {"form", "tsv"},
                                                  {"plan", "all"},
                                                  {"plan-device", "cpu"}})
    EXPECT_EQ(refused(model_, out, option), fmt::format("--{} cannot be used with a model", option.first));
  for (const Option& option : std::vector<Option>{
           {"batch", "2"}, {"threads", "2"}, {"tune", nullptr}, {"precision", "fp32"}, {"compile-seconds", "1"}})
    EXPECT_EQ(refused(model_, out, option),
              fmt::format("--{} cannot be used with a model that is stored without --program", option.first));
  for (const Option& option : std::vector<Option>{
           {"bias", "0.5"}, {"bias-rule", "everywhere"}, {"cap", "8"}, {"plan", "all"}, {"plan-device", "cpu"}})
    EXPECT_EQ(refused(network_, (directory_ / "text-out").string(), option),
              fmt::format("--{} cannot be used with an OUT of text layers, which contain only weights", option.first));
  EXPECT_EQ(refused(network_, out, {"plan-device", "cpu"}),
            "--plan-device cannot be used with a network that is stored without its plan");
  EXPECT_EQ(refused(network_, out, {"images", "1"}), "--images cannot be used with a network");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Refusals, OfConvertedModelsNameWhatTheirFormCannotHold) {
  const auto refused = [&](const char* out, const Arguments& options) {
    return said_by("convert", joined({model_, (directory_ / out).string()}, options));
  };
  EXPECT_EQ(refused("out.onnx", {"--program", "auto"}), "--program: only packed models, .spdnn, hold a program");
  EXPECT_EQ(refused("out.onnx", {"--to", "fp16"}),
            "--to: only packed models, .spdnn, hold such weights; .onnx holds int8");
  EXPECT_EQ(refused("out.safetensors", {"--to", "int8"}),
            "--to: only packed models, .spdnn, hold such weights; .onnx holds int8");
  EXPECT_EQ(refused("out.spdnn", {"--weights", "dense"}), "--weights: only .onnx has forms to choose from");
  EXPECT_EQ(refused("out.spdnn", {"--to", "fp16", "--inputs", "x.npy"}), "--inputs: only --to int8 takes images");
  EXPECT_EQ(refused("out.spdnn", {"--inputs", "x.npy"}), "--inputs: only --to int8 takes images");
  for (const Option& option : std::vector<Option>{
           {"table", "x.npy"}, {"first", "1"}, {"subtract", "1"}, {"divide", "2"}, {"mean", "0.5"}, {"std", "0.5"}})
    EXPECT_EQ(refused("out.spdnn", given(option)),
              fmt::format("--{} cannot be used with a command without --inputs", option.first));
  EXPECT_EQ(said_by("convert", {network_, (directory_ / "out.onnx").string()}),
            "OUT: '" + (directory_ / "out.onnx").string() + "' is a model, but IN is not");
  const std::string beside = (directory_ / "other.safetensors").string();
  EXPECT_EQ(
      said_by("convert", {weights_, beside}),
      "the graph beside OUT " + graph_ + ": would overwrite the graph beside IN " + graph_ + ", expected another name");
  std::ofstream(network_, std::ios::trunc) << "damaged";
  const std::string damaged = testing::message_of<DataError>([&] {
    testing::run_command("convert", {network_, (directory_ / "out.onnx").string()});
  });
  EXPECT_TRUE(damaged.starts_with(network_)) << damaged;
}

TEST_F(Refusals, OfTwoWaysToScaleImagesNameTheSecond) {
  for (const char* const one : {"mean", "std"})
    for (const char* const other : {"subtract", "divide"}) {
      const Arguments both = joined(given({one, "0.5"}), given({other, "2"}));
      EXPECT_EQ(said_by("infer", joined({"--model", model_, "--inputs", "x.npy"}, both)),
                fmt::format("--{} cannot be used with --{}", other, one));
    }
}

TEST_F(Refusals, OfGenerateNameEachOptionThatIsForAnotherFamily) {
  const std::string out = (directory_ / "out.spdnn").string();
  const auto refused = [&](const Arguments& what, const Option& option) {
    return said_by("generate", joined(joined(what, {"--neurons", "1024", "--out", out}), given(option)));
  };
  for (const Option& option :
       std::vector<Option>{{"seed", "2"}, {"degree", "4"}, {"weights", "constant:1"}, {"bias", "-0.5"}})
    EXPECT_EQ(refused({"network", "--layers", "2", "--family", "official"}, option),
              fmt::format("--{} cannot be used with --family official", option.first));
  for (const Option& option : std::vector<Option>{{"seed", "2"}, {"images", "4"}})
    EXPECT_EQ(refused({"inputs", "--mnist", text_, "--family", "official"}, option),
              fmt::format("--{} cannot be used with --family official", option.first));
  EXPECT_EQ(refused({"inputs", "--family", "digits"}, {"mnist", text_.c_str()}),
            "--mnist cannot be used with --family digits");
  EXPECT_FALSE(std::filesystem::exists(out));
}

/// Any output of any command, and the option of each input.
TEST_F(Refusals, NameTheInputThatAnOutputWouldOverwrite) {
  const auto overwrites = [&](const std::string& command, const Arguments& rest, const std::string& output,
                              const std::string& input, const std::string& file) {
    const Arguments last = output.starts_with("--") ? Arguments{output, file} : Arguments{};
    EXPECT_EQ(said_by(command, joined(rest, last)),
              fmt::format("{} {}: would overwrite {} {}, expected another name", output, file, input, file));
  };
  const auto with = [](Arguments arguments, const std::string& option, const std::string& value) {
    return joined(std::move(arguments), {option, value});
  };
  for (const char* const output : {"--categories", "--json"}) {
    overwrites("infer", {"--network", network_, "--inputs", images_}, output, "--network", network_);
    overwrites("infer", {"--network", network_, "--inputs", images_}, output, "--inputs", images_);
    overwrites("infer", {"--network", network_, "--mnist", text_}, output, "--mnist", text_);
    overwrites("infer", {"--network", network_, "--inputs", images_, "--truth", text_}, output, "--truth", text_);
  }
  overwrites("infer", {"--network", network_, "--inputs", images_}, "--checkpoint", "--inputs", images_);
  const Arguments model{"--model", model_};
  for (const char* const output : {"--logits", "--predictions", "--json"}) {
    const std::string named = std::string(output) == "--json" ? text_ : (directory_ / "x.npy").string();
    std::ofstream(named) << "text\n";
    overwrites("infer", joined(model, {"--inputs", named}), output, "--inputs", named);
    for (const char* const input : {"--labels", "--expected", "--table", "--names"})
      overwrites("infer", with(joined(model, {"--inputs", images_}), input, named), output, input, named);
  }
  overwrites("infer", joined(model, {"--inputs", images_}), "--json", "--model", model_);
  overwrites("infer", {"--model", weights_, "--inputs", images_}, "--json", "the graph beside --model", graph_);
  const std::string pruned = (directory_ / "pruned.onnx").string();
  const Arguments prune{model_, pruned, "--sparsity", "0.5"};
  for (const char* const output : {"--json", "--html"}) {
    for (const char* const input : {"--labels", "--table", "--per-layer"})
      overwrites("prune", with(with({model_, pruned}, "--inputs", images_), input, text_), output, input, text_);
    overwrites("prune", joined(prune, {"--inputs", text_}), output, "--inputs", text_);
    overwrites("prune", prune, output, "MODEL", model_);
    overwrites("prune", {weights_, pruned, "--sparsity", "0.5"}, output, "the graph beside MODEL", graph_);
    overwrites("inspect", {model_}, output, "MODEL", model_);
    overwrites("inspect", {weights_}, output, "the graph beside MODEL", graph_);
    overwrites("bench", {"model", model_}, output, "MODEL", model_);
    overwrites("bench", {"model", weights_}, output, "the graph beside MODEL", graph_);
    overwrites("inspect", {network_}, output, "--network", network_);
  }
  overwrites("bench", {"suite", "--mnist", text_}, "--json", "--mnist", text_);
  overwrites("prune", {model_, model_, "--sparsity", "0.5"}, "OUT", "MODEL", model_);
  EXPECT_EQ(said_by("prune", {model_, (directory_ / "p.safetensors").string(), "--sparsity", "0.5", "--json", graph_}),
            fmt::format("the graph beside OUT {}: would overwrite --json {}, expected another name", graph_, graph_));
  overwrites("convert", {model_, model_}, "OUT", "IN", model_);
  overwrites("convert", {network_, network_}, "OUT", "IN", network_);
  overwrites("convert", {images_, images_}, "OUT", "IN", images_);
  for (const char* const input : {"--inputs", "--table"}) {
    const std::string other = (directory_ / "other.onnx").string();
    std::ofstream(other) << "text\n";
    overwrites("convert", with(Arguments{model_, other, "--to", "int8"}, input, other), "OUT", input, other);
  }
  overwrites("report", {text_}, "--out", "RESULTS", text_);
  const std::string baselines = (directory_ / "b.csv").string();
  std::ofstream(baselines) << "text\n";
  overwrites("report", {text_, "--baseline", baselines}, "--out", "--baseline", baselines);
  overwrites("generate", {"inputs", "--family", "official", "--neurons", "1024", "--mnist", images_}, "--out",
             "--mnist", images_);
}

TEST_F(Refusals, OfInferNameTheOptionsThatNeedAnother) {
  const auto refused = [&](const Arguments& options) {
    return said_by("infer", joined({"--network", network_, "--inputs", images_}, options));
  };
  EXPECT_EQ(refused({"--checkpoint-every", "15m"}), "--checkpoint-every needs --checkpoint");
  EXPECT_EQ(refused({"--checkpoint", "-"}), "--checkpoint: a checkpoint cannot go to stdout; expected a file");
  for (const Option& option : std::vector<Option>{{"labels", "x"},
                                                  {"expected", "x.npy"},
                                                  {"min-accuracy", "0.5"},
                                                  {"output", "y"},
                                                  {"names", "x"},
                                                  {"logits", "x.npy"},
                                                  {"predictions", "x.npy"},
                                                  {"shape", "N,2"},
                                                  {"first", "1"},
                                                  {"subtract", "1"},
                                                  {"rewrite", "none"},
                                                  {"profile", nullptr},
                                                  {"compile-seconds", "0"}})
    EXPECT_EQ(refused(given(option)), fmt::format("--{} needs --model", option.first));
  for (const Option& option : std::vector<Option>{{"generate", "official"},
                                                  {"bias", "1"},
                                                  {"cap", "none"},
                                                  {"bias-rule", "everywhere"},
                                                  {"allow-missing-newline", nullptr},
                                                  {"plan-device", "cpu"},
                                                  {"checkpoint-every", "15m"},
                                                  {"max-time", "15m"},
                                                  {"activations", "x.npy"},
                                                  {"device-memory", "1G"},
                                                  {"deal", "fixed"}})
    EXPECT_EQ(said_by("infer", joined({"--model", model_, "--inputs", "x.npy"}, given(option))),
              fmt::format("--{} cannot be used with --model", option.first));
  EXPECT_EQ(said_by("infer", {model_, "--inputs", "x.npy"}),
            fmt::format("'{}' is not an option; did you mean --model {}?", model_, model_));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--inputs is missing; usage: spdnn infer --model",
                      said_by("infer", {"--model", model_}));
}

TEST_F(Refusals, OfPagesNameTheOptionsThatNeedOne) {
  EXPECT_EQ(said_by("inspect", {network_, "--layer", "1"}), "--layer needs --html");
  EXPECT_EQ(said_by("inspect", {network_, "--run", text_}), "--run needs --html");
  EXPECT_EQ(said_by("inspect", {model_, "--node", "1"}), "--node needs --html");
  EXPECT_EQ(said_by("inspect", {model_, "--json", "-", "--html", "-"}),
            "--json and --html cannot both be -, which is stdout");
  EXPECT_EQ(said_by("infer", {"--network", network_, "--inputs", images_, "--categories", "-", "--json", "-"}),
            "--categories and --json cannot both be -, which is stdout");
}

TEST_F(Refusals, OfHelpNameWhatIsNoCommand) {
  EXPECT_EQ(said_by("help", {"bench", "l"}), "'bench l' is not a command; see spdnn help bench");
  EXPECT_EQ(said_by("help", {"bench", "suite", "x"}), "'bench suite x' is not a command; see spdnn help bench");
  EXPECT_EQ(said_by("help", {"--completion", "bash", "infer"}),
            "--completion: expected no COMMAND; a script covers all commands");
  EXPECT_EQ(said_by("help", {"--completion", "bash", "--man"}), "--man cannot be used with --completion");
  EXPECT_EQ(said_by("help", {"--completion", "zsh"}), "--completion: 'zsh' is neither bash nor fish");
  EXPECT_EQ(said_by("help", {"--man", "bench", "suite"}), "--man: expected one COMMAND, such as infer or bench");
}

}  // namespace
}  // namespace spdnn::cli
