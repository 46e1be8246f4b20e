#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/system/descriptor.hpp"
#include "io/files/directory_lock.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/directory/replacement.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

constexpr Index kWidth = 4;

/// A network whose weights are all `weight`, so that each layer shows its network.
Network weighted_network(std::size_t layers, float weight, bool biases = false) {
  Network network;
  for (std::size_t k = 0; k < layers; ++k) {
    Layer layer;
    layer.weights = make_csr(kWidth, kWidth, {0, 1, 2, 3, 4}, {1, 2, 3, 0}, {weight, weight, weight, weight});
    if (biases) layer.bias.values = Array<double>(std::vector<double>{weight, 0, 0, static_cast<double>(k)});
    network.layers.push_back(std::move(layer));
  }
  return network;
}

/// The error of reading the network as a whole. One with a manifest is refused as well where its layers are read one at
/// a time.
std::string error_of_reading(const fs::path& directory, const NetworkRequest& request = {}) {
  std::string error = testing::message_of<DataError>([&] { read_network(directory, request); });
  const std::string one_at_a_time = testing::message_of<DataError>([&] {
    const auto stream = open_layer_files(directory, request);
    for (Index k = 0; stream && k < stream->layers->shapes().size(); ++k) stream->layers->read(k);
  });
  EXPECT_TRUE(!exists(directory / kManifestName) || (one_at_a_time == "no error") == (error == "no error"))
      << one_at_a_time;
  const std::string path = directory.string();
  for (std::size_t at = error.find(path); at != std::string::npos; at = error.find(path))
    error.replace(at, path.size(), "D");
  return error;
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

ino_t inode(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::size_t entries_in(const fs::path& path) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

class NetworkDirectoryTest : public ::testing::Test {
 protected:
  void write(const Network& network) { write_network(net_, Form::tsv, network); }
  /// The weight of the network that is read, which all of its layers have.
  float weight_read(std::size_t layers) {
    const Network network = read_network(net_, {}).network;
    EXPECT_EQ(network.layers.size(), layers);
    return network.layers.at(0).weights.entry_value(0);
  }

  TemporaryDirectory scratch_;
  fs::path net_ = scratch_ / "net";
};

TEST_F(NetworkDirectoryTest, IsReplacedWholeByANetworkOfAnyDepth) {
  write(weighted_network(3, 1));
  fs::permissions(net_, fs::perms(0710));
  fs::permissions(net_ / "n4-l1.tsv", fs::perms(0640));
  write(weighted_network(2, 2, true));
  EXPECT_EQ(weight_read(2), 2);
  EXPECT_EQ(entries_in(net_), 5U);
  EXPECT_EQ(fs::status(net_).permissions(), fs::perms(0710));
  EXPECT_EQ(fs::status(net_ / "n4-l1.tsv").permissions(), fs::perms(0640));
  write(weighted_network(4, 3));
  EXPECT_EQ(weight_read(4), 3);
  EXPECT_EQ(entries_in(net_), 5U);
  EXPECT_EQ(entries_in(scratch_.path()), 1U);
}

TEST_F(NetworkDirectoryTest, ThatIsEmptyOrHoldsOtherFilesIsFilled) {
  fs::create_directory(net_);
  fs::permissions(net_, fs::perms(0700));
  const ino_t before = inode(net_);
  write(weighted_network(3, 1));
  EXPECT_EQ(weight_read(3), 1);
  put(net_ / "notes", "mine");
  write(weighted_network(2, 5, true));
  EXPECT_EQ(weight_read(2), 5);
  EXPECT_TRUE(read_network(net_, {}).has_bias);
  EXPECT_EQ(read_network(net_, {}).network.layers[1].bias[0], 5);
  write(weighted_network(2, 2));
  EXPECT_EQ(weight_read(2), 2);
  EXPECT_EQ(inode(net_), before);
  EXPECT_EQ(fs::status(net_).permissions(), fs::perms(0700));
  EXPECT_EQ(entries_in(net_), 4U);  // the notes, two layers, the manifest
  EXPECT_EQ(entries_in(scratch_.path()), 1U);
}

TEST_F(NetworkDirectoryTest, WhatAKilledWriterLeftGoesWithTheNext) {
  for (const bool beside : {true, false}) {
    write(weighted_network(2, 1));
    if (!beside) put(net_ / "notes", "so that files are replaced one by one");
    const auto entries = [&] { return entries_in(net_) + entries_in(scratch_.path()); };
    const std::size_t before = entries();
    const pid_t process = ::fork();
    if (process == 0) {
      const NetworkDirectory place(net_, {"n4-l1.tsv"});
      ::kill(::getpid(), SIGKILL);
    }
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    EXPECT_EQ(entries(), before + 1);
    write(weighted_network(2, 2));
    EXPECT_EQ(entries(), before);
    EXPECT_EQ(weight_read(2), 2);
  }
}

TEST_F(NetworkDirectoryTest, WithoutManifestKeepsLayersThatAreNoneOfTheNewOnes) {
  write(weighted_network(3, 1));
  fs::remove(net_ / kManifestName);
  EXPECT_EQ(testing::message_of<DataError>([&] { write(weighted_network(2, 2)); }),
            (net_ / "n4-l3.tsv").string() +
                ": is not part of the network to be written there, expected a directory without it");
  EXPECT_EQ(weight_read(3), 1);
  write(weighted_network(3, 2));
  EXPECT_EQ(weight_read(3), 2);
}

TEST_F(NetworkDirectoryTest, AMixtureIsRefused) {
  write(weighted_network(3, 1, true));
  write_network(scratch_ / "other", Form::tsv, weighted_network(3, 2, true));
  constexpr const char* kAdvice = "; write the network again, or delete spdnn-network.txt if this is meant";
  constexpr const char* kChanged =
      ": differs from its entry in spdnn-network.txt: it belongs to another network, or was changed after it was "
      "written";
  for (const std::string name : {"n4-l2.tsv", "n4-l3-bias.tsv"}) {
    fs::rename(net_ / name, scratch_ / "kept");
    fs::copy(scratch_ / "other" / name, net_ / name);
    EXPECT_EQ(error_of_reading(net_), "D/" + name + kChanged + kAdvice);
    EXPECT_NE(error_of_reading(net_ / (name.substr(0, 5) + ".tsv")), "no error");  // as a network of one layer
    EXPECT_EQ(error_of_reading(net_, {.layers = 1}), "no error");
    fs::rename(scratch_ / "kept", net_ / name);
    EXPECT_EQ(error_of_reading(net_), "no error");
  }
}

TEST_F(NetworkDirectoryTest, LostAndAddedFilesAreNamed) {
  constexpr const char* kAdvice = "; write the network again, or delete spdnn-network.txt if this is meant";
  write(weighted_network(2, 1, true));
  fs::copy(net_ / "n4-l2.tsv", net_ / "n4-l3.tsv");
  fs::copy(net_ / "n4-l2-bias.tsv", net_ / "n4-l3-bias.tsv");
  EXPECT_EQ(error_of_reading(net_),
            std::string("D/n4-l3.tsv: is not part of the network listed in spdnn-network.txt") + kAdvice);
  EXPECT_EQ(error_of_reading(net_, {.layers = 2}), "no error");
  for (const char* const name : {"n4-l3.tsv", "n4-l3-bias.tsv", "n4-l2.tsv", "n4-l2-bias.tsv"}) fs::remove(net_ / name);
  EXPECT_EQ(error_of_reading(net_), std::string("D/n4-l2.tsv: no such file, but spdnn-network.txt lists it") + kAdvice);
  EXPECT_EQ(error_of_reading(net_, {.layers = 1}), "no error");
  fs::remove(net_ / "n4-l1-bias.tsv");
  EXPECT_EQ(error_of_reading(net_),
            std::string("D/n4-l1-bias.tsv: no such file, but spdnn-network.txt lists it") + kAdvice);
  fs::remove(net_ / kManifestName);
  EXPECT_EQ(error_of_reading(net_), "no error");
}

TEST_F(NetworkDirectoryTest, ThatAWriterLeftHalfWayIsRefusedUntilItIsWrittenAgain) {
  write(weighted_network(3, 1));
  put(net_ / "notes", "mine");
  NetworkManifest manifest = *read_manifest(net_);
  manifest.complete = false;
  put(net_ / kManifestName, manifest.text());
  EXPECT_EQ(error_of_reading(net_),
            "D: its files were being replaced when the writer was stopped; write the network again");
  EXPECT_EQ(error_of_reading(net_, {.layers = 1}), error_of_reading(net_));
  write(weighted_network(2, 2));
  EXPECT_EQ(weight_read(2), 2);
}

TEST_F(NetworkDirectoryTest, AManifestThatIsNoneIsNamed) {
  write(weighted_network(1, 1));
  const auto error_with = [&](const std::string& text) {
    put(net_ / kManifestName, text);
    return error_of_reading(net_);
  };
  constexpr const char* kLine = ":1: expected a digest of 16 digits, two spaces and the name of a layer file";
  EXPECT_EQ(error_with("hello\n"),
            "D/spdnn-network.txt:1:1: expected 'spdnn-network-1 complete' or 'spdnn-network-1 incomplete'");
  EXPECT_EQ(error_with("spdnn-network-1 complete\n0123\n"), std::string("D/spdnn-network.txt:2") + kLine);
  for (const char* const between : {"", " ", "   ", "--", " x", "x ", "\t\t"})
    EXPECT_EQ(error_with(std::string("spdnn-network-1 complete\n0123456789abcdef") + between + "n4-l1.tsv\n"),
              std::string("D/spdnn-network.txt:2") + kLine);
  // A writer would remove what is named here.
  EXPECT_EQ(error_with("spdnn-network-1 complete\n0123456789abcdef  ../n4-l1.tsv\n"),
            std::string("D/spdnn-network.txt:2") + kLine);
  fs::remove(net_ / kManifestName);
  fs::create_directory(net_ / kManifestName);
  EXPECT_EQ(error_of_reading(net_), "D/spdnn-network.txt: cannot read: it is a directory, expected a file");
}

TEST_F(NetworkDirectoryTest, HoldsAsManyLayersAsNeuronsAreGiven) {
  write(weighted_network(3, 1));
  const std::vector<Index> two{4, 4, 4};
  EXPECT_EQ(error_of_reading(net_, {.neurons = two, .layers = 2}), "no error");
  EXPECT_EQ(error_of_reading(net_, {.neurons = two, .layers = 1}), "no error");
  EXPECT_EQ(error_of_reading(net_, {.neurons = two}), "D: holds 3 layers, expected 2: 3 numbers of neurons were given");
  EXPECT_EQ(error_of_reading(net_, {.neurons = two, .layers = 3}),
            "D: 3 layers were requested, expected at most 2: 3 numbers of neurons were given");
}

TEST_F(NetworkDirectoryTest, LayersTogetherClaimNoMoreNeuronsThanTheirTextMayHave) {
  fs::create_directory(net_);
  for (const char* const name : {"n600000-l1.mtx", "n600000-l2.mtx"})
    put(net_ / name, "%%MatrixMarket matrix coordinate real general\n600000 600000 1\n1 1 1\n");
  EXPECT_EQ(error_of_reading(net_, {.layers = 1}), "no error");
  EXPECT_EQ(error_of_reading(net_).substr(0, 57), "D: 1200000 neurons and more, expected at most 1048593 in ");
  EXPECT_EQ(error_of_reading(net_, {.neurons = {600000}}), "no error");
}

TEST_F(NetworkDirectoryTest, WithoutManifestIsReadWholeWhereAnotherTakesItsPlace) {
  write(weighted_network(3, 1));
  write_network(scratch_ / "other", Form::tsv, weighted_network(3, 2));
  for (const fs::path& place : {net_, scratch_ / "other"}) fs::remove(place / kManifestName);
  const auto stream = open_layer_files(net_, {.neurons = {kWidth}});
  bool replaced = false;
  NetworkRequest request;
  request.progress = [&](const ProgressUpdate& update) {
    if (replaced || update.done == 0) return;
    replaced = true;
    fs::rename(net_, scratch_ / "old");
    fs::rename(scratch_ / "other", net_);
  };
  const Network network = read_network(net_, request).network;
  EXPECT_TRUE(replaced);
  for (const Layer& layer : network.layers) EXPECT_EQ(layer.weights.entry_value(0), 2);
  EXPECT_EQ(testing::message_of<DataError>([&] { stream->layers->read(1); }),
            net_.string() + ": was replaced during reading; read it again once its writer has finished");
}

TEST_F(NetworkDirectoryTest, FilesHaveTheEndingsOfTheirForm) {
  for (const auto& [form, weights, biases] : {std::tuple{Form::tsv, ".tsv", ".tsv"},
                                              {Form::tsv_gz, ".tsv.gz", ".tsv.gz"},
                                              {Form::matrix_market, ".mtx", ".tsv"}}) {
    fs::remove_all(net_);
    write_network(net_, form, weighted_network(2, 1, true));
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(net_)) names.insert(entry.path().filename().string());
    std::set<std::string> expected{std::string(kManifestName)};
    for (const std::string layer : {"n4-l1", "n4-l2"}) expected.insert({layer + weights, layer + "-bias" + biases});
    EXPECT_EQ(names, expected);
  }
}

TEST_F(NetworkDirectoryTest, BiasesThatDifferNeedFiles) {
  Network network = weighted_network(3, 1);
  EXPECT_FALSE(needs_bias_files(network));
  for (Layer& layer : network.layers) layer.bias.uniform = -0.3;
  EXPECT_FALSE(needs_bias_files(network));
  network.layers[2].bias.uniform = -0.35;
  EXPECT_TRUE(needs_bias_files(network));
  write(network);
  const NetworkFile read = read_network(net_, {});
  EXPECT_TRUE(read.has_bias);
  for (std::size_t k = 0; k < 3; ++k)
    for (Index j = 0; j < kWidth; ++j) EXPECT_EQ(read.network.layers[k].bias[j], network.layers[k].bias[j]);
  network.layers[2].bias = {-0.3, Array<double>({-0.3, -0.3, -0.3, -0.3})};
  EXPECT_TRUE(needs_bias_files(network));
}

TEST(LayerNames, AreOfNumbersThatAnIndexHolds) {
  const auto parsed = [](const std::string& name) {
    const auto made = parse_layer_name(name);
    return made ? fmt::format("{} {}{}", made->neurons, made->layer, made->bias ? " bias" : "") : "none";
  };
  EXPECT_EQ(parsed("n4-l12.tsv"), "4 12");
  EXPECT_EQ(parsed("n4-l12-bias.tsv.gz"), "4 12 bias");
  EXPECT_EQ(parsed("n2147483647-l2147483647.mtx"), "2147483647 2147483647");
  EXPECT_EQ(parsed("n4-l0.tsv"), "4 0");
  for (const char* const name : {"n2147483648-l1.tsv", "n4-l2147483648.tsv", "n4294967295-l1.tsv", "n4294967297-l1.tsv",
                                 "n0-l1.tsv", "n-4-l1.tsv", "n4-l.tsv", "n4-l1", "n4-l1.tsv.orig", "n4-l1-bias.mtx",
                                 "xn4-l1.tsv", "N4-l1.tsv", "n4-l1.csv", ""})
    EXPECT_EQ(parsed(name), "none") << name;
}

TEST_F(NetworkDirectoryTest, OfUnsortedRowsIsReadAsItWasWritten) {
  Network network = weighted_network(1, 1);
  network.layers[0].weights = make_csr(kWidth, kWidth, {0, 3, 3, 3, 3}, {2, 0, 1}, {1, 2, 3});
  for (const Form form : {Form::tsv, Form::tsv_gz, Form::matrix_market}) {
    fs::remove_all(net_);
    write_network(net_, form, network);
    EXPECT_EQ(error_of_reading(net_), "no error");
  }
}

TEST_F(NetworkDirectoryTest, AnEqualNetworkInItsPlaceIsAnotherState) {
  for (const bool beside : {true, false}) {
    write(weighted_network(2, 1));
    if (!beside) put(net_ / "notes", "so that files are replaced one by one");
    const NetworkState before(net_);
    EXPECT_EQ(NetworkState(net_), before);
    write(weighted_network(2, 1));
    EXPECT_NE(NetworkState(net_), before);
  }
}

constexpr std::chrono::milliseconds kShort(10);

/// Whether a process waits for a lock on this inode.
bool is_waited_for(ino_t number) {
  std::ifstream locks("/proc/locks");
  const std::string place = ":" + std::to_string(number) + " ";
  for (std::string line; std::getline(locks, line);)
    if (line.find("-> FLOCK") != std::string::npos && line.find(place) != std::string::npos) return true;
  return false;
}

TEST_F(NetworkDirectoryTest, AReaderWhoHasWaitedLocksTheDirectoryThatIsThereThen) {
  write(weighted_network(1, 1));
  const fs::path old = net_.string() + ".old";
  const ino_t before = inode(net_);
  Descriptor writer = lock_directory(net_, DirectoryLock::exclusive);
  Descriptor reader;
  std::thread reading([&] { reader = lock_directory(net_, DirectoryLock::shared); });
  for (int i = 0; i < 6000 && !is_waited_for(before); ++i) std::this_thread::sleep_for(kShort);
  fs::rename(net_, old);
  fs::create_directory(net_);
  writer = Descriptor();
  reading.join();
  struct stat locked {};
  ASSERT_EQ(::fstat(reader.get(), &locked), 0);
  EXPECT_EQ(locked.st_ino, inode(net_));
  EXPECT_NE(locked.st_ino, before);
}

/// Each time that the network is about to be read, another is written in its place, or its writer waits.
TEST_F(NetworkDirectoryTest, WritersWaitWhereItWasReplacedAgainAndAgain) {
  write(weighted_network(3, 1));
  std::vector<std::future<void>> writers;
  NetworkRequest request;
  request.progress = [&](const ProgressUpdate& update) {
    if (update.over || update.done > 0) return;
    const ino_t there = inode(net_);
    const auto weight = static_cast<float>(writers.size() + 2);
    writers.push_back(std::async(std::launch::async, [this, weight] { write(weighted_network(3, weight)); }));
    const auto is_written = [&] { return writers.back().wait_for(kShort) == std::future_status::ready; };
    for (int i = 0; i < 6000 && !is_written() && !is_waited_for(there); ++i) continue;
  };
  const Network network = read_network(net_, request).network;
  EXPECT_EQ(network.layers.at(0).weights.entry_value(0), static_cast<float>(writers.size()));
  EXPECT_GT(writers.size(), 1U);
  const auto last = static_cast<float>(writers.size() + 1);
  writers.clear();
  EXPECT_EQ(weight_read(3), last);
}

TEST_F(NetworkDirectoryTest, WritersAndReadersAtOnceSeeOneNetworkOrTheOther) {
  for (const bool beside : {true, false}) {
    write(weighted_network(6, 1));
    if (!beside) put(net_ / "notes", "so that files are replaced one by one");
    std::atomic<bool> over = false;
    const auto rewrite = [&](float weight) {
      for (int i = 0; i < 10; ++i) write(weighted_network(6, weight));
    };
    std::thread reader([&] {
      while (!over) {
        const Network network = read_network(net_, {}).network;
        for (const Layer& layer : network.layers)
          EXPECT_EQ(layer.weights.entry_value(0), network.layers[0].weights.entry_value(0));
      }
    });
    std::thread other(rewrite, 2.0F);
    rewrite(1);
    other.join();
    over = true;
    reader.join();
    EXPECT_EQ(entries_in(scratch_.path()), 1U);
    EXPECT_EQ(entries_in(net_), beside ? 7U : 8U);
  }
}

}  // namespace
}  // namespace spdnn
