// What `spdnn generate` says that it has made, and that each of its options changes what is made.

#include "data/generate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

std::string printed_by_generate(const cli::Arguments& arguments) {
  return testing::run_command("generate", arguments).out;
}

class Generate : public ::testing::Test {
 protected:
  /// What is printed after the name of the file.
  std::string said(cli::Arguments arguments, const char* name) {
    out_ = (directory_ / name).string();
    arguments.insert(arguments.end(), {"--out", out_});
    const std::string printed = printed_by_generate(arguments);
    EXPECT_TRUE(printed.starts_with(out_ + ": ")) << printed;
    return printed.substr(std::min(printed.size(), out_.size() + 2));
  }
  std::string bytes() const { return text_of_file(out_); }

  TemporaryDirectory directory_;
  std::string out_;
};

TEST_F(Generate, SaysWhatWasMade) {
  EXPECT_EQ(said({"network", "--family", "official", "--neurons", "1024", "--layers", "2"}, "n.spdnn"),
            "official network, 1024 neurons, 2 layers, 65536 edges, bias -0.3, cap 32\n");
  EXPECT_EQ(
      said({"network", "--family", "official", "--neurons", "1024", "--layers", "3", "--host-memory", "1k"}, "n.spdnn"),
      "official network, 1024 neurons, 3 layers, 98304 edges, bias -0.3, cap 32\n")
      << "made layer by layer";
  EXPECT_EQ(
      said({"network", "--family", "random", "--neurons", "64", "--layers", "3", "--degree", "4", "--bias", "-0.25"},
           "n.spdnn"),
      "random network, 64 neurons, 3 layers, 768 edges, bias -0.25, cap 32\n");
  EXPECT_EQ(said({"network", "--family", "radixnet", "--neurons", "256", "--layers", "3", "--degree", "4"}, "net"),
            "radixnet network, 256 neurons, 3 layers, 3072 edges, bias 0, cap 32\n");
  const std::string images = said({"inputs", "--family", "digits", "--neurons", "64", "--images", "3"}, "i.spdnn");
  const ImageSet made = read_images(out_, {}, {}, nullptr);
  EXPECT_EQ(made.images(), 3U);
  EXPECT_EQ(images, fmt::format("digits images, 3 of 64 neurons, {} non-zeros ({:.2f} %)\n", made.nonzeros(),
                                100.0 * static_cast<double>(made.nonzeros()) / (3 * 64)));
  EXPECT_EQ(said({"tensors", "--shape", "2,3,4"}, "t.npy"), "2 x 3 x 4 numbers in [-1, 1)\n");
  EXPECT_EQ(said({"model", "--family", "lenet5", "--sparsity", "0.5,0.9,0.99,0"}, "m.onnx"),
            "lenet5 model, 430500 weights, 11750 of them non-zero\n");
}

