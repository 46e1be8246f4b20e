// The basis of verdicts of `spdnn infer`: the plan that ran, and official problems, recognised by the content of files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "cli/commands.hpp"
#include "core/text/json_text.hpp"
#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "inference/run/load.hpp"
#include "io/files/input_file.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/networks.hpp"
#include "support/printed_json.hpp"
#include "support/shared_data.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;

struct Printed {
  int code;
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

Printed run_infer(const std::filesystem::path& network, const std::filesystem::path& images,
                  cli::Arguments options = {}) {
  options.insert(options.end(), {"--network", network.string(), "--inputs", images.string(), "--device", "cpu"});
  ::testing::internal::CaptureStdout();
  const int code = cli::infer(options);
  std::fflush(stdout);
  return {code, ::testing::internal::GetCapturedStdout()};
}

/// Changes the bytes of a packed file and corrects its checksums.
void change_file(const std::filesystem::path& path, const std::function<void(std::vector<char>&)>& change) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  change(bytes);
  packed::seal(std::as_writable_bytes(std::span(bytes)));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Replaces a number wherever a packed file holds it.
void replace_in_file(const std::filesystem::path& path, std::uint64_t from, std::uint64_t to) {
  change_file(path, [&](std::vector<char>& bytes) {
    for (std::size_t at = 0; at + sizeof from <= bytes.size(); at += sizeof from)
      if (std::memcmp(&bytes[at], &from, sizeof from) == 0) std::memcpy(&bytes[at], &to, sizeof to);
  });
}

/// Two images of two neurons; the only neuron of the network reads the first of them.
class StoredPlan : public ::testing::Test {
 protected:
  StoredPlan() {
    write_images(images_, {make_matrix(2, {{{0, 1.0F}}, {{1, 1.0F}}})});
    network_.layers = {testing::make_layer(2, {{{0, 1.0F}}}, -0.25)};
    other_.layers = {testing::make_layer(2, {{{1, 1.0F}}}, -0.25)};
  }
  /// A packed file of the network with another network's plan, whose digest claims that it is its own.
  void store_wrong_plan() {
    Plan plan = make_plan(other_, parse_passes("all"));
    plan.set_network_digest(network_digest(network_));
    write_network_with_plan(file_, network_, plan);
  }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "n.spdnn";
  std::filesystem::path images_ = directory_ / "i.spdnn";
  Network network_;
  Network other_;
};

TEST_F(StoredPlan, IsWhatVerifyAndCompareLookAt) {
  store_wrong_plan();
  EXPECT_EQ(run_infer(file_, images_).code, 0);
  const Printed verified = run_infer(file_, images_, {"--verify", "all"});
  EXPECT_EQ(verified.code, 1);
  EXPECT_TRUE(verified.says("FAILED: 1 category, missing 1, extra 1")) << verified.text;
  EXPECT_TRUE(verified.says("the plan was stored with the network")) << verified.text;
  const std::filesystem::path json = directory_ / "run.json";
  const Printed compared = run_infer(file_, images_, {"--compare", "--json", json.string()});
  EXPECT_EQ(compared.code, 1);
  EXPECT_TRUE(compared.says("categories DIFFERENT")) << compared.text;
  EXPECT_TRUE(
      compared.says("FAILED: 1 category, missing 1, extra 1 (against --reduce dead by cpu_openmp); first wrong "
                    "images 1 2"))
      << compared.text;
  const Json verdict = parse_json(text_of_file(json))["verdict"];
  EXPECT_EQ(verdict["status"], "FAILED");
  EXPECT_EQ(verdict["against"], "--reduce dead by cpu_openmp");
  EXPECT_EQ(verdict["first_ids"], (std::vector<int>{1, 2}));
  EXPECT_EQ(run_infer(file_, images_, {"--verify", "all", "--reduce", "none"}).code, 0) << "another plan";
}

TEST_F(StoredPlan, IsRefusedBesideAnotherNetwork) {
  Plan plan = make_plan(network_, parse_passes("all"));
  plan.set_network_digest(network_digest(network_));
  write_network_with_plan(file_, network_, plan);
  EXPECT_EQ(run_infer(file_, images_, {"--verify", "all"}).code, 0);
  replace_in_file(file_, network_digest(network_), 77);
  EXPECT_EQ(packed_contents(file_).network_digest, 77U);
  try {
    run_infer(file_, images_, {"--verify", "all"});
    FAIL() << "no error";
  } catch (const DataError& error) {
    ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(error.what(), file_.string() + ": its plan was made for another network");
  }
}

/// Rates count the number of edges. Here, header and plan agree on a wrong one.
TEST_F(StoredPlan, IsRefusedWithAnotherNumberOfEdges) {
  Plan plan = make_plan(network_, parse_passes("all"));
  plan.set_network_digest(network_digest(network_));
  plan.provenance.given_edges = 1001;
  write_network_with_plan(file_, network_, plan);
  change_file(file_, [&](std::vector<char>& bytes) {
    std::memcpy(&bytes[offsetof(packed::Header, edges)], &plan.provenance.given_edges,
                sizeof plan.provenance.given_edges);
  });
  EXPECT_THROW(run_infer(file_, images_, {"--verify", "all"}), DataError);
  ::testing::internal::GetCapturedStdout();
}

TEST_F(StoredPlan, OfAMergedNetworkComesBackAsItWas) {
  testing::Rng rng(5);
  Network network;  // pairs of equal neurons, so that each layer reads every sum twice
  for (int k = 0; k < 3; ++k) {
    testing::Rows rows = testing::random_rows(rng, 8, 4, 6, 0.1, 0.5);
    rows.insert(rows.end(), rows.begin(), rows.end());
    if (k > 0)
      for (auto& row : rows) row = {{0, 0.25F}, {1, 0.5F}, {4, 0.25F}, {5, 0.5F}};
    network.layers.push_back(testing::make_layer(8, rows, -0.1));
  }
  Plan plan = make_plan(network, parse_passes("twins,merge"));
  ASSERT_TRUE(plan.passes.merge && plan.fallback);
  plan.set_network_digest(network_digest(network));
  EXPECT_EQ(plan.fallback->in_order->provenance.network_digest, plan.provenance.network_digest);
  write_network_with_plan(file_, network, plan);
  const Plan back = read_plan(file_);
  EXPECT_TRUE(back.passes.merge && back.fallback);
  EXPECT_EQ(back.edges(), plan.edges());
}

TEST(PackedNetwork, OfNoLayersOrNeuronsIsRefused) {
  const TemporaryDirectory directory;
  const auto path = directory / "n.spdnn";
  const auto refused = [&](const Network& network) -> std::string {
    write_packed_network(path, network);
    try {
      read_network(path, {});
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(refused({}), path.string() + ": a network without layers, expected at least one");
  Network network;
  network.layers = {{make_matrix(0, {}), {}}};
  EXPECT_EQ(refused(network), path.string() + ": layer 1 has 0 inputs and 0 outputs, expected at least one of each");
  network.layers = {{make_matrix(4, {{}, {}, {}, {}}), {}}, {make_matrix(4, {}), {}}};
  EXPECT_EQ(refused(network), path.string() + ": layer 2 has 4 inputs and 0 outputs, expected at least one of each");
}

/// The official problem of 1024 neurons and 120 layers, made once.
class OfficialVerdict : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!exists(shared_mnist())) return;
    images = new ImageSet(generate_official_images(read_mnist(shared_mnist()), 1024));
    network = new Network(generate_official_network(1024, 120));
  }
  static void TearDownTestSuite() {
    delete images;
    delete network;
  }
  void SetUp() override {
    if (images == nullptr) GTEST_SKIP() << "no MNIST at " << shared_mnist();
    write_packed_network(network_file, *network);
  }

