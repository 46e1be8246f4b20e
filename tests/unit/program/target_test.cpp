// What the engine does with a device: here one whose memory is the host's, and whose kernels are those of `plain`.

#include "program/target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "core/system/stopwatch.hpp"
#include "program/bound_program.hpp"
#include "program/engine.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using program::Layout;
using program::Operands;
using program::Place;

class PretendedDevice final : public program::Target {
 public:
  std::string name() override { return name_; }
  void use() override {}
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override { return program::host_memory(bytes); }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    ++uploads;
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  std::vector<double> seconds(Index runs, const std::function<void()>& work) override {
    std::vector<double> seconds(runs);
    for (double& one : seconds) {
      const Stopwatch watch;
      work();
      one = watch.seconds();
    }
    return seconds;
  }
  std::function<void()> recorded(const std::function<void()>& work) override {
    ++records;
    return work;
  }
  void wait() override {}
  std::size_t memory_budget() override { return budget; }
  std::function<std::unique_ptr<program::Bound>()> watch(const std::vector<program::Watch>& tensors) override {
    return [tensors] {
      return program::bound([tensors](const Operands& at) {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          const auto is_within = [&](float x) { return std::abs(x) <= tensors[i].most; };
          const std::size_t count = elements(tensors[i].shape).value();
          at.results()[i] = std::all_of(at.floats(i), at.floats(i) + count, is_within) ? 0.F : 1.F;
        }
      });
    };
  }

  std::atomic<int> uploads = 0;
  int records = 0;
  std::size_t budget = std::size_t{1} << 30U;
  std::string name_ = "a pretended device";
};

/// A kernel of the host whose tensors are in the device's memory.
class OnPretendedDevice final : public program::Kernel {
 public:
  explicit OnPretendedDevice(const program::Kernel& host) : host_(host) {}
  std::string_view name() const override { return host_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    program::Request of_host = request;
    for (program::Input& input : of_host.inputs)
      for (Layout& layout : input.layouts) layout = placed(layout, Place::host);
    std::vector<program::Offer> offers = host_.offers(of_host);
    std::erase_if(offers, [](const program::Offer& offer) { return !offer.takes(); });
    for (program::Offer& offer : offers) {
      for (Layout& layout : offer.inputs) layout = placed(layout, Place::device);
      offer.output = placed(offer.output, Place::device);
      offer.scratch_on_device = true;
      for (program::Constant& constant : offer.constants) constant.on_device = true;
    }
    return offers;
  }
  program::Offer change(const program::Change& change) const override {
    const program::Change of_host{change.shape, placed(change.from, Place::host), placed(change.to, Place::host),
                                  change.threads};
    if (of_host.from != of_host.to && of_host.from.order != program::Order::images32) return host_.change(of_host);
    return {.bind = [bytes = elements(change.shape).value() * sizeof(float)] {
      return program::bound([=](const Operands& at) { std::memcpy(at.output, at.inputs[0], bytes); });
    }};
  }

 private:
  static Layout placed(const Layout& layout, Place place) { return {layout.order, layout.type, place}; }

  const program::Kernel& host_;
};

class PretendedDeviceTest : public ::testing::Test {
 protected:
  PretendedDeviceTest() {
    for (const program::Kernel* const kernel : testing::kernels_of("plain")) {
      kernels_.push_back(std::make_unique<OnPretendedDevice>(*kernel));
      offered_.push_back(kernels_.back().get());
    }
  }
  std::unique_ptr<ModelEngine> engine(const Model& model) const {
    return program::make(std::make_shared<const Model>(model), {.batch = 5, .threads = 1}, offered_, device_);
  }
  static std::vector<Tensor> run_once(ModelEngine& engine, const Model& model, const Tensor& images,
                                      const Tensor* announced = nullptr) {
    const auto depth = static_cast<Index>(model.nodes.size());
    engine.load(images);
    for (Index next = 0; next < depth;) next = engine.advance(next, depth);
    if (announced != nullptr) engine.announce(*announced);
    return engine.outputs();
  }
  static bool equal_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
      return x.shape == y.shape && std::memcmp(x.values.data(), y.values.data(), x.values.bytes()) == 0;
    });
  }

  std::shared_ptr<PretendedDevice> device_ = std::make_shared<PretendedDevice>();
  std::vector<std::unique_ptr<OnPretendedDevice>> kernels_;
  program::Kernels offered_;
  testing::ModelCase network_ = testing::small_network(3, 0.5, 5);
};

TEST_F(PretendedDeviceTest, OutputsAreWithinTheBoundInEveryRun) {
  const auto engine = this->engine(network_.model);
  const std::vector<Bounded> expected = evaluate(network_.model, network_.inputs);
  for (int time = 0; time < 3; ++time) {
    const std::vector<Tensor> found = run_once(*engine, network_.model, network_.inputs.front());
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LE(largest_ratio(expected[i], found[i].values), 1);
  }
}

