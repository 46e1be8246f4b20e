// The rules of src/program for kernels: the toy is one file and one line, wrong offers are refused, the cheapest path
// is taken, and changes of layout keep every value.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/system/stopwatch.hpp"
#include "program/choose.hpp"
#include "program/family.hpp"
#include "program/path.hpp"
#include "support/kernel_contract.hpp"

namespace spdnn {

#define SPDNN_KERNELS SPDNN_DECLARE_KERNELS
#include "unit/toy/kernels.def"
#undef SPDNN_KERNELS

namespace {

using program::Kernels;
using program::kRows;
using program::Layout;
using program::Offer;
using program::Order;
using program::Request;
using testing::ModelBuilder;
using testing::ModelCase;

const std::vector<program::Family>& toy_families() {
  static const std::vector<program::Family> all = {
#define SPDNN_KERNELS SPDNN_LIST_KERNELS
#include "unit/toy/kernels.def"
#undef SPDNN_KERNELS
  };
  return all;
}

/// Relus of images, of sequences and of rows, alone and between convolutions.
std::vector<ModelCase> relu_cases() {
  testing::Rng rng(61);
  std::vector<ModelCase> cases;
  for (const Shape& shape : {Shape{kBatchExtent, 5, 4, 6}, Shape{kBatchExtent, 5, 6}, Shape{kBatchExtent, 7}})
    for (const bool between : {false, true}) {
      if (between && shape.size() != 4) continue;
      ModelBuilder builder;
      ValueId x = builder.input(shape);
      if (between) x = builder.add(testing::random_convolution(rng, 5, 20, {}, 0.7), {x});
      ValueId y = builder.add(Activation{}, {x});
      if (between) y = builder.add(testing::random_convolution(rng, 20, 3, {}, 0.7), {y});
      cases.push_back({"relu of " + shape_text(shape),
                       builder.finish({y, x}),
                       {testing::random_tensor(rng, with_batch(shape, 2))}});
    }
  return cases;
}

TEST(ToyKernel, IsOneFileAndOneLine) {
  for (const program::Family& family : toy_families())
    for (const program::Kernel* const kernel : family.kernels(Precision::fp32).kernels) {
      EXPECT_EQ(testing::contract_fault(*kernel, relu_cases()), "");
      Kernels kernels = testing::kernels_of("plain");
      kernels.insert(kernels.begin(), kernel);
      const std::vector<ModelCase> cases = relu_cases();
      const program::Program program =
          program::program_for(cases[0].model, {.batch = 2, .threads = 1, .epilogues = false}, kernels);
      EXPECT_EQ(program.actions.front().kernel, "toy_relu");
    }
}

/// The toy with a fault in its offer.
class WrongKernel final : public program::Kernel {
 public:
  explicit WrongKernel(std::function<void(Offer&)> spoil) : spoil_(std::move(spoil)) {}
  std::string_view name() const override { return "wrong"; }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> offers = kernels_toy_relu(Precision::fp32).kernels.front()->offers(request);
    for (Offer& offer : offers) spoil_(offer);
    return offers;
  }

