// The network's output, returned and written: bit for bit the same whatever the passes, batches and ranks.

#include "inference/run/activations.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>

#include "cluster/communicator.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "inference/run/run.hpp"
#include "io/arrays/activations.hpp"
#include "io/arrays/npy.hpp"
#include "io/arrays/npz.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

constexpr Index kNeurons = 24;

/// Four layers; the last has twins, an output that is never above zero, and one without inputs.
Network network() {
  testing::Rng rng(7);
  Network network = testing::random_network(rng, kNeurons, 3, 6, -0.3);
  testing::Rows rows = testing::random_rows(rng, kNeurons, kNeurons, 5, 0.1, 0.7);
  rows[5] = rows[2];
  rows[20] = rows[2];
  rows[9] = {{3, -0.5F}};
  rows[11] = {};
  network.layers.push_back(testing::make_layer(kNeurons, rows, -0.2));
  return network;
}

ImageSet activated_images() {
  testing::Rng rng(9);
  return testing::bit_images(rng, 30, kNeurons, 0.25);
}

InferenceSpec spec_with(const std::string& passes) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  spec.passes = parse_passes(passes);
  spec.activations = true;
  return spec;
}

std::vector<std::uint32_t> bits_of(const CsrMatrix& matrix) {
  std::vector<std::uint32_t> bits;
  for (const float value : dense_rows(matrix, 0, matrix.rows)) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

CsrMatrix activations_of(const InferenceSpec& spec) {
  Inference inference(spec);
  inference.load(network(), activated_images());
  inference.plan();
  inference.run();
  return inference.report().outcome.activations.value();
}

/// Stored neurons 0, 1 and 2 are given ones 3 and 1, none, and 0; the third given one is always zero.
TEST(GivenActivations, AreInTheOrderOfTheGivenNeurons) {
  Plan plan = testing::unreduced_plan(testing::random_network(*std::make_unique<testing::Rng>(1), 4, 2, 2, 0));
  plan.expansion.back() = std::vector<Index>{2, 0, 7, 0};
  const CsrMatrix stored = testing::make_matrix(3, {{{0, 1.F}, {2, 3.F}}, {}, {{1, 2.F}}, {{2, 4.F}}});
  const testing::Rows given{{{0, 3.F}, {1, 1.F}, {3, 1.F}}, {}, {}, {{0, 4.F}}};
  testing::expect_equal(given_activations(stored, plan), testing::make_matrix(4, given));
}

TEST(JoinedRows, AreAsWideAsTheWidestInOrderOrWhereTheyAreSaidToStand) {
  const std::vector<CsrMatrix> parts{testing::make_matrix(2, {{{1, 1.F}}, {{0, 2.F}}}),
                                     testing::make_matrix(5, {{{1, 3.F}, {4, 4.F}}}), testing::make_matrix(3, {{}})};
  testing::expect_equal(join_rows(parts), testing::make_matrix(5, {{{1, 1.F}}, {{0, 2.F}}, {{1, 3.F}, {4, 4.F}}, {}}));
  testing::expect_equal(join_rows(parts, {{3, 0}, {2}, {1}}),
                        testing::make_matrix(5, {{{0, 2.F}}, {}, {{1, 3.F}, {4, 4.F}}, {{1, 1.F}}}));
  testing::expect_equal(join_rows({parts[0]}, {{1, 0}}), testing::make_matrix(2, {{{0, 2.F}}, {{1, 1.F}}}));
}

/// Two images of four neurons, dense.
class Dense final : public InspectableEngine {
 public:
  void load(const ImageSet& /*images*/) override {}
  void reset() override {}
  Index advance(Index /*first*/, Index until) override { return until; }
  Outcome outcome() override { return {}; }
  std::vector<double> activations() override { return {0, 0, 2, 0, 0, 0, 0, 3}; }
};

TEST(StoredActivations, TakeTheDenseOnesAndThoseThatAreNotZeroTogether) {
  Dense engine;
  constexpr std::size_t kDense = 8 * sizeof(double);
  const std::size_t sparse = testing::make_matrix(4, {{{2, 2.F}}, {{3, 3.F}}}).bytes();
  testing::expect_equal(stored_activations(engine, 2, 4, kDense + 2 * sparse),
                        testing::make_matrix(4, {{{2, 2.F}}, {{3, 3.F}}}));
  EXPECT_THROW(stored_activations(engine, 2, 4, kDense + sizeof(Index)), std::bad_alloc);
}

TEST(Activations, AreBitForBitTheSameWhateverIsLeftOut) {
  const CsrMatrix given = activations_of(spec_with("none"));
  EXPECT_EQ(given.rows, 30U);
  EXPECT_EQ(given.cols, kNeurons);
  EXPECT_GT(given.entries(), 0U);
  for (const char* const passes : {"all", "dead", "twins", "unused", "saturated", "identical", "twins,unused"}) {
    const CsrMatrix found = activations_of(spec_with(passes));
    found.validate();
    EXPECT_EQ(found.cols, kNeurons) << passes;
    EXPECT_EQ(bits_of(found), bits_of(given)) << passes;
  }
}

TEST(Activations, AreThoseOfTheReferenceAndOfTheCategories) {
  InferenceSpec spec = spec_with("none");
  const std::vector<float> found = dense_rows(activations_of(spec), 0, 30);
  spec.variant = "cpu_reference";
  spec.precision = Precision::fp64;
  Inference inference(spec);
  inference.load(network(), activated_images());
  inference.plan();
  inference.run();
  const std::vector<float> expected = dense_rows(*inference.report().outcome.activations, 0, 30);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  Categories lit;
  for (Index image = 0; image < 30; ++image)
    if (inference.report().outcome.activations->degree(image) > 0) lit.push_back(image);
  EXPECT_EQ(lit, inference.report().outcome.categories);
}

TEST(Activations, OfBatchesAndOfTrialsAreTheSame) {
  const auto whole = bits_of(activations_of(spec_with("all")));
  for (const Index batch : {1U, 7U, 30U}) {
    InferenceSpec spec = spec_with("all");
    spec.batch = batch;
    spec.trials = 2;
    EXPECT_EQ(bits_of(activations_of(spec)), whole) << batch;
  }
}

TEST(Activations, OfRanksStandInTheOrderOfTheImages) {
  const std::filesystem::path folder = ::testing::TempDir();
  InferenceSpec spec = spec_with("all");
  spec.network.path = folder / "activations-network.spdnn";
  spec.images.path = folder / "activations-images.spdnn";
  write_network(spec.network.path, Form::packed, network());
  write_images(spec.images.path, activated_images());
  Inference by_one(spec);
  by_one.load();
  by_one.plan();
  by_one.run();
  const auto alone = bits_of(by_one.report().outcome.activations.value());
  EXPECT_EQ(bits_of(activations_of(spec_with("all"))), alone);
  for (const int ranks : {2, 3, 31}) {
    testing::on_ranks(ranks, [&](Communicator& own) {
      InferenceOnRanks inference(spec, own);
      inference.load();
      inference.plan();
      inference.run();
      if (own.is_root()) {
        EXPECT_EQ(bits_of(inference.report().outcome.activations.value()), alone) << ranks;
      }
    });
  }
}

TEST(Activations, AreKeptOnlyWhereTheyAreAskedFor) {
  InferenceSpec spec = spec_with("all");
  spec.activations = false;
  Inference inference(spec);
  inference.load(network(), activated_images());
  inference.plan();
  inference.run();
  EXPECT_FALSE(inference.report().outcome.activations);
}

TEST(Activations, WithoutLayersAreTheImages) {
  const Network none;
  const ImageSet given{testing::make_matrix(3, {{{0, 1.0F}}, {}, {{2, 0.5F}}})};
  RunOptions options;
  options.keep_activations = true;
  const RunResult result = run(find_variant("cpu_openmp"), testing::unreduced_plan(none), given, options);
  EXPECT_EQ(bits_of(result.outcome.activations.value()), bits_of(given.to_csr()));
}

TEST(Activations, GoNeitherWithMergeNorWithACheckpoint) {
  EXPECT_THROW(Inference(spec_with("merge,dead")), UsageError);
  InferenceSpec spec = spec_with("all");
  spec.checkpoint = "file";
  EXPECT_THROW(Inference{spec}, UsageError);
}

struct Written : ::testing::Test {
  Written() { uniform.value = 0.75F; }
  std::filesystem::path write(const std::string& name, const CsrMatrix& matrix, OutputForm form) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
    AtomicFile file(path);
    write_activations(file, matrix, form);
    file.commit();
    return path;
  }
  CsrMatrix sparse = testing::make_matrix(4, {{{0, 1.5F}, {3, 32.0F}}, {}, {{2, 1e-30F}}});
  CsrMatrix uniform = make_csr(2, 3, {0, 1, 3}, {2, 0, 1});
};

