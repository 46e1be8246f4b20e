// What `spdnn convert` and `spdnn report` make of files, by their options; the fields of images of models; wrapped
// text.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "cli/help_text.hpp"
#include "cli/infer_model.hpp"
#include "cli/model_inputs.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/networks.hpp"
#include "support/small_files.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Arguments;
using testing::joined;

using ConvertedFiles = testing::SmallFiles;

/// The network that `convert IN OUT OPTIONS` makes of the fixture's.
TEST_F(ConvertedFiles, OfConvertAreThoseOfTheNetwork) {
  const std::string text = path("text");
  const std::string out = path("out.spdnn");
  testing::run_command("convert", {network_, text});
  std::filesystem::remove(directory_ / "text/spdnn-network.txt");
  const auto converted = [&](const Arguments& options) {
    const Arguments all = joined({text, out}, options);
    testing::run_command("convert", all);
    return read_network(out, {}).network;
  };
  const Network all = converted({"--bias", "-0.5", "--cap", "8", "--bias-rule", "everywhere", "--layers", "1"});
  EXPECT_EQ(all.layers.size(), 1U);
  EXPECT_EQ(all.layers[0].bias.uniform, -0.5);
  EXPECT_EQ(all.cap, 8);
  EXPECT_EQ(all.bias_rule, BiasRule::everywhere);
  const Network usual = converted({"--bias", "0"});
  EXPECT_EQ(usual.layers.size(), 2U);
  EXPECT_EQ(usual.cap, 32);
  EXPECT_EQ(usual.bias_rule, BiasRule::non_zeros);
}

TEST_F(ConvertedFiles, OfConvertHaveNotesAlsoWhereLayersAreReadOneByOne) {
  const std::string text = path("text");
  testing::run_command("convert", {network_, text});
  std::filesystem::remove(directory_ / "text/spdnn-network.txt");
  std::ofstream(path("text/n3-l1.tsv")).flush();
  const std::string noted =
      testing::run_command("convert", {text, path("out.spdnn"), "--bias", "0", "--host-memory", "8"}).err;
  EXPECT_EQ(noted, "spdnn: note: " + text + "/n3-l1.tsv: the file is empty: a layer without edges\n");
}

TEST_F(ConvertedFiles, OfConvertAreThoseOfTheImages) {
  const std::string text = path("sparse-images-3.tsv");
  const std::string out = path("out.spdnn");
  const auto converted = [&](const std::string& in, const Arguments& options) {
    const Arguments all = joined({in, out}, options);
    testing::run_command("convert", all);
    return read_images(out, {}, {}, nullptr);
  };
  testing::run_command("convert", {images_, text});
  EXPECT_EQ(converted(text, {}).images(), 4U) << "empty ones at the end are not in the text";
  EXPECT_EQ(converted(text, {"--images", "7"}).images(), 7U);
  EXPECT_EQ(converted(text, {}).neurons(), 3U);
  std::filesystem::rename(text, directory_ / "digits.tsv");
  EXPECT_EQ(converted(path("digits.tsv"), {"--kind", "images", "--neurons", "9"}).neurons(), 9U);
}

TEST_F(ConvertedFiles, OfConvertSayWhatTextDoesNotHold) {
  const auto note = [&](double bias, BiasRule rule, std::optional<double> cap) {
    Network network{{testing::make_layer(2, {{{0, 1.F}}, {{1, 1.F}}}, bias)}};
    network.bias_rule = rule;
    network.cap = cap;
    write_network(network_, Form::packed, network);
    const std::string out = path("text");
    std::filesystem::remove_all(out);
    const std::string said = testing::run_command("convert", {network_, out}).err;
    const std::string all = "spdnn: note: " + out + " does not contain all parameters; use infer with";
    return said.starts_with(all) ? said.substr(all.size()) : said;
  };
  EXPECT_EQ(note(-0.5, BiasRule::everywhere, 8), " --bias -0.5 --bias-rule everywhere --cap 8\n");
  EXPECT_EQ(note(0.25, BiasRule::non_zeros, std::nullopt), " --bias 0.25 --cap none\n");
  EXPECT_EQ(testing::run_command("convert", {network_, path("out.spdnn")}).err, "") << "a packed file holds them";
}

