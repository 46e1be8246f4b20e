#include "io/networks/outputs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/networks/directory/manifest.hpp"
#include "spdnn/error.hpp"
#include "support/hostile_files.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    fs::create_directory(net_);
    for (const std::string& name : {std::string("n4-l1.tsv"), std::string("notes"), std::string(kManifestName)})
      written(net_ / name, "text");
    written(directory_ / "in.npy", "text");
  }
  /// The problem of outputs --a, --b, ... and inputs --in1, --in2, ..., without this directory's name.
  std::string problem(const std::vector<fs::path>& outputs, const std::vector<fs::path>& inputs) const {
    std::vector<NamedOutput> given;
    for (const fs::path& path : outputs) given.push_back({std::string("--") + char('a' + int(given.size())), path});
    return problem_of(given, inputs);
  }
  std::string problem_of(const std::vector<NamedOutput>& outputs, const std::vector<fs::path>& inputs) const {
    std::vector<NamedInput> read;
    for (const fs::path& path : inputs) read.push_back({"--in" + std::to_string(read.size() + 1), path});
    std::string text = testing::message_of<Error>([&] { check_outputs(outputs, read); });
    const std::string place = directory_.path().string() + "/";
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place))
      text.erase(at, place.size());
    return text;
  }

  TemporaryDirectory directory_;
  fs::path net_ = directory_ / "net";
};

TEST_F(Outputs, AreNoInputsUnderAnyName) {
  const fs::path in = directory_ / "in.npy";
  fs::create_hard_link(in, directory_ / "hard");
  fs::create_symlink("in.npy", directory_ / "soft");
  EXPECT_EQ(problem({directory_ / "new"}, {in}), "no error");
  for (const char* name : {"in.npy", "hard", "soft", "net/../in.npy"})
    EXPECT_EQ(problem({directory_ / "new", directory_ / name}, {net_, in}),
              "--b " + std::string(name) + ": would overwrite --in2 in.npy, expected another name");
}

TEST_F(Outputs, AreAllDifferent) {
  const fs::path out = written(directory_ / "out", "old");
  fs::create_hard_link(out, directory_ / "hard");
  fs::create_symlink("out", directory_ / "soft");
  fs::create_symlink("new", directory_ / "dangling");
  EXPECT_EQ(problem({directory_ / "new", out, directory_ / "newer"}, {}), "no error");
  for (const char* name : {"out", "hard", "soft"})
    EXPECT_EQ(problem({directory_ / "new", out, directory_ / name}, {}),
              "--c " + std::string(name) + ": would overwrite --b out, expected another name");
  EXPECT_EQ(problem({directory_ / "dangling", directory_ / "new"}, {}),
            "--b new: would overwrite --a dangling, expected another name");
}

TEST_F(Outputs, MayShareDevicesAndPipes) {
  EXPECT_EQ(problem({"/dev/null", "/dev/null", directory_ / "new"}, {"/dev/null"}), "no error");
}

TEST_F(Outputs, AreNoPartOfANetworkThatIsRead) {
  const auto part = [](const std::string& name) {
    return "--a net/" + name + ": would be read as part of --in1 net, expected another name";
  };
  for (const std::string& name : {std::string("n4-l1.tsv"), std::string("n4-l2.tsv"), std::string("N4-L2.TSV"),
                                  std::string("n4-l1-bias.tsv"), std::string(kManifestName)})
    EXPECT_EQ(problem({net_ / name}, {net_}), part(name));
  for (const char* name : {"notes", "n4-l2.txt", "new"}) EXPECT_EQ(problem({net_ / name}, {net_}), "no error");
  EXPECT_EQ(problem({directory_ / "n4-l2.tsv"}, {net_}), "no error") << "beside it";
  // Another name for a file of the network.
  fs::create_hard_link(net_ / "n4-l1.tsv", directory_ / "hard");
  fs::create_hard_link(net_ / kManifestName, directory_ / "listed");
  fs::create_hard_link(net_ / "notes", directory_ / "free");
  EXPECT_EQ(problem({directory_ / "hard"}, {net_}),
            "--a hard: would overwrite n4-l1.tsv of --in1 net, expected another name");
  EXPECT_EQ(problem({directory_ / "listed"}, {net_}),
            "--a listed: would overwrite " + std::string(kManifestName) + " of --in1 net, expected another name");
  EXPECT_EQ(problem({directory_ / "free"}, {net_}), "no error");
}

TEST_F(Outputs, ADirectoryOfLayersIsNotTheOneThatALayerIsReadFrom) {
  const NamedOutput out{"OUT", net_, true};
  EXPECT_EQ(problem_of({out}, {net_ / "n4-l1.tsv"}),
            "OUT net: would overwrite --in1 net/n4-l1.tsv, expected another name");
  EXPECT_EQ(problem_of({out}, {net_ / "notes"}), "no error");
  EXPECT_EQ(problem_of({out}, {net_}), "OUT net: would overwrite --in1 net, expected another name");
  EXPECT_EQ(problem_of({{"OUT", directory_ / "other", true}}, {net_ / "n4-l1.tsv"}), "no error");
  const fs::path before = fs::current_path();
  fs::current_path(net_);
  EXPECT_EQ(problem_of({{"OUT", ".", true}}, {"n4-l1.tsv"}),
            "OUT .: would overwrite --in1 n4-l1.tsv, expected another name");
  fs::current_path(before);
  EXPECT_EQ(fs::exists(directory_ / "other"), false) << "nothing is left of the attempt";
  EXPECT_EQ(std::distance(fs::directory_iterator(net_), fs::directory_iterator()), 3);
}

TEST_F(Outputs, WhereNoFileCanBeMadeAreRefused) {
  EXPECT_EQ(problem({directory_ / "absent" / "x"}, {}), "absent/x: cannot write: No such file or directory");
}

}  // namespace
}  // namespace spdnn