/// Each made of one more option than the one before it.
TEST_F(Generate, HasEachOfItsOptions) {
  const auto all_differ = [&](cli::Arguments arguments, const std::vector<cli::Arguments>& options, const char* name) {
    std::vector<std::string> made;
    said(arguments, name);
    made.push_back(bytes());
    for (const cli::Arguments& option : options) {
      arguments.insert(arguments.end(), option.begin(), option.end());
      said(arguments, name);
      made.push_back(bytes());
      EXPECT_NE(made.back(), made[made.size() - 2]) << option[0];
    }
  };
  const std::vector<cli::Arguments> of_networks{
      {"--degree", "4"}, {"--bias", "-0.25"}, {"--weights", "normal:0.5:0.25"}, {"--seed", "3"}};
  for (const char* const family : {"random", "radixnet"})
    all_differ({"network", "--family", family, "--neurons", "256", "--layers", "3"}, of_networks, "n.spdnn");
  all_differ({"inputs", "--family", "digits", "--neurons", "64", "--images", "3"}, {{"--seed", "3"}}, "i.spdnn");
  all_differ({"tensors", "--shape", "2,3"}, {{"--seed", "3"}}, "t.npy");
  all_differ(
      {"model", "--family", "lenet5"},
      {{"--sparsity", "0.95"}, {"--rows", "uniform"}, {"--classes", "7"}, {"--shape", "1,32,24"}, {"--seed", "3"}},
      "m.spdnn");
  const Model model = read_model(out_, {});
  EXPECT_EQ(model.values[model.inputs.front()].shape, (Shape{kBatchExtent, 1, 32, 24}));
  EXPECT_EQ(model.values[model.outputs.front()].shape, (Shape{kBatchExtent, 7}));
  // What is not given is the documented value.
  for (const auto& [fewer, option] : std::vector<std::pair<cli::Arguments, cli::Arguments>>{
           {{"network", "--family", "random", "--neurons", "64", "--layers", "2"}, {"--degree", "32"}},
           {{"network", "--family", "random", "--neurons", "64", "--layers", "2"}, {"--seed", "1"}},
           {{"network", "--family", "random", "--neurons", "64", "--layers", "2"}, {"--weights", "constant:0.0625"}},
           {{"network", "--family", "random", "--neurons", "64", "--layers", "2"}, {"--bias", "0"}},
           {{"inputs", "--family", "digits", "--neurons", "64", "--images", "3"}, {"--seed", "1"}},
           {{"tensors", "--shape", "2,3"}, {"--seed", "1"}}}) {
    const char* const name = fewer[0] == "tensors" ? "t.npy" : "x.spdnn";
    said(fewer, name);
    const std::string made = bytes();
    cli::Arguments with = fewer;
    with.insert(with.end(), option.begin(), option.end());
    said(with, name);
    EXPECT_EQ(bytes(), made) << option[0];
  }
}

TEST_F(Generate, NamesWhatIsMissingOrUnknown) {
  const auto refused = [&](cli::Arguments arguments) {
    return testing::message_of<UsageError>([&] { printed_by_generate(arguments); });
  };
  const std::string out = (directory_ / "out.spdnn").string();
  const std::vector<std::pair<std::string, std::string>> network{
      {"family", "random"}, {"neurons", "64"}, {"layers", "2"}, {"out", out}};
  const auto without = [&](const char* kind, const std::vector<std::pair<std::string, std::string>>& options) {
    for (const auto& [missing, value] : options) {
      cli::Arguments arguments{kind};
      for (const auto& [name, text] : options)
        if (name != missing) arguments.insert(arguments.end(), {"--" + name, text});
      EXPECT_TRUE(refused(arguments).starts_with("--" + missing + " is missing; usage: spdnn generate " + kind))
          << refused(arguments);
    }
  };
  without("network", network);
  without("inputs", {{"family", "digits"}, {"neurons", "64"}, {"out", out}});
  without("model", {{"family", "lenet5"}, {"out", out}});
  without("tensors", {{"shape", "2,3"}, {"out", out}});
  EXPECT_TRUE(
      refused({"inputs", "--family", "official", "--neurons", "1024", "--out", out}).starts_with("--mnist is missing"));
  const auto unknown = [&](const char* kind, const char* family) {
    return refused({kind, "--family", family, "--neurons", "64", "--layers", "2", "--out", out});
  };
  EXPECT_EQ(unknown("network", "other"),
            "--family: 'other' is not a family of networks; expected official, radixnet or random");
  EXPECT_EQ(refused({"inputs", "--family", "other", "--neurons", "64", "--out", out}),
            "--family: 'other' is not a family of inputs; expected official or digits");
  EXPECT_EQ(refused({"tensors", "--shape", "N,3", "--out", out}), "--shape: 'N' is not a number of images");
  for (const char* const seed : {"-1", "1.5", "x", "18446744073709551616"})
    EXPECT_EQ(refused({"tensors", "--shape", "2,3", "--out", out, "--seed", seed}),
              "--seed: '" + std::string(seed) + "' is not a whole number from 0 to 2^64-1");
  EXPECT_TRUE(
      refused({"model", "--family", "lenet5", "--out", "m.tflite"}).starts_with("--out: 'm.tflite' does not end in"));
  EXPECT_TRUE(refused({}).starts_with("generate: expected network, inputs, model or tensors; usage: "));
  EXPECT_TRUE(refused({"models"}).starts_with("generate: expected network, inputs, model or tensors; usage: "));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace spdnn