TEST_F(ConvertedFiles, OfReportChooseFilesAndForm) {
  Arguments infer{"--network", network_, "--inputs", images_, "--verify", "all", "--json", json_, "--variant"};
  const std::string results = path("results");
  std::filesystem::create_directories(results);
  for (const auto& [variant, file] : std::vector<std::pair<const char*, const char*>>{
           {"cpu_openmp", "results/a.jsonl"}, {"cpu_reference", "results/b.json"}, {"cpu_openmp", "results/c.txt"}}) {
    infer.emplace_back(variant);
    testing::run_command("infer", infer);
    infer.pop_back();
    // As of a build without changes, whatever this one is.
    std::ofstream(path(file)) << std::regex_replace(text_of_file(json_), std::regex(R"("build":\{[^}]*\})"),
                                                    R"("build":{"version":"0.1.0","commit":"abc","dirty":false})");
  }
  const std::string csv = testing::run_command("report", {results, "--format", "csv"}).out;
  EXPECT_NE(csv.find("cpu_openmp"), std::string::npos) << csv;
  EXPECT_NE(csv.find("cpu_reference"), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << "a head and a line for each";
  EXPECT_EQ(testing::run_command("report", {results, "--format", "csv", "--table", "submission"}).out, csv);
  const auto written = [&](const char* name, const Arguments& options = {}) {
    const Arguments all = joined({results, "--out", path(name), "--title", "Of <all>"}, options);
    EXPECT_EQ(testing::run_command("report", all).out, "");
    return text_of_file(path(name));
  };
  EXPECT_EQ(written("r.csv"), csv);
  EXPECT_TRUE(written("r.md").starts_with("# Of &lt;all>\n"));
  EXPECT_TRUE(written("r").starts_with("# Of "));
  EXPECT_TRUE(written("r.html").starts_with("<!"));
  EXPECT_NE(written("r.tex").find("\\begin{"), std::string::npos);
  EXPECT_TRUE(written("r.html", {"--format", "md"}).starts_with("# Of ")) << "what is asked for counts";
  EXPECT_EQ(testing::message_of<UsageError>([&] { written("r.pdf"); }),
            "--out: '" + path("r.pdf") + "' does not end in .md, .csv, .tex or .html: give --format");
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              written("r.md", {"--table", "submission"});
            }),
            "--table: only csv holds a single table, but the format is md");
}

TEST_F(ConvertedFiles, OfImagesOfModelsHaveEachItsField) {
  const auto parsed = [](const Arguments& arguments) {
    cli::OptionGroup group;
    cli::add_model_inputs(group.options);
    cli::po::variables_map values;
    cli::parse(arguments, {.name = "test", .summary = "", .usage = "spdnn test", .groups = {group}}, values);
    return cli::model_inputs(values);
  };
  using Floats = std::vector<float>;
  const ModelInputs all = parsed({"--inputs", "x.npy", "--table", "t.npy", "--layout", "NHWC", "--first", "7",
                                  "--subtract", "1,2", "--divide", "3,4"});
  EXPECT_EQ(all.path, "x.npy");
  EXPECT_TRUE(all.pictures.empty());
  EXPECT_EQ(all.table, "t.npy");
  EXPECT_TRUE(all.channels_last);
  EXPECT_EQ(all.images, 7U);
  EXPECT_EQ(all.subtract, (Floats{1, 2}));
  EXPECT_EQ(all.divide, (Floats{3, 4}));
  const ModelInputs normed = parsed({"--inputs", "a.png", "b.png", "--mean", "0.5", "--std", "0.25"});
  EXPECT_EQ(normed.path, "");
  EXPECT_EQ(normed.pictures.size(), 2U);
  EXPECT_EQ(normed.mean, Floats{0.5});
  EXPECT_EQ(normed.deviation, Floats{0.25});
  EXPECT_FALSE(normed.channels_last || normed.images || !normed.table.empty());
  EXPECT_TRUE(normed.subtract.empty() && normed.divide.empty());
  const auto refused = [&](const Arguments& arguments) {
    return testing::message_of<UsageError>([&] { parsed(arguments); });
  };
  EXPECT_EQ(refused({"--inputs", "x", "--layout", "hwc"}), "--layout: 'hwc' is neither nchw nor nhwc");
  for (const char* const bytes : {"mean", "std"})
    for (const char* const numbers : {"subtract", "divide"})
      EXPECT_EQ(refused({"--inputs", "x", std::string("--") + bytes, "1", std::string("--") + numbers, "1"}),
                fmt::format("--{} cannot be used with --{}", numbers, bytes));
  EXPECT_EQ(refused({"--inputs", "x", "--first", "0"}), "--first: 0 is outside 1..2147483647");
  EXPECT_EQ(refused({"--inputs", "x", "--divide", "1,x"}), "--divide: 'x' is not a number");
}

TEST(Shapes, HaveAnyNumberOfImagesOnTheFirstAxisAlone) {
  EXPECT_EQ(cli::parse_shape("N,3,4"), (Shape{kBatchExtent, 3, 4}));
  EXPECT_EQ(cli::parse_shape("N x 3 x 4"), (Shape{kBatchExtent, 3, 4})) << "as reports have it";
  EXPECT_EQ(cli::parse_shape("2,3"), (Shape{2, 3}));
  for (const char* const wrong : {"3,N", "N,N", "2,0", "", "n,3", "2,,3"})
    EXPECT_THROW(cli::parse_shape(wrong), UsageError) << wrong;
}

TEST(HelpText, LinesHaveAsManyColumnsAsThereAre) {
  EXPECT_EQ(cli::wrapped("one two three", 7), "one two\nthree\n");
  EXPECT_EQ(cli::wrapped("one two three", 6), "one\ntwo\nthree\n");
  EXPECT_EQ(cli::wrapped("one two three", 8, 2), "one two\n  three\n");
  EXPECT_EQ(cli::wrapped("one two three", 9, 2), "one two\n  three\n");
  EXPECT_EQ(cli::wrapped("a bb ccc", 6, 2), "a bb\n  ccc\n");
  EXPECT_EQ(cli::wrapped("  much   room ", 80), "much room\n");
  EXPECT_EQ(cli::wrapped("longer than that", 3), "longer\nthan\nthat\n");
}

}  // namespace
}  // namespace spdnn