TEST_F(Written, DenseArraysHoldTheZeros) {
  const CsrMatrix wide = make_csr(3, 400'000, {0, 1, 1, 3}, {7, 0, 399'999}, {1.0F, 2.0F, 3.0F});  // two pieces
  for (const CsrMatrix& matrix : {sparse, uniform, wide}) {
    const Tensor read = read_npy_rows(InputFile(write("dense.npy", matrix, OutputForm::npy))).tensor;
    EXPECT_EQ(read.shape, (Shape{matrix.rows, matrix.cols}));
    EXPECT_EQ(std::vector<float>(read.values.begin(), read.values.end()), dense_rows(matrix, 0, matrix.rows));
  }
}

TEST_F(Written, ArchivesHoldWhatScipyWouldSave) {
  for (const CsrMatrix& matrix : {sparse, uniform}) {
    const NpzFile read{InputFile(write("sparse.npz", matrix, OutputForm::npz))};
    EXPECT_EQ(read.names(), (std::vector<std::string>{"indices", "indptr", "format", "shape", "data"}));
    const auto whole = [&](const char* name) {
      const IntegerTensor array = read_npy_integers(read.member(name).file());
      return std::vector<std::int64_t>(array.values.begin(), array.values.end());
    };
    EXPECT_EQ(whole("shape"), (std::vector<std::int64_t>{matrix.rows, matrix.cols}));
    EXPECT_EQ(whole("indices"), (std::vector<std::int64_t>(matrix.indices.begin(), matrix.indices.end())));
    EXPECT_EQ(whole("indptr"), (std::vector<std::int64_t>(matrix.offsets.begin(), matrix.offsets.end())));
    const Tensor data = read_npy_rows(read.member("data").file()).tensor;
    ASSERT_EQ(data.values.size(), matrix.entries());
    for (Offset k = 0; k < matrix.entries(); ++k) EXPECT_EQ(data.values[k], matrix.entry_value(k));
  }
}

TEST_F(Written, TextIsReadBackAsImages) {
  const ImageSet read = read_images(write("lines.tsv", sparse, OutputForm::tsv), 4, std::nullopt);
  EXPECT_EQ(bits_of(read.to_csr()), bits_of(sparse));
}

}  // namespace
}  // namespace spdnn
