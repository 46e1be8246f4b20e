// Programs that are stored with their model and read back: the same bits, used only under the same conditions, and
// refused if damaged.

#include "program/stored.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "engines/kernel_families.hpp"
#include "engines/model_engine.hpp"
#include "engines/tuned_program.hpp"
#include "model/graph/magnitudes.hpp"
#include "model/graph/model_digest.hpp"
#include "program/threads.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"
#include "support/quantised.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using program::Change;
using program::Kernels;
using program::Offer;
using program::Request;
using testing::ModelBuilder;

constexpr const char* kUsed = "the program stored with the model is used";

/// Convolutions with fused nodes, a pool, and a linear node; constants and changes of layout.
Model model_to_store(float first_bias = 0.5F) {
  testing::Rng rng(71);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 8, 8});
  Convolution first = testing::random_convolution(rng, 3, 20, testing::same_window(3, 3), 0.5);
  first.bias[0] = first_bias;
  const ValueId y = builder.add(Activation{}, {builder.add(first, {x})});
  const ValueId z = builder.add(testing::random_convolution(rng, 20, 20, testing::same_window(3, 3), 0.5), {y});
  const ValueId sum = builder.add(Elementwise{}, {y, z});
  const ValueId shift = builder.constant(testing::random_tensor(rng, {1, 20, 1, 1}));
  const ValueId mean = builder.add(GlobalPool{}, {builder.add(Elementwise{}, {sum, shift})});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 20}}, {mean});
  return builder.finish({builder.add(testing::random_linear(rng, 20, 5, 0.8), {flat})});
}

ModelEngineOptions options_for(Index batch, int threads) { return {.batch = batch, .threads = threads}; }

class StoredPrograms : public ::testing::TestWithParam<const char*> {
 protected:
  const ModelVariant& variant() const { return find_model_variant(GetParam()); }
  std::string stored() const {
    const Model model = model_to_store();
    return support_of(variant(), model, options_for(3, 2)).stored_program();
  }
  static Model with(std::string text, Model model = model_to_store()) {
    model.program = StoredProgram{"m.spdnn: program", std::move(text)};
    return model;
  }
  /// The offset of a field of the first step. Fields of an action ascend by name, and the ones here precede its kind.
  static std::size_t place_in_step(const std::string& text, const std::string& field) {
    return text.rfind(field, text.find("\"kind\":\"step\""));
  }
  /// The variant's remark on the stored program.
  std::string remark(const Model& model, const ModelEngineOptions& options) const {
    for (const std::string& one : support_of(variant(), model, options).remarks)
      if (one.starts_with("the program stored")) return one;
    return "none";
  }
  std::vector<float> outputs(const Model& model, const ModelEngineOptions& options) const {
    testing::Rng rng(72);
    const auto engine = make_engine(variant(), std::make_shared<const Model>(model), options);
    engine->load(testing::random_tensor(rng, {3, 3, 8, 8}));
    const auto depth = static_cast<Index>(model.nodes.size());
    for (Index next = 0; next < depth;) next = engine->advance(next, depth);
    const Tensor found = engine->output();
    return {found.values.begin(), found.values.end()};
  }
};

TEST_P(StoredPrograms, GiveTheSameBits) {
  const Model read = with(stored());
  EXPECT_EQ(remark(read, options_for(3, 2)), kUsed);
  const std::vector<float> expected = outputs(model_to_store(), options_for(3, 2));
  const std::vector<float> found = outputs(read, options_for(3, 2));
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
  EXPECT_EQ(support_of(variant(), read, options_for(3, 2)).program,
            support_of(variant(), model_to_store(), options_for(3, 2)).program);
  EXPECT_EQ(remark(model_to_store(), options_for(3, 2)), "none");
}

/// Also if its kernels were chosen, and have the times, of no prediction.
TEST_P(StoredPrograms, AreUsedIfTheyAreTuned) {
  if (variant().device != Device::cpu) return;
  const Model read = with(tuned_program(variant(), model_to_store(), options_for(3, 2)).text);
  EXPECT_EQ(remark(read, options_for(3, 2)), kUsed);
  const std::vector<std::string> remarks = support_of(variant(), read, options_for(3, 2)).remarks;
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), [](const std::string& one) {
    return one.starts_with("kernels by measured times; ");
  })) << "what was said of it is stored, too";
  const std::vector<float> expected = outputs(model_to_store(), options_for(3, 2));
  const std::vector<float> found = outputs(read, options_for(3, 2));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
}