  static inline ImageSet* images = nullptr;
  static inline Network* network = nullptr;
  TemporaryDirectory directory;
  std::filesystem::path network_file = directory / "n.spdnn";
  std::filesystem::path image_file = directory / "i.spdnn";
};

TEST_F(OfficialVerdict, IsForTheOfficialImagesInTheirOrderOnly) {
  EXPECT_TRUE(is_official(*images));
  EXPECT_TRUE(is_official({images->to_csr()}));
  EXPECT_FALSE(is_official(images->slice(0, 59999)));
  const Printed official = (write_images(image_file, *images), run_infer(network_file, image_file));
  EXPECT_TRUE(official.says("PASSED: 1812 categories")) << official.text;

  std::vector<Index> order(images->images());
  for (Index i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(order.size()) - 1 - i;
  const Printed reversed = (write_images(image_file, images->select(order)), run_infer(network_file, image_file));
  EXPECT_EQ(reversed.code, 0);
  EXPECT_TRUE(reversed.says("UNVERIFIED: 1812 categories")) << reversed.text;
  EXPECT_TRUE(reversed.says("the images are not the official ones")) << reversed.text;

  BitMatrix moved = images->bits();  // the first pixel of image 1 moves to the neuron before it
  std::vector<std::uint64_t> words(moved.words.begin(), moved.words.end());
  std::uint64_t& word = *std::find_if(words.begin(), words.end(), [](std::uint64_t w) { return w != 0; });
  const std::uint64_t first = word & -word;
  ASSERT_GT(first, 1U);
  word ^= first | first >> 1U;
  moved.words = Array<std::uint64_t>(std::move(words));
  const Printed changed = (write_images(image_file, {moved}), run_infer(network_file, image_file));
  EXPECT_TRUE(changed.says("UNVERIFIED")) << changed.text;
}

TEST_F(OfficialVerdict, IsGivenForAStoredPlanByTheDigestThatItsFileWasSealedWith) {
  write_images(image_file, *images);
  Plan plan = make_plan(*network, parse_passes("all"));
  plan.set_network_digest(network_digest(*network));
  write_network_with_plan(network_file, *network, plan);
  EXPECT_TRUE(run_infer(network_file, image_file).says("PASSED: 1812 categories"));

  Network other = *network;
  other.layers.back().weights.value = 0.125F;
  plan.set_network_digest(network_digest(other));
  write_network_with_plan(network_file, other, plan);
  const Printed unofficial = run_infer(network_file, image_file);
  EXPECT_EQ(unofficial.code, 0);
  EXPECT_TRUE(unofficial.says("UNVERIFIED: 1812 categories")) << unofficial.text;
  EXPECT_TRUE(unofficial.says("this is not an official problem")) << unofficial.text;
}

}  // namespace
}  // namespace spdnn
