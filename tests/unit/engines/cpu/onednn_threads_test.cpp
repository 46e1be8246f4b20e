// Numbers of threads and oneDNN's kernels: results do not depend on them, and one thread suffices where others would be
// waited for.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "model/graph/magnitudes.hpp"
#include "program/bound_program.hpp"
#include "program/compile.hpp"
#include "program/threads.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/quantised.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::ModelBuilder;
using testing::ModelCase;

/// The kernels of plain loops, and before them, preferred, those of oneDNN whose names have this part.
program::Kernels onednn_first(std::string_view part, Precision precision) {
  static std::vector<std::unique_ptr<testing::Favoured>> favoured;
  program::Kernels kernels;
  for (const program::Kernel* const kernel : testing::kernels_of("onednn", precision))
    if (kernel->name().find(part) != std::string_view::npos)
      kernels.push_back(favoured.emplace_back(std::make_unique<testing::Favoured>(*kernel)).get());
  for (const program::Kernel* const kernel : testing::kernels_of("plain", precision)) kernels.push_back(kernel);
  return kernels;
}

/// A model's program for a number of threads.
class OnThreads {
 public:
  OnThreads(const ModelCase& one, int threads, std::string_view kernels = "onednn",
            Precision precision = Precision::fp32)
      : model_(one.model), images_(one.inputs.front()), with_(threads) {
    const program::Program compiled = program::compile(
        model_, Magnitudes(model_), images_.shape.front(),
        {.precision = precision,
         .type = precision == Precision::bf16 ? program::ElementType::bf16 : program::ElementType::fp32,
         .threads = threads,
         .kernels = onednn_first(kernels, precision)});
    for (const program::Action& action : compiled.actions) {
      kernels_.insert(action.kernel);
      details_ += action.detail + " ";
    }
    bound_ = std::make_unique<program::BoundProgram>(
        compiled, constants_, program::Arenas{program::host_memory(compiled.arena.bytes), nullptr});
    bound_->set_input(images_.values.data());
  }

  const std::set<std::string>& kernels() const { return kernels_; }

  /// Whether oneDNN chose batch-reduced products of matrices, which some processors have, for a convolution.
  bool has_matrix_products() const { return details_.find("brg") != std::string::npos; }

  void follow(int threads) {
    const program::Threads now(threads);
    bound_->follow_threads();
  }

  /// All outputs of a run while OpenMP has that number of threads.
  std::vector<float> outputs_of_run(int threads) {
    const program::Threads now(threads);
    for (std::size_t i = 0; i < bound_->actions(); ++i) bound_->run(i);
    std::vector<float> all;
    for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
      const Shape shape = with_batch(model_.values[model_.outputs[i]].shape, images_.shape.front());
      all.insert(all.end(), bound_->output(i), bound_->output(i) + elements(shape).value());
    }
    return all;
  }

 private:
  const Model& model_;
  Tensor images_;
  program::Threads with_;
  program::Constants constants_;
  std::set<std::string> kernels_;
  std::string details_;
  std::unique_ptr<program::BoundProgram> bound_;
};

std::vector<float> outputs_on(int threads, const ModelCase& one, Precision precision = Precision::fp32) {
  return OnThreads(one, threads, "onednn", precision).outputs_of_run(threads);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The sum of two linear nodes and a ReLU.
ModelCase row_case(Index inputs, Index outputs, Extent rows = 1) {
  testing::Rng rng(outputs);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, inputs});
  const ValueId y = builder.add(testing::random_linear(rng, inputs, outputs, 0.8), {x});
  Linear without_bias = testing::random_linear(rng, inputs, outputs, 0.8);
  without_bias.bias.clear();
  const ValueId sum = builder.add(Elementwise{}, {builder.add(std::move(without_bias), {x}), y});
  const ValueId relu = builder.add(testing::make_activation(Activation::Kind::relu), {sum});
  return {fmt::format("{} to {}", inputs, outputs),
          builder.finish({y, relu}),
          {testing::random_tensor(rng, {rows, inputs})}};
}