TEST_F(PretendedDeviceTest, ABatchBeyondItsMemoryIsTooLarge) {
  const ModelEngineOptions options{.batch = 5, .threads = 1};
  const program::Program program = program::program_for(network_.model, options, offered_, device_.get());
  const auto support = [&] { return program::support_of(program, network_.model, options, device_.get()); };
  device_->budget = 1000;
  const std::size_t needed = support().working_bytes;
  EXPECT_TRUE(support().too_large);
  EXPECT_EQ(support().why_not, "needs " + std::to_string(needed) +
                                   " bytes of the device's memory for weights and activations; 1000 are available");
  device_->budget = needed;
  EXPECT_TRUE(support().takes()) << support().why_not;
}

TEST_F(PretendedDeviceTest, KernelsAreRecordedInTheSecondRunForEachPlaceOfTheImages) {
  const auto engine = this->engine(network_.model);
  const Tensor& images = network_.inputs.front();
  run_once(*engine, network_.model, images);
  EXPECT_EQ(device_->records, 0);
  run_once(*engine, network_.model, images);
  const int chains = device_->records;
  EXPECT_GT(chains, 0);
  run_once(*engine, network_.model, images, &images);
  EXPECT_EQ(device_->records, chains);
  run_once(*engine, network_.model, images);  // in the other place
  EXPECT_EQ(device_->records, 2 * chains);
}

TEST_F(PretendedDeviceTest, ImagesThatWereAnnouncedAreCopiedOnce) {
  testing::Rng rng(41);
  const Shape& input = network_.model.values[network_.model.inputs.front()].shape;
  std::vector<Tensor> batches;
  for (const Extent images : {5, 5, 3, 5}) batches.push_back(testing::random_tensor(rng, with_batch(input, images)));
  const auto engine = this->engine(network_.model);
  std::vector<std::vector<Tensor>> alone;
  for (const Tensor& batch : batches) alone.push_back(run_once(*engine, network_.model, batch));
  const int before = device_->uploads;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Tensor* const next = i + 1 < batches.size() ? &batches[i + 1] : nullptr;
    EXPECT_TRUE(equal_bits(run_once(*engine, network_.model, batches[i], next), alone[i])) << i;
  }
  EXPECT_EQ(device_->uploads, before + static_cast<int>(batches.size()));
  // Others are loaded than those that were announced.
  for (std::size_t i = 0; i < batches.size(); ++i)
    EXPECT_TRUE(equal_bits(run_once(*engine, network_.model, batches[i], &batches[(i + 2) % 4]), alone[i])) << i;
}

/// Linear layers of 8 inputs, so many that several values have to be looked at for overflow.
Model deep_model() {
  testing::ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 8});
  for (int layer = 0; layer < 60; ++layer) {
    testing::Rows rows(8);
    for (auto& row : rows)
      for (Index column = 0; column < 8; ++column) row.emplace_back(column, 4.F);
    x = builder.add(Linear{testing::make_matrix(8, rows), {}}, {x});
  }
  return builder.finish({builder.add(testing::make_clip(0, 1), {x})});
}

TEST_F(PretendedDeviceTest, ValuesAreLookedAtForOverflowTogether) {
  const Model model = deep_model();
  const ModelEngineOptions options{.batch = 5, .threads = 1};
  const program::Program program = program::program_for(model, options, offered_, device_.get());
  EXPECT_GT(program.watched.size(), 3);
  EXPECT_EQ(std::count_if(program.actions.begin(), program.actions.end(),
                          [](const auto& action) { return action.kind == program::Action::Kind::watch; }),
            1);
  const auto of_device = engine(model);
  const auto of_host = program::make(std::make_shared<const Model>(model), options, testing::kernels_of("plain"));
  std::vector<std::optional<Index>> found;
  for (const float pixel : {1.F, 0.F, 1e-20F, 1e-35F, 1.F}) {
    const Tensor images = testing::make_tensor({2, 8}, std::vector<float>(16, pixel));
    run_once(*of_device, model, images);
    run_once(*of_host, model, images);
    EXPECT_EQ(of_device->overflow(), of_host->overflow()) << pixel;
    found.push_back(of_device->overflow());
  }
  EXPECT_TRUE(found[0] && !found[1] && found[2] > found[0]);
}

TEST_F(PretendedDeviceTest, ValuesThatAreToBeLookedAtTakeNoMoreThan64MiB) {
  const ModelEngineOptions options{.batch = 1U << 20U, .threads = 1};  // 32 MiB a value
  const program::Program program = program::program_for(deep_model(), options, offered_, device_.get());
  std::vector<std::size_t> together;
  for (const program::Action& action : program.actions)
    if (action.kind == program::Action::Kind::watch) together.push_back(action.inputs.size());
  EXPECT_EQ(std::accumulate(together.begin(), together.end(), std::size_t{0}), program.watched.size());
  ASSERT_GT(together.size(), 1U);
  together.pop_back();  // those that are left at the end
  for (const std::size_t values : together) EXPECT_EQ(values, 2U);
}