TEST_P(StoredPrograms, AreUsedOnlyWhereAllIsAsItWas) {
  const std::string text = stored();
  const std::string unused = "the program stored with the model is not used, and another compiled: its ";
  EXPECT_EQ(remark(with(text), options_for(2, 2)), unused + "images: 3, now: 2");
  ModelEngineOptions alone = options_for(3, 2);
  alone.epilogues = false;
  EXPECT_EQ(remark(with(text), alone), unused + "epilogues: yes, now: no");
  EXPECT_EQ(remark(with(text, model_to_store(0.25F)), options_for(3, 2)).find(unused + "model: "), 0U);
  for (const std::string field : {"version", "processor", "threads", "precision", "kernels"}) {
    std::string other = text;
    other.insert(other.find("\"" + field + "\",\"") + field.size() + 4, "other ");
    EXPECT_EQ(remark(with(other), options_for(3, 2)).find(unused + field + ": other "), 0U) << field;
    EXPECT_EQ(outputs(with(other), options_for(3, 2)), outputs(model_to_store(), options_for(3, 2)));
  }
}

TEST_P(StoredPrograms, AnOfferThatIsGoneIsSaid) {
  std::string text = stored();
  text.insert(place_in_step(text, "\"kernel\":\"") + 10, "former_");
  EXPECT_NE(remark(with(text), options_for(3, 2)).find("is no longer offered for node "), std::string::npos);
}

TEST_P(StoredPrograms, AChangeOfLayoutThatIsGoneIsSaid) {
  std::string text = stored();
  const std::size_t change = text.find("\"kind\":\"change\"");
  if (change == std::string::npos) GTEST_SKIP() << "the program changes no layout";
  text.insert(text.rfind("\"kernel\":\"", change) + 10, "former_");
  EXPECT_NE(remark(with(text), options_for(3, 2)).find("\"former_"), std::string::npos);
  EXPECT_NE(remark(with(text), options_for(3, 2)).find(" no longer changes "), std::string::npos);
}

TEST_P(StoredPrograms, WhatIsDamagedIsRefused) {
  const std::string text = stored();
  const auto error = [&](const std::string& damaged) -> std::string {
    try {
      outputs(with(damaged), options_for(3, 2));
      return "no error";
    } catch (const DataError& problem) {
      return problem.what();
    }
  };
  EXPECT_EQ(error(text), "no error");
  for (std::size_t length = 0; length + 2 < text.size(); length += 61)
    EXPECT_EQ(error(text.substr(0, length)).find("m.spdnn: program: "), 0U) << length;
  const std::string batch = "\"batch\":3";
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    const std::size_t place = damaged.find(from, from == batch ? 0 : damaged.find("\"program\""));
    EXPECT_NE(place, std::string::npos) << from;
    return error(damaged.replace(place, from.size(), to));
  };
  const std::string unfit =
      "m.spdnn: program: is corrupted: its actions and buffers do not fit its model; convert the model again";
  EXPECT_EQ(replaced("\"offsets\":[", "\"offsets\":[64,"), unfit);
  EXPECT_EQ(replaced("\"images\":3", "\"images\":4"), unfit);
  EXPECT_EQ(replaced("\"lifetime\":[", "\"lifetime\":[1,"), unfit);
  EXPECT_EQ(replaced(batch, "\"batch\":-3"),
            "m.spdnn: program: batch: expected a number of images; convert the model again");
  EXPECT_EQ(replaced(batch, "\"batch\":99999999999"),
            "m.spdnn: program: batch: expected a number of images; convert the model again");
  for (const std::string wrong : {"[[\"a\",", "[[],[", "[\"a\",["}) {
    std::string other = text;
    const std::size_t place = other.find("\"made_for\":[[") + 11;
    EXPECT_EQ(error(other.replace(place, 2, wrong)).find("m.spdnn: program: expected made_for, remarks and"), 0U)
        << wrong;
  }
  std::string lacking = text;
  lacking[place_in_step(lacking, "\"detail\"") + 1] = 'r';
  EXPECT_EQ(error(lacking), "m.spdnn: program: is corrupted: an action lacks a field; convert the model again");
  EXPECT_EQ(replaced("\"actions\":[", "\"actions\":[{},"),
            "m.spdnn: program: is corrupted: an action lacks a field; convert the model again");
  EXPECT_EQ(error("{}").find("m.spdnn: program: expected a program of schema spdnn-program-1"), 0U);
}