TEST(OnednnThreads, OneRowHasTheSameBitsForAnyNumberOfThem) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  for (const auto& [inputs, outputs] :
       {std::pair{70U, 1U}, {70U, 10U}, {70U, 65U}, {70U, 128U}, {70U, 321U}, {2304U, 130U}, {2304U, 200U}}) {
    const ModelCase one = row_case(inputs, outputs);
    const std::vector<float> alone = outputs_on(1, one);
    const std::vector<Bounded> exact = evaluate(one.model, one.inputs);
    EXPECT_LE(largest_ratio(exact[0], {alone.data(), outputs}), 1) << one.name;
    EXPECT_LE(largest_ratio(exact[1], {alone.data() + outputs, outputs}), 1) << one.name;
    for (const int threads : {2, 3, 8}) EXPECT_TRUE(same_bits(outputs_on(threads, one), alone)) << one.name;
    EXPECT_EQ(OnThreads(one, 3).kernels(), std::set<std::string>{"onednn_linear"});
    if (testing::kernels_of("onednn", Precision::bf16).empty()) continue;
    EXPECT_TRUE(same_bits(outputs_on(3, one, Precision::bf16), outputs_on(1, one, Precision::bf16))) << one.name;
  }
}

/// Each row of the weights has a scale of its own.
TEST(OnednnThreads, OneRowInInt8IsExactForAnyNumberOfThem) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  constexpr Index kInputs = 90;
  constexpr Index kOutputs = 150;
  testing::Rng rng(8);
  testing::Rows rows(kOutputs);
  std::vector<float> bias;
  for (Index row = 0; row < kOutputs; ++row) {
    const float scale = std::ldexp(1.F, -static_cast<int>(3 + row % 5));
    for (Index column = 0; column < kInputs; ++column)
      rows[row].emplace_back(column, (static_cast<float>(rng.below(64)) + 1) * scale);
    bias.push_back(static_cast<float>(row) / 8);
  }
  ModelBuilder builder;
  const ValueId x = testing::quantised(builder, builder.input({kN, kInputs}), {false, 0, 0.25F});
  const ModelCase one{"int8",
                      builder.finish({builder.add(Linear{testing::make_matrix(kInputs, rows), bias}, {x})}),
                      {testing::random_tensor(rng, {1, kInputs})}};
  const std::vector<Bounded> exact = evaluate(one.model, one.inputs);
  for (const int threads : {1, 2, 3, 8}) {
    OnThreads program(one, threads, "int8");
    EXPECT_EQ(program.kernels().count("onednn_int8_linear"), 1);
    const std::vector<float> found = program.outputs_of_run(threads);
    for (Index i = 0; i < kOutputs; ++i) EXPECT_EQ(found[i], exact[0].values[i]) << threads << ": " << i;
  }
}

/// Operations that oneDNN's primitives compute without sums that threads share.
std::vector<ModelCase> cases_without_shared_sums() {
  testing::Rng rng(5);
  std::vector<ModelCase> cases;
  const auto add = [&](const std::string& name, const Shape& shape,
                       const std::function<ValueId(ModelBuilder&, ValueId)>& nodes) {
    ModelBuilder builder;
    const ValueId x = builder.input(shape);
    const ValueId y = nodes(builder, x);
    cases.push_back({name, builder.finish({y}), {testing::random_tensor(rng, with_batch(shape, 2))}});
  };
  const auto one_node = [&](const std::string& name, const Shape& shape, Operation operation) {
    add(name, shape, [&](ModelBuilder& builder, ValueId x) { return builder.add(std::move(operation), {x}); });
  };
  const Shape images{kN, 32, 17, 19};
  one_node("convolution", images, testing::random_convolution(rng, 32, 48, testing::same_window(3, 3), 0.9));
  one_node("1 x 1", images, testing::random_convolution(rng, 32, 64, {}, 0.9));
  add("convolution and ReLU", images, [&](ModelBuilder& builder, ValueId x) {
    const ValueId y = builder.add(testing::random_convolution(rng, 32, 32, testing::same_window(5, 5), 0.9), {x});
    return builder.add(testing::make_activation(Activation::Kind::relu), {y});
  });
  for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average})
    one_node("pool", images, Pool{kind, {.kernel = {3, 2}, .stride = {2, 1}}});
  one_node("global pool", images, GlobalPool{});
  one_node("batch norm", images, testing::random_norm(rng, 32));
  one_node("tanh", images, testing::make_activation(Activation::Kind::tanh));
  one_node("softmax", {kN, 1000}, Softmax{.axis = 1});
  add("product", images, [](ModelBuilder& builder, ValueId x) {
    return builder.add(Elementwise{Elementwise::Kind::multiply}, {x, x});
  });
  add("concat", images, [](ModelBuilder& builder, ValueId x) { return builder.add(Concat{.axis = 1}, {x, x}); });
  return cases;
}

