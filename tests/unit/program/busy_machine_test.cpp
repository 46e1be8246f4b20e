// Short work on a busy machine: one thread does it, as the others would be waited for.

#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/threads/waiting.hpp"
#include "program/engine.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

/// Notes OpenMP's numbers of threads.
struct ThreadsSeen {
  std::vector<int> followed;
  std::vector<int> runs;
};

/// A kernel that is told of threads, and runs nothing else than another.
class SeenBound final : public program::Bound {
 public:
  SeenBound(std::unique_ptr<program::Bound> bound, ThreadsSeen& seen) : bound_(std::move(bound)), seen_(seen) {}
  void place(const program::Operands& at) override { bound_->place(at); }
  void follow_threads() override { seen_.followed.push_back(omp_get_max_threads()); }
  void run() override {
    seen_.runs.push_back(omp_get_max_threads());
    bound_->run();
  }

 private:
  std::unique_ptr<program::Bound> bound_;
  ThreadsSeen& seen_;
};

class SeenKernel final : public program::Kernel {
 public:
  SeenKernel(const program::Kernel& kernel, ThreadsSeen& seen) : kernel_(kernel), seen_(seen) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    std::vector<program::Offer> offers = kernel_.offers(request);
    for (program::Offer& offer : offers)
      offer.bind = [bind = offer.bind, this] { return std::make_unique<SeenBound>(bind(), seen_); };
    return offers;
  }

 private:
  const program::Kernel& kernel_;
  ThreadsSeen& seen_;
};

/// Work while more threads want processors than a machine may have that is not busy.
void on_busy_machine(const std::function<void()>& work) {
  std::atomic<bool> ended = false;
  std::vector<std::jthread> loops;
  for (long i = 0; i <= waiting::kBusy * ::sysconf(_SC_NPROCESSORS_ONLN); ++i)
    loops.emplace_back([&ended] {
      while (!ended) waiting::relax();
    });
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!waiting::machine_is_busy() && std::chrono::steady_clock::now() < last) std::this_thread::yield();
  EXPECT_TRUE(waiting::machine_is_busy());
  work();
  ended = true;
}

TEST(BusyMachine, ShortWorkTakesOneThreadThere) {
  ThreadsSeen seen;
  std::vector<std::unique_ptr<SeenKernel>> kernels;
  program::Kernels all;
  for (const program::Kernel* const kernel : testing::kernels_of("plain"))
    all.push_back(kernels.emplace_back(std::make_unique<SeenKernel>(*kernel, seen)).get());
  const auto engine_of_relu = [&](Extent numbers) {
    testing::ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, numbers});
    const auto model = std::make_shared<const Model>(
        builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})}));
    return program::make(model, {.batch = 1, .threads = 3}, all);
  };
  const auto run_on_ones = [&](ModelEngine& engine, Extent numbers) {
    engine.load(testing::make_tensor({1, numbers}, std::vector<float>(static_cast<std::size_t>(numbers), 1)));
    engine.advance(0, 1);
  };
  constexpr Extent kShort = 100;
  constexpr Extent kLong = 8'000'000;  // passes of more than a millisecond
  const auto of_short = engine_of_relu(kShort);
  const auto of_long = engine_of_relu(kLong);
  on_busy_machine([&] {
    run_on_ones(*of_short, kShort);
    run_on_ones(*of_long, kLong);
  });
  EXPECT_EQ(seen.followed, std::vector<int>{1});
  EXPECT_EQ(seen.runs, (std::vector<int>{1, 3}));
}

}  // namespace
}  // namespace spdnn