/// Any byte changed: the run is refused, or has the same bits.
TEST_P(StoredPrograms, NoChangedByteChangesAResult) {
  const std::string text = stored();
  const std::vector<float> expected = outputs(model_to_store(), options_for(3, 2));
  std::size_t refused = 0;
  const std::size_t step = testing::sampled(11U, 5U);
  for (std::size_t place = 0; place < text.size(); place += step) {
    std::string damaged = text;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 7));
    try {
      EXPECT_EQ(outputs(with(damaged), options_for(3, 2)), expected) << place;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, text.size() / (2 * step));
}

INSTANTIATE_TEST_SUITE_P(Each, StoredPrograms, ::testing::Values("conv_dense", "sparse"),
                         [](const auto& one) { return std::string(one.param); });

constexpr int kStoredThreads = 2;
constexpr Extent kStoredImages = 3;

/// A kernel under a name of its own, whose times are drawn instead of predicted: from 1 to 150 us.
class DrawnTimes final : public program::Kernel {
 public:
  DrawnTimes(const program::Kernel& kernel, std::string name, std::uint32_t seed)
      : kernel_(kernel), name_(std::move(name)), seed_(seed) {}
  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> all = kernel_.offers(request);
    for (Offer& offer : all) offer.seconds = drawn(offer, static_cast<int>(request.step.node));
    return all;
  }
  Offer change(const Change& change) const override {
    Offer offer = kernel_.change(change);
    offer.seconds = drawn(offer, -1);
    return offer;
  }

 private:
  double drawn(const Offer& offer, int node) const {
    std::string key = name_ + offer.detail + program::text(offer.output) + std::to_string(node);
    for (const program::Layout& layout : offer.inputs) key += program::text(layout);
    std::mt19937 generator(seed_ ^ static_cast<std::uint32_t>(std::hash<std::string>()(key)));
    return 1e-6 * std::exp(std::uniform_real_distribution<double>(0, 5)(generator));
  }

  const program::Kernel& kernel_;
  std::string name_;
  std::uint32_t seed_;
};

/// All kernels of the host, and once more those that change layouts, so that these are a choice in every build.
class DrawnKernels {
 public:
  explicit DrawnKernels(std::uint32_t seed) {
    const auto add = [&](const program::Kernel& kernel, const std::string& name) {
      owned_.push_back(std::make_unique<DrawnTimes>(kernel, name, seed));
      kernels_.push_back(owned_.back().get());
    };
    for (const program::Family& family : kernel_families()) {
      if (family.device != Device::cpu) continue;
      for (const program::Kernel* const kernel : family.kernels(Precision::fp32).kernels) {
        const std::string name(kernel->name());
        add(*kernel, name);
        if (name == "plain_change") add(*kernel, "another_change");
      }
    }
  }
  program::CompileOptions options() const {
    return {.kernels_for = kStoredImages, .threads = kStoredThreads, .kernels = kernels_};
  }

 private:
  std::vector<std::unique_ptr<program::Kernel>> owned_;
  Kernels kernels_;
};

/// A value that is made in 8 bits or in fp32, before a node for either.
Model quantised_model_to_store() {
  testing::Rng rng(73);
  ModelBuilder builder;
  const ValueId x = testing::quantised(builder, builder.input({kBatchExtent, 6, 5, 5}), {false, 0, 0.25F});
  const ValueId y = builder.add(testing::random_convolution(rng, 6, 9, testing::same_window(3, 3), 0.3), {x});
  return builder.finish({builder.add(Activation{}, {y}), builder.add(GlobalPool{}, {x})});
}

TEST(StoredProgram, IsReadWhateverTimesItWasChosenBy) {
  const program::Threads threads(kStoredThreads);
  const DrawnKernels now(0);
  std::set<std::string> changes;
  for (std::uint32_t seed = 1; seed <= testing::sampled(15U, 60U); ++seed) {
    const Model model =
        seed % 3 == 0 ? quantised_model_to_store() : testing::RandomModel(seed % 6).make(12, kStoredImages).model;
    const Magnitudes magnitudes(model);
    const DrawnKernels then(seed);
    const program::Origin origin = origin_of(model, kStoredImages, then.options());
    const program::Program program = compile(model, magnitudes, kStoredImages, then.options());
    const std::string text = stored_text(program, origin, kStoredImages);
    const program::StoredReader reader({"a program", text});
    EXPECT_EQ(reader.why_not(origin_of(model, kStoredImages, now.options())), "");
    EXPECT_EQ(stored_text(reader.program(model, magnitudes, kStoredImages, now.options()), origin, kStoredImages), text)
        << seed;
    for (const program::Action& action : program.actions)
      if (action.kind == program::Action::Kind::change) changes.insert(action.kernel);
  }
  EXPECT_GE(changes.size(), 2U);
}