std::set<std::string> threads_of_process() {
  std::set<std::string> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(task.path().filename().string());
  return all;
}

/// Runs in a thread that has not opened a team of OpenMP yet, and returns the number of threads that this starts. Those
/// of teams before may still be ending.
std::ptrdiff_t threads_started_by(const std::function<void()>& work) {
  std::ptrdiff_t started = 0;
  std::thread([&] {
    const std::set<std::string> before = threads_of_process();
    work();
    const std::set<std::string> after = threads_of_process();
    started = std::count_if(after.begin(), after.end(), [&](const auto& one) { return !before.contains(one); });
  }).join();
  return started;
}

TEST(OnednnThreads, OneSufficesWhereOthersWouldBeWaitedFor) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  for (const ModelCase& one : cases_without_shared_sums()) {
    OnThreads program(one, 3);
    EXPECT_TRUE(program.kernels().begin()->starts_with("onednn_")) << one.name;
    std::vector<float> by_three;
    std::vector<float> by_one;
    EXPECT_EQ(threads_started_by([&] { by_three = program.outputs_of_run(3); }), 2) << one.name;
    program.follow(1);
    const int others = program.has_matrix_products() ? 2 : 0;
    EXPECT_EQ(threads_started_by([&] { by_one = program.outputs_of_run(1); }), others) << one.name;
    EXPECT_TRUE(same_bits(by_one, by_three)) << one.name;
    EXPECT_EQ(threads_started_by([&] { EXPECT_TRUE(same_bits(program.outputs_of_run(3), by_three)); }), 2) << one.name;
  }
}

/// They share the sums of large rows, or add products in another order, so that one thread would round differently.
TEST(OnednnThreads, ProductsOfMatricesKeepTheirNumber) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  testing::Rng rng(6);
  std::vector<ModelCase> cases;
  for (const Index inputs : {300U, 2304U, 4096U}) {
    ModelBuilder builder;
    const ValueId x = builder.input({kN, inputs});
    cases.push_back({fmt::format("rows of {}", inputs),
                     builder.finish({builder.add(testing::random_linear(rng, inputs, 64, 0.8), {x})}),
                     {testing::random_tensor(rng, {2, inputs})}});
  }
  const Window window{.kernel = {2, 2}, .pad_begin = {1, 1}, .pad_end = {1, 1}};
  cases.push_back(testing::convolution_case("2 x 2", testing::random_convolution(rng, 192, 32, window, 0.9),
                                            {kN, 192, 9, 14}, testing::random_tensor(rng, {1, 192, 9, 14})));
  for (const ModelCase& one : cases)
    for (const int threads : {2, 3}) {
      OnThreads program(one, threads);
      const std::vector<float> before = program.outputs_of_run(threads);
      program.follow(1);
      EXPECT_TRUE(same_bits(program.outputs_of_run(1), before)) << one.name;
    }
}

/// Each of oneDNN's threads adds its part of a row's products.
TEST(OnednnThreads, AreAllThereThoughOpenMpMayTakeFewer) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  for (const Index inputs : {2304U, 4096U}) {
    const ModelCase one = row_case(inputs, 200, 3);
    const std::vector<Bounded> exact = evaluate(one.model, one.inputs);
    const std::size_t size = exact[0].values.size();
    for (const int more : {0, 1, 6}) {
      omp_set_dynamic(1);
      const std::vector<float> found = outputs_on(omp_get_num_procs() + more, one);
      EXPECT_EQ(omp_get_dynamic(), 1);
      omp_set_dynamic(0);
      EXPECT_LE(largest_ratio(exact[0], {found.data(), size}), 1) << one.name;
      EXPECT_LE(largest_ratio(exact[1], {found.data() + size, size}), 1) << one.name;
    }
  }
}

/// Descriptors that oneDNN 2.6 takes from its cache point into others, which may be gone.
TEST(OnednnCache, IsNotUsed) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  const OnThreads row(row_case(8, 8), 1);
  void* const library = ::dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "another version of oneDNN";
  const auto capacity_of = reinterpret_cast<int (*)(int*)>(::dlsym(library, "dnnl_get_primitive_cache_capacity"));
  int capacity = -1;
  EXPECT_EQ(capacity_of(&capacity), 0);
  EXPECT_EQ(capacity, 0);
  ::dlclose(library);
}

}  // namespace
}  // namespace spdnn