 private:
  std::function<void(Offer&)> spoil_;
};

TEST(GeneratedCode, ItsSourcesAreReportedInOneLine) {
  using program::Prepared;
  using Source = Prepared::Source;
  const auto said = [](const std::vector<Prepared>& all) { return program::text(all); };
  const Prepared none;
  const Prepared compiled{.code_bytes = 1000, .compile_seconds = 1.5};
  const Prepared kept{.code_bytes = 500, .source = Source::cache_directory};
  Prepared stored{.code_bytes = 500, .source = Source::model};
  EXPECT_EQ(said({none}), "");
  EXPECT_EQ(said({none, compiled, compiled}),
            "2.0 kB of generated code for 2 nodes, compiled in 3.0 s of processor time");
  EXPECT_EQ(said({kept}), "500 bytes of generated code for 1 node, from the cache directory");
  EXPECT_EQ(said({stored, stored}), "1.0 kB of generated code for 2 nodes, from the model");
  EXPECT_EQ(said({compiled, kept, stored}),
            "2.0 kB of generated code for 3 nodes; that of 1 compiled in 1.5 s of processor time; that of 1 from the "
            "cache directory; that of 1 from the model");
  Prepared foreign = compiled;
  foreign.model_has_others = true;
  EXPECT_EQ(said({stored, foreign}),
            "1.5 kB of generated code for 2 nodes; that of 1 compiled in 1.5 s of processor time; that of 1 from the "
            "model; the model's code of 1 is for another device, batch, precision or version of spdnn or the compiler");
  foreign.model_images = 32;
  EXPECT_EQ(
      said({foreign}),
      "1.0 kB of generated code for 1 node, compiled in 1.5 s of processor time; the model's code, for batches of "
      "32, is for another device, batch, precision or version of spdnn or the compiler");
  Prepared of_fewer = foreign;
  of_fewer.model_images = 8;
  for (const auto& both : {std::vector{foreign, of_fewer}, {of_fewer, foreign}})
    EXPECT_NE(said(both).find(", for batches of 32,"), std::string::npos) << said(both);
}

TEST(KernelContract, RefusesWrongOffers) {
  const auto fault = [](std::function<void(Offer&)> spoil) {
    return testing::contract_fault(WrongKernel(std::move(spoil)), relu_cases());
  };
  const std::string first = "relu of N x 5 x 4 x 6: ";
  EXPECT_EQ(fault([](Offer& offer) { offer.output.order = Order::nhwc; }),
            first + "not the result that the oracle has");
  EXPECT_EQ(fault([](Offer& offer) { offer.inputs[0].order = Order::nhwc; }),
            first + "not the result that the oracle has");
  EXPECT_EQ(fault([](Offer& offer) { offer.inputs.clear(); }),
            first + "kernel wrong offers layouts of 0 inputs, expected 1");
  EXPECT_EQ(fault([](Offer& offer) { offer.bind = nullptr; }), first + "kernel wrong cannot be bound");
  EXPECT_EQ(fault([](Offer& offer) { offer.inputs[0].order = offer.output.order = Order::nhwc; }),
            "relu of N x 7: kernel wrong wants input 0 of 2 x 7 as nhwc");
}

TEST(KernelContract, IsThatOfThePlainKernels) {
  const Kernels plain = testing::kernels_of("plain");
  for (const ModelCase& one : testing::convolution_battery())
    EXPECT_LE(testing::ratio_by_kernels(plain, one), 1) << one.name;
  for (std::uint32_t seed = 0; seed < 30; ++seed)
    EXPECT_LE(testing::ratio_by_kernels(plain, testing::RandomModel(seed).make(5 + seed, 2)), 1) << seed;
  for (const Extent batch : {1, 7, 33})
    EXPECT_LE(testing::ratio_by_kernels(plain, testing::small_network(5, 0.4, batch)), 1) << batch;
}

/// A relu that takes a layout, at a price.
class PricedRelu final : public program::Kernel {
 public:
  PricedRelu(std::string_view name, Order order, double seconds) : name_(name), order_(order), seconds_(seconds) {}
  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> offers = kernels_toy_relu(Precision::fp32).kernels.front()->offers(request);
    for (Offer& offer : offers) {
      offer.inputs[0].order = offer.output.order = order_;
      offer.seconds = seconds_;
    }
    return offers;
  }
  Offer change(const program::Change& change) const override {
    return {.inputs = {change.from}, .output = change.to, .seconds = 1};
  }

 private:
  std::string_view name_;
  Order order_;
  double seconds_;
};

/// The toy, which notes for how many images programs are made.
class AskedRelu final : public program::Kernel {
 public:
  explicit AskedRelu(std::vector<Extent>& images) : images_(images) {}
  std::string_view name() const override { return "asked"; }
  std::vector<Offer> offers(const Request& request) const override {
    images_.push_back(request.images);
    return kernels_toy_relu(Precision::fp32).kernels.front()->offers(request);
  }

 private:
  std::vector<Extent>& images_;
};

/// An engine for 16 images of three numbers at a time.
std::unique_ptr<ModelEngine> engine_of(const AskedRelu& kernel, int threads) {
  ModelBuilder builder;
  Model model = builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 3})})});
  return program::make(std::make_shared<const Model>(std::move(model)), {.batch = 16, .threads = threads}, {&kernel});
}