/// Notes which kernels are asked for offers.
class NotingOffers final : public program::Kernel {
 public:
  NotingOffers(const program::Kernel& kernel, std::set<std::string>& asked) : kernel_(kernel), asked_(asked) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<Offer> offers(const Request& request) const override {
    asked_.emplace(name());
    return kernel_.offers(request);
  }
  Offer change(const Change& change) const override { return kernel_.change(change); }

 private:
  const program::Kernel& kernel_;
  std::set<std::string>& asked_;
};

/// Offers may take long to make: of tilings, or of code that is generated.
TEST(StoredProgram, IsReadWithoutOffersOfKernelsThatWereNotChosen) {
  const program::Threads threads(kStoredThreads);
  const DrawnKernels all(1);
  std::set<std::string> asked;
  std::vector<std::unique_ptr<NotingOffers>> noting;
  program::CompileOptions options = all.options();
  for (const program::Kernel*& kernel : options.kernels)
    kernel = noting.emplace_back(std::make_unique<NotingOffers>(*kernel, asked)).get();
  const Model model = model_to_store();
  const Magnitudes magnitudes(model);
  const program::Program program = compile(model, magnitudes, kStoredImages, options);
  const std::string text = stored_text(program, origin_of(model, kStoredImages, options), kStoredImages);
  const std::set<std::string> before = std::exchange(asked, {});
  program::StoredReader({"a program", text}).program(model, magnitudes, kStoredImages, options);
  std::set<std::string> chosen;
  for (const program::Action& action : program.actions)
    if (action.kind == program::Action::Kind::step) chosen.insert(action.kernel);
  EXPECT_EQ(asked, chosen);
  EXPECT_LT(chosen.size(), before.size());
}

TEST(StoredProgram, IsOfOnePrecisionAndNumberOfThreads) {
  const auto made_for = [](Precision precision, int threads) {
    return program::origin_of(model_to_store(), 1, {.precision = precision, .threads = threads});
  };
  EXPECT_NE(made_for(Precision::fp32, 1), made_for(Precision::fp16_sums, 1));
  EXPECT_NE(made_for(Precision::fp32, 1), made_for(Precision::bf16, 1));
  EXPECT_NE(made_for(Precision::fp32, 1), made_for(Precision::fp32, 2));
}

TEST(ModelDigests, AreOfWhatIsComputed) {
  const Model model = model_to_store();
  Model named = model;
  named.nodes[0].name = "another";
  named.values[0].name = "another";
  EXPECT_EQ(program::origin_of(model, 1, {}), program::origin_of(named, 1, {}));
  Model typed = model;
  auto& weights = std::get<Convolution>(typed.nodes[0].operation).weights;
  weights = Weights(with_palette(typed_matrix(weights, Pattern::csr, DataType::f32)));
  EXPECT_EQ(program::origin_of(model, 1, {}), program::origin_of(typed, 1, {}));
  EXPECT_NE(program::origin_of(model, 1, {}), program::origin_of(model_to_store(0.25F), 1, {}));
}

TEST(ModelDigests, AreOfEachWeightHoweverManyAreEqual) {
  const auto digest = [](CsrMatrix weights) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    return model_digest(builder.finish({builder.add(Linear{std::move(weights), {}}, {x})}));
  };
  const auto of_two = [](float first, float second, bool uniform = false) {
    return testing::make_matrix(2, {{{0, first}, {1, second}}}, uniform);
  };
  EXPECT_NE(digest(of_two(1, 2)), digest(of_two(1, 3)));
  EXPECT_NE(digest(of_two(1, 2)), digest(of_two(2, 1)));
  EXPECT_NE(digest(of_two(1, 1, true)), digest(of_two(2, 2, true)));
  EXPECT_EQ(digest(of_two(1, 1, true)), digest(of_two(1, 1)));
}

}  // namespace
}  // namespace spdnn
