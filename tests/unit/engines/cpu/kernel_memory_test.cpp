// What the CPU's kernels do with memory, whatever it holds before: they write their results, all of them, and their
// scratch, and nothing else; and constants of one node, part and form are the same bytes, whoever makes them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/system/host_memory.hpp"
#include "program/request.hpp"
#include "program/threads.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/quantised.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using program::Layout;
using program::Offer;
using program::Request;
using testing::ModelBuilder;
using testing::ModelCase;
using BytesOfMemory = std::vector<std::byte>;

/// Memory between guards; all bytes are alike at first.
class GuardedMemory {
 public:
  GuardedMemory(std::size_t bytes, std::byte before) : memory_(bytes + 2 * kGuard), bytes_(bytes), before_(before) {
    std::fill_n(memory_.data(), memory_.size(), before);
  }
  std::byte* data() const { return memory_.data() + kGuard; }
  BytesOfMemory copy() const { return {data(), data() + bytes_}; }
  bool is_intact() const {
    const auto is_as_before = [&](std::byte byte) { return byte == before_; };
    return std::all_of(memory_.data(), data(), is_as_before) &&
           std::all_of(data() + bytes_, data() + bytes_ + kGuard, is_as_before);
  }

 private:
  static constexpr std::size_t kGuard = 1024;
  HostMemory<std::byte> memory_;
  std::size_t bytes_;
  std::byte before_;
};

/// The bytes of constants by node, part and form.
using MadeConstants = std::map<std::tuple<Index, int, std::string>, BytesOfMemory>;

/// One offer, run in memory that is filled with some byte beforehand.
class OfferRun {
 public:
  OfferRun(const Request& request, const Offer& offer, std::byte before) {
    const auto bound = offer.bind();
    program::Operands at;
    std::vector<BytesOfMemory> given;
    for (std::size_t i = 0; i < offer.inputs.size(); ++i)
      at.inputs.push_back(give(request.inputs[i], offer, i, before));
    for (const GuardedMemory& one : memory_) given.push_back(one.copy());
    for (const program::Constant& constant : offer.constants) {
      at.constants.push_back(add(constant.bytes, before));
      constant.fill(memory_.back().data());
      constants_.push_back(memory_.back().copy());
      given.push_back(constants_.back());
    }
    if (offer.scratch > 0) at.scratch = add(offer.scratch, before);
    at.output = add(program::bytes_of(offer.output, request.output_shape()), before);
    bound->place(at);
    bound->run();
    result_ = memory_.back().copy();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (!memory_[i].is_intact()) fault_ = fmt::format("writes beside its operand {}", i);
      if (i < given.size() && memory_[i].copy() != given[i]) fault_ = fmt::format("changes its operand {}", i);
    }
  }
  const BytesOfMemory& result() const { return result_; }
  const std::vector<BytesOfMemory>& constants() const { return constants_; }
  const std::string& fault() const { return fault_; }

 private:
  std::byte* add(std::size_t bytes, std::byte before) { return memory_.emplace_back(bytes, before).data(); }
  const std::byte* give(const program::Input& input, const Offer& offer, std::size_t number, std::byte before) {
    testing::Rng rng(static_cast<std::uint32_t>(number));
    const Tensor rows = testing::random_tensor(rng, input.shape);
    const Layout& layout = offer.inputs[number];
    std::byte* const to = add(program::bytes_of(layout, input.shape), before);
    const Offer change =
        testing::kernels_of("plain").back()->change({input.shape, program::kRows, layout, 1, input.bytes});
    const auto bound = change.bind();
    bound->place({.inputs = {reinterpret_cast<const std::byte*>(rows.values.data())}, .output = to, .constants = {}});
    bound->run();
    return to;
  }

  std::vector<GuardedMemory> memory_;
  std::vector<BytesOfMemory> constants_;
  BytesOfMemory result_;
  std::string fault_;
};

/// The fault of an offer, empty if it has none.
std::string fault_of(const Request& request, const Offer& offer, MadeConstants& made) {
  const OfferRun run(request, offer, std::byte{0xff});  // what is not a number
  const OfferRun again(request, offer, std::byte{0x3f});
  if (run.result() != again.result()) return "has results that depend on what its memory held before";
  for (std::size_t i = 0; i < offer.constants.size(); ++i) {
    const program::Constant& constant = offer.constants[i];
    const auto [place, is_new] =
        made.try_emplace({request.step.node, constant.part, constant.form}, run.constants()[i]);
    const auto [a, b] = std::mismatch(place->second.begin(), place->second.end(), run.constants()[i].begin(),
                                      run.constants()[i].end());  // one may be followed by unused bytes
    if (a != place->second.end() && b != run.constants()[i].end())
      return "has other constants of the form " + constant.form;
  }
  return run.fault().empty() ? again.fault() : run.fault();
}

/// The faults of all kernels' offers for the steps of a model, with some batches and numbers of threads.
std::vector<std::string> faults_in(const ModelCase& one, Precision precision, const std::vector<Extent>& batches) {
  std::vector<std::string> faults;
  MadeConstants made;
  const bool bf16 = precision == Precision::bf16;
  const program::ByteForms forms = program::byte_forms_of(one.model);
  for (const Extent batch : batches)
    for (const int threads : {1, 3}) {
      const program::Threads of_openmp(threads);
      const program::CompileOptions options{.precision = precision,
                                            .type = bf16 ? program::ElementType::bf16 : program::ElementType::fp32,
                                            .kernels_for = static_cast<Index>(batch),
                                            .threads = threads};
      for (const Step& step : steps_of(one.model, true)) {
        program::LayoutsOfValues there;
        const Request request = request_for(one.model, step, batch, options, forms, there);
        for (const char* const family : {"sparse_linear", "sparse_conv", "sparse_int8", "depthwise", "onednn", "plain"})
          for (const program::Kernel* const kernel : testing::kernels_of(family, precision))
            for (const Offer& offer : kernel->offers(request)) {
              if (!offer.takes()) continue;
              if (const std::string fault = fault_of(request, offer, made); !fault.empty())
                faults.push_back(fmt::format("{}, node {} of {} images, {} threads: {} ({}) {}", one.name, step.node,
                                             batch, threads, kernel->name(), offer.detail, fault));
            }
      }
    }
  return faults;
}