TEST(Engine, DealsFewerImagesThanABatchToAllThreads) {
  std::vector<Extent> images;
  const AskedRelu kernel(images);
  const auto engine = engine_of(kernel, 2);
  EXPECT_EQ(images.back(), 8);
  for (const Extent count : {8, 5, 1}) {
    std::vector<float> values(static_cast<std::size_t>(3 * count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 3;
    engine->load(testing::make_tensor({count, 3}, values));
    EXPECT_EQ(images.back(), count / 2 + count % 2);
    engine->advance(0, 1);
    for (float& value : values) value = std::max(value, 0.F);
    EXPECT_TRUE(std::ranges::equal(engine->outputs().front().values, values)) << count;
  }
}

TEST(Engine, KeepsTheProgramsOfSomeNumbersOfImagesAndNotOfAll) {
  std::vector<Extent> images;
  const AskedRelu kernel(images);
  const auto engine = engine_of(kernel, 1);
  const auto asks = [&](Extent count) {
    images.clear();
    engine->load(testing::make_tensor({count, 3}, std::vector<float>(static_cast<std::size_t>(3 * count))));
    return !images.empty();
  };
  EXPECT_FALSE(asks(16));
  EXPECT_TRUE(asks(5));
  for (const Extent count : {16, 5, 16, 5})
    EXPECT_FALSE(asks(count)) << "a loop over batches of which the last is short";
  for (Extent count = 1; count < 16; ++count) asks(count);
  EXPECT_TRUE(asks(16));
}

/// A kernel that sleeps before the first node and the second, so that each thread has a part.
class Slow final : public program::Kernel {
 public:
  explicit Slow(const program::Kernel& kernel) : kernel_(kernel) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> all = kernel_.offers(request);
    if (request.step.node > 1) return all;
    for (Offer& offer : all)
      offer.bind = [bind = offer.bind] {
        return program::bound([inner = std::shared_ptr(bind())](const program::Operands& at) {
          std::this_thread::sleep_for(kTime);
          inner->place(at);
          inner->run();
        });
      };
    return all;
  }
  program::Offer change(const program::Change& change) const override { return kernel_.change(change); }
  static constexpr std::chrono::milliseconds kTime{3};

 private:
  const program::Kernel& kernel_;
};

/// Linear layers whose values are the larger the later they are, up to beyond all bounds.
Model growing_model() {
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 8});
  for (int layer = 0; layer < 60; ++layer) {
    const testing::Rows rows(8, {{0, 4.F}, {1, 4.F}, {2, 4.F}, {3, 4.F}, {4, 4.F}, {5, 4.F}, {6, 4.F}, {7, 4.F}});
    x = builder.add(Linear{testing::make_matrix(8, rows), {}}, {x});
  }
  return builder.finish({builder.add(testing::make_clip(0, 1), {x})});
}

TEST(Engine, NamesTheFirstNodeThatOverflowsInAnyOfThePartsOfABatch) {
  const Model model = growing_model();
  std::vector<std::unique_ptr<Slow>> slow;
  Kernels kernels;
  for (const program::Kernel* const kernel : testing::kernels_of("plain"))
    kernels.push_back(slow.emplace_back(std::make_unique<Slow>(*kernel)).get());
  const auto engine = program::make(std::make_shared<const Model>(model), {.batch = 24, .threads = 3}, kernels);
  const auto first_of = [&](const std::vector<float>& pixels) {
    std::vector<float> values;
    for (const float pixel : pixels) values.insert(values.end(), 8 * 24 / pixels.size(), pixel);
    engine->load(testing::make_tensor({24, 8}, values));
    engine->advance(0, static_cast<Index>(model.nodes.size()));
    return engine->overflow();
  };
  const std::optional<Index> early = first_of({1.F});
  const std::optional<Index> late = first_of({1e-20F});
  ASSERT_TRUE(early && late && *early < *late);
  EXPECT_EQ(first_of({0.F}), std::nullopt);
  for (const auto& pixels : {std::vector{1.F, 1e-20F, 0.F}, {1e-20F, 0.F, 1.F}, {0.F, 1.F, 1e-20F}})
    EXPECT_EQ(first_of(pixels), early);
  EXPECT_EQ(first_of({0.F, 1e-20F, 0.F}), late);
  const float huge = std::ldexp(1.F, 90);  // beyond what bounds are known for
  for (const auto& pixels : {std::vector{huge, 0.F, 0.F}, {0.F, 0.F, huge}, {0.F, huge, 1e-20F}})
    EXPECT_EQ(first_of(pixels), Index{0});
}