/// A kernel whose steps note, by node, whether their first inputs are older than the action before.
class NotingAge final : public program::Kernel {
 public:
  NotingAge(const program::Kernel& kernel, std::map<Index, bool>& older) : kernel_(kernel), older_(older) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    std::vector<program::Offer> offers = kernel_.offers(request);
    for (program::Offer& offer : offers)
      offer.bind = [bind = offer.bind, &older = older_[request.step.node]] {
        return program::bound([inner = std::shared_ptr(bind()), &older](const Operands& at) {
          older = at.first_input_is_older;
          inner->place(at);
          inner->run();
        });
      };
    return offers;
  }
  program::Offer change(const program::Change& change) const override { return kernel_.change(change); }

 private:
  const program::Kernel& kernel_;
  std::map<Index, bool>& older_;
};

TEST_F(PretendedDeviceTest, AShortcutsInputIsOlderThanTheActionBefore) {
  testing::Rng rng(6);
  testing::ModelBuilder builder;
  const auto convolved = [&](ValueId x) {
    return builder.add(testing::random_convolution(rng, 4, 4, testing::same_window(3, 3), 0.5), {x});
  };
  const ValueId begin = convolved(builder.input({kBatchExtent, 4, 6, 6}));
  const ValueId first = convolved(begin);
  const ValueId second = convolved(first);
  const ValueId shortcut = convolved(begin);
  const Model model = builder.finish({builder.add(Elementwise{}, {second, shortcut})});
  std::map<Index, bool> older;
  std::vector<std::unique_ptr<NotingAge>> noting;
  program::Kernels kernels;
  for (const program::Kernel* const kernel : offered_)
    kernels.push_back(noting.emplace_back(std::make_unique<NotingAge>(*kernel, older)).get());
  const auto engine = program::make(std::make_shared<const Model>(model), {.batch = 5, .threads = 1}, kernels, device_);
  run_once(*engine, model, testing::random_tensor(rng, {5, 4, 6, 6}));
  EXPECT_FALSE(older.at(0)) << "nothing is before it";
  EXPECT_FALSE(older.at(1));
  EXPECT_FALSE(older.at(2));
  EXPECT_TRUE(older.at(3));
}

TEST_F(PretendedDeviceTest, ItsProgramsAreStored) {
  Model model = network_.model;
  const ModelEngineOptions options{.batch = 5, .threads = 1};
  const program::Program made = program::program_for(model, options, offered_, device_.get());
  model.program = StoredProgram{"here", program::text_to_store(made, model, options, offered_, device_.get())};
  const auto remark = [&] { return program::program_for(model, options, offered_, device_.get()).remarks.back(); };
  EXPECT_EQ(remark(), "the program stored with the model is used");
  device_->name_ = "another device";
  EXPECT_EQ(remark(),
            "the program stored with the model is not used, and another compiled: its device: a pretended device, now: "
            "another device");
}

/// A kernel that divides its work in two ways, of which the one that is predicted to be the fastest sleeps.
class TwoTilings final : public program::Kernel {
 public:
  explicit TwoTilings(const program::Kernel& kernel) : kernel_(kernel) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    std::vector<program::Offer> offers = kernel_.offers(request);
    if (offers.empty()) return {};
    offers.resize(1);
    offers[0].detail = "slow";
    offers[0].seconds = 1e-9;
    offers.push_back(offers[0]);
    offers[1].detail = "fast";
    offers[1].seconds = 2e-9;
    offers[0].bind = [bind = offers[0].bind] {
      return program::bound([inner = std::shared_ptr(bind())](const Operands& at) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        inner->place(at);
        inner->run();
      });
    };
    if (!request.every_tiling) offers.resize(1);
    return offers;
  }
  program::Offer change(const program::Change& change) const override { return kernel_.change(change); }

 private:
  const program::Kernel& kernel_;
};

TEST_F(PretendedDeviceTest, TilingsAreMeasuredAndFoundAgain) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 8});
  Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})});
  std::vector<std::unique_ptr<TwoTilings>> two;
  program::Kernels kernels;
  for (const program::Kernel* const kernel : offered_)
    kernels.push_back(two.emplace_back(std::make_unique<TwoTilings>(*kernel)).get());
  const ModelEngineOptions options{.batch = 5, .threads = 1};
  const auto detail = [](const program::Program& program) {
    for (const program::Action& action : program.actions)
      if (action.kind == program::Action::Kind::step) return action.detail;
    return std::string("none");
  };
  const auto again = [&] { return program::program_for(model, options, kernels, device_.get()); };
  EXPECT_EQ(detail(again()), "slow");
  const program::Program tuned = program::tuned_program_for(model, options, kernels, {}, device_.get()).program;
  EXPECT_EQ(detail(tuned), "fast");
  EXPECT_TRUE(tuned.remarks.back().starts_with("kernels by measured times; shortest of 15 runs: "));
  EXPECT_TRUE(tuned.remarks.back().ends_with("; the first is stored")) << tuned.remarks.back();
  model.program = StoredProgram{"here", program::text_to_store(tuned, model, options, kernels, device_.get())};
  EXPECT_EQ(detail(again()), "fast");
  EXPECT_EQ(again().remarks.back(), "the program stored with the model is used");
}

}  // namespace
}  // namespace spdnn