/// Operations of all kinds, on images of odd sizes and on rows.
ModelCase operations_of_all_kinds() {
  testing::Rng rng(3);
  ModelBuilder builder;
  const ValueId images = builder.input({testing::kN, 19, 7, 5});
  const ValueId other = builder.add(Activation{}, {images});
  Activation slopes = testing::make_activation(Activation::Kind::prelu);
  slopes.alphas = testing::random_values(rng, 19, -1, 1);
  std::vector<ValueId> outputs;
  for (const Operation& operation :
       {Operation(slopes), Operation(testing::random_norm(rng, 19)), Operation(Softmax{1}),
        Operation(Pool{.window = {.kernel = {3, 2}, .stride = {2, 3}, .pad_begin = {1, 0}, .pad_end = {0, 1}}}),
        Operation(Pool{Pool::Kind::average, {.kernel = {2, 2}, .stride = {2, 2}}}), Operation(GlobalPool{}),
        Operation(Pad{{0, 1, 2, 0}, {0, 0, -1, 3}, 2}), Operation(Transpose{{0, 3, 1, 2}}),
        Operation(Reduce{Reduce::Kind::maximum, {2}}), Operation(Resize{.size = {14, 10}, .scale = {2, 2}}),
        Operation(Resize{.kind = Resize::Kind::linear, .size = {9, 4}, .scale = {9 / 7.F, 0.8F}})})
    outputs.push_back(builder.add(operation, {images}));
  outputs.push_back(builder.add(Concat{}, {images, other}));
  outputs.push_back(builder.add(Elementwise{Elementwise::Kind::subtract}, {images, other}));
  outputs.push_back(builder.add(Elementwise{}, {images, builder.constant(testing::random_tensor(rng, {1, 19, 1, 1}))}));
  outputs.push_back(builder.add(Elementwise{}, {images, builder.add(GlobalPool{}, {other})}));
  outputs.push_back(builder.add(MatMul{}, {images, builder.add(Transpose{{0, 1, 3, 2}}, {other})}));
  const ValueId flat = builder.add(Reshape{{testing::kN, 665}}, {other});
  outputs.push_back(builder.add(Activation{}, {builder.add(testing::random_linear(rng, 665, 107, 0.04), {flat})}));
  return {"operations", builder.finish(outputs), {}};
}

/// Convolutions, depthwise too, and a linear node of quantised values, with functions that are fused.
ModelCase operations_in_bytes(const ByteForm& form) {
  testing::Rng rng(4);
  const auto whole = [&](auto operation) {
    std::vector<float> values(operation.weights->entries());
    for (float& value : values) value = static_cast<float>(rng.below(9)) - 4.5F;
    CsrMatrix weights = operation.weights;
    weights.values = std::move(values);
    operation.weights = std::move(weights);
    return operation;
  };
  ModelBuilder builder;
  const ValueId images = testing::quantised(builder, builder.input({testing::kN, 21, 6, 7}), form);
  std::vector<ValueId> outputs;
  for (const auto& [filters, groups] : {std::pair{21U, 21U}, {30U, 3U}, {17U, 1U}}) {
    const ValueId sums = builder.add(
        whole(testing::random_convolution(rng, 21, filters, testing::same_window(3, 3), 0.3, groups)), {images});
    const ValueId shift = builder.add(testing::make_activation(Activation::Kind::tanh), {sums});
    const ValueId more = builder.add(
        whole(testing::random_convolution(rng, 21, filters, testing::same_window(3, 3), 0.3, groups)), {images});
    outputs.push_back(builder.add(Activation{}, {builder.add(Elementwise{}, {more, shift})}));
  }
  const ValueId flat = builder.add(Reshape{{testing::kN, 882}}, {images});
  outputs.push_back(builder.add(Activation{}, {builder.add(whole(testing::random_linear(rng, 882, 77, 0.2)), {flat})}));
  return {fmt::format("bytes, signed {}, zero {}", form.is_signed, form.zero), builder.finish(outputs), {}};
}

const std::vector<std::string> no_faults;

TEST(KernelMemory, IsWrittenWhereItIsTheKernelsAndReadWhereItIsWritten) {
  const std::vector<ModelCase> battery = testing::convolution_battery();
  for (std::size_t i = 0; i < battery.size(); i += testing::sampled(5U, 1U))
    EXPECT_EQ(faults_in(battery[i], Precision::fp32, {battery[i].inputs.front().shape[0], 1}), no_faults);
  EXPECT_EQ(faults_in(operations_of_all_kinds(), Precision::fp32, testing::sampled<Extent>({3}, {1, 3, 17})),
            no_faults);
  EXPECT_EQ(faults_in(operations_of_all_kinds(), Precision::bf16, {2}), no_faults);
  for (const ByteForm& form : {ByteForm{false, 0, 0.01F}, ByteForm{false, 3, 0.01F}, ByteForm{true, 0, 0.01F}})
    EXPECT_EQ(faults_in(operations_in_bytes(form), Precision::fp32, testing::sampled<Extent>({2}, {1, 3})), no_faults);
}

}  // namespace
}  // namespace spdnn