TEST(Engine, TheTimesOfNodesAreThoseOfThreadsThatWorkSideBySide) {
  ModelBuilder builder;
  const ValueId x = builder.add(Activation{}, {builder.input({kBatchExtent, 3})});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  const Slow kernel(*kernels_toy_relu(Precision::fp32).kernels.front());
  const auto engine = program::make(std::make_shared<const Model>(model),
                                    {.batch = 16, .threads = 2, .epilogues = false, .profile = true}, {&kernel});
  engine->load(testing::make_tensor({16, 3}, std::vector<float>(48, 1)));
  for (int run = 0; run < 2; ++run) {  // the second does not add to the first
    engine->reset();
    const Stopwatch watch;
    engine->advance(0, 2);
    const double all = watch.seconds();
    const std::vector<double> seconds = engine->node_seconds();
    ASSERT_EQ(seconds.size(), 2U);
    EXPECT_LE(seconds[0] + seconds[1], all);
    for (const double one : seconds) EXPECT_GE(one, 0.001 * Slow::kTime.count());
  }
}

TEST(Choice, PricesChangesOfLayout) {
  const Model model = relu_cases()[0].model;
  Request request{.model = model, .step = {0, {}}, .images = 2, .inputs = {{0, {2, 5, 4, 6}, {kRows}}}};
  const PricedRelu rows("rows", Order::rows, 3);
  const PricedRelu nhwc("nhwc", Order::nhwc, 2.5);
  const PricedRelu fast("fast", Order::nchw8c, 1.5);
  const auto chosen = [&](const Kernels& kernels) { return program::choose(kernels, request).kernel->name(); };
  EXPECT_EQ(chosen({&rows, &nhwc}), "rows") << "2.5 and a change of 1 are more than 3";
  EXPECT_EQ(chosen({&rows, &nhwc, &fast}), "fast");
  request.inputs[0].layouts.push_back({Order::nhwc});
  EXPECT_EQ(chosen({&rows, &nhwc}), "nhwc") << "it is there already";
  const PricedRelu equal("equal", Order::rows, 3);
  EXPECT_EQ(chosen({&rows, &equal}), "rows");
  EXPECT_EQ(chosen({&equal, &rows}), "equal");
}

/// Relus in two layouts; in nhwc the first takes longer, and the others less.
class RelusOfALayout final : public program::Kernel {
 public:
  RelusOfALayout(std::string name, Order order, double first, double others)
      : name_(std::move(name)), order_(order), first_(first), others_(others) {}
  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override {
    if (!std::holds_alternative<Activation>(request.node().operation)) return {};
    Offer offer;
    offer.inputs = {{order_}};
    offer.output = {order_};
    offer.seconds = request.step.node == 0 ? first_ : others_;
    offer.bind = [] { return program::bound([](const program::Operands&) {}); };
    return {std::move(offer)};
  }
  Offer change(const program::Change&) const override {
    Offer offer;
    offer.seconds = 1;
    offer.bind = [] { return program::bound([](const program::Operands&) {}); };
    return offer;
  }

 private:
  std::string name_;
  Order order_;
  double first_;
  double others_;
};

/// A chain of relus of images.
Model chain_of_relus(int count) {
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 5, 4, 6});
  for (int i = 0; i < count; ++i) x = builder.add(Activation{}, {x});
  return builder.finish({x});
}

std::vector<std::string> kernels_that_run(const Model& model, const Kernels& kernels) {
  std::vector<std::string> names;
  for (const program::Action& action :
       program::program_for(model, {.batch = 2, .threads = 1, .epilogues = false}, kernels).actions)
    names.push_back(action.kind == program::Action::Kind::step ? action.kernel : "change");
  return names;
}

TEST(Choice, ALossThatLaterStepsMakeGoodIsTaken) {
  // Step by step, a relu in rows costs 1, and one in nhwc 0.25 and a change of 1.
  const RelusOfALayout rows("rows", Order::rows, 1, 1);
  const RelusOfALayout nhwc("nhwc", Order::nhwc, 1.5, 0.25);
  EXPECT_EQ(kernels_that_run(chain_of_relus(2), {&rows, &nhwc}), (std::vector<std::string>{"rows", "rows"}))
      << "2 are less than 1 + 1 + 0.25 + 1";
  EXPECT_EQ(kernels_that_run(chain_of_relus(6), {&rows, &nhwc}),
            (std::vector<std::string>{"rows", "change", "nhwc", "nhwc", "nhwc", "nhwc", "nhwc", "change"}))
      << "6 are more than 1 + 1 + 5 * 0.25 + 1";
}

TEST(Choice, APathIsFollowedHoweverLittleItSaves) {
  const RelusOfALayout rows("rows", Order::rows, 1, 1);
  const RelusOfALayout equal("nhwc", Order::nhwc, 1.5, 0.6);
  EXPECT_EQ(kernels_that_run(chain_of_relus(6), {&rows, &equal}), std::vector<std::string>(6, "rows"))
      << "1 + 1 + 5 * 0.6 + 1 = 6 of 6";
  const RelusOfALayout faster("nhwc", Order::nhwc, 1.5, 0.59);
  EXPECT_EQ(kernels_that_run(chain_of_relus(6), {&rows, &faster}).back(), "change") << "5.95 of 6";
}

/// Every assignment of layouts to the steps of a chain is priced.
TEST(Choice, ThePathOfAChainIsTheCheapestOfAll) {
  testing::Rng dice(64);
  for (int round = 0; round < 50; ++round) {
    const double first = dice.real(0.1, 3);
    const double others = dice.real(0.1, 3);
    const RelusOfALayout rows("rows", Order::rows, dice.real(0.1, 3), dice.real(0.1, 3));
    const RelusOfALayout nhwc("nhwc", Order::nhwc, first, others);
    const Model model = chain_of_relus(5);
    const program::CompileOptions options{.epilogues = false, .kernels = {&rows, &nhwc}};
    const auto seconds = [&](const RelusOfALayout& kernel, Index node) {
      const Request request{.model = model, .step = {node, {}}, .images = 2, .inputs = {{0, {2, 5, 4, 6}, {kRows}}}};
      return kernel.offers(request).front().seconds;
    };
    double least = 1e9;
    for (unsigned all = 0; all < 32; ++all) {
      double sum = 0;
      bool before = false;  // rows
      for (Index node = 0; node < 5; ++node) {
        const bool now = (all >> node & 1U) != 0;
        sum += (now != before ? 1 : 0) + seconds(now ? nhwc : rows, node);
        before = now;
      }
      least = std::min(least, sum + (before ? 1 : 0));
    }
    EXPECT_NEAR(program::cheapest_path(model, 2, options).seconds, least, 1e-9) << round;
  }
}

/// Bytes of a tensor after a change.
std::vector<std::byte> changed(const program::Kernel& kernel, const program::Change& change,
                               const std::vector<std::byte>& from) {
  std::vector<std::byte> to(program::bytes_of(change.to, change.shape), std::byte{7});
  const Offer offer = kernel.change(change);
  EXPECT_TRUE(offer.takes());
  const auto bound = offer.bind();
  bound->place({.inputs = {from.data()}, .output = to.data(), .scratch = nullptr, .constants = {}});
  bound->run();
  const std::vector<std::byte> untouched(4, std::byte{7});
  for (std::size_t i = 0; i + 4 <= to.size(); i += 4)
    EXPECT_FALSE(std::equal(untouched.begin(), untouched.end(), to.begin() + static_cast<std::ptrdiff_t>(i)))
        << "byte " << i << " of " << text(change.to) << " is not written";
  return to;
}

TEST(Layouts, AreChangedAlikeByAllKernels) {
  using program::ElementType;
  testing::Rng rng(62);
  std::vector<Layout> layouts;
  for (const Order order : {Order::rows, Order::nhwc, Order::nchw8c, Order::nchw16c})
    for (const ElementType type : {ElementType::fp32, ElementType::bf16}) layouts.push_back({order, type});
  const program::Kernel& plain = *testing::kernels_of("plain").back();
  const Kernels onednn = testing::kernels_of("onednn");
  for (const Shape& shape : {Shape{2, 20, 3, 5}, Shape{1, 3, 7}, Shape{3, 16, 1, 1}, Shape{2, 37, 4, 1}}) {
    const Tensor tensor = testing::random_tensor(rng, shape);
    std::vector<std::byte> rows(tensor.values.bytes());
    std::memcpy(rows.data(), tensor.values.data(), rows.size());
    for (const Layout& from : layouts)
      for (const Layout& to : layouts) {
        if (from == to) continue;
        const std::vector<std::byte> source = from == kRows ? rows : changed(plain, {shape, kRows, from}, rows);
        const std::vector<std::byte> result = changed(plain, {shape, from, to}, source);
        if (from.type == to.type && from.type == ElementType::fp32 && to != kRows) {
          EXPECT_EQ(changed(plain, {shape, to, kRows}, result), rows) << text(from) << " " << text(to);
        }
        if (onednn.empty()) continue;
        EXPECT_EQ(changed(*onednn.back(), {shape, from, to}, source), result) << text(from) << " " << text(to);
      }
  }
}

}  // namespace
}  // namespace spdnn
