// Programs of models with quantised values: int8 between nodes, and the kernels that take them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/graph/magnitudes.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "prune/quantise_values.hpp"
#include "support/kernel_contract.hpp"
#include "support/models.hpp"
#include "support/quantised.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using program::ElementType;
using testing::kN;

std::string text(const ByteForm& form) {
  return fmt::format("{} zero {} scale {}", form.is_signed ? "s8" : "u8", form.zero, form.scale);
}

/// All kernels of the CPU; those named favoured, wherever they offer anything.
program::Kernels kernels_favouring(const std::vector<std::string>& names) {
  static std::vector<std::unique_ptr<testing::Favoured>> favoured;
  program::Kernels kernels;
  for (const char* const family : {"sparse_linear", "sparse_conv", "sparse_int8", "depthwise", "onednn", "plain"})
    for (const program::Kernel* const kernel : testing::kernels_of(family)) {
      if (std::find(names.begin(), names.end(), kernel->name()) == names.end()) {
        kernels.push_back(kernel);
        continue;
      }
      favoured.push_back(std::make_unique<testing::Favoured>(*kernel));
      kernels.push_back(favoured.back().get());
    }
  return kernels;
}

/// Of a kernel only what it makes in bytes, which is chosen whatever changes that needs.
class OnlyBytes final : public program::Kernel {
 public:
  explicit OnlyBytes(const program::Kernel& kernel) : kernel_(kernel) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    std::vector<program::Offer> offers = kernel_.offers(request);
    std::erase_if(offers, [](const program::Offer& offer) { return !is_bytes(offer.output.type); });
    for (program::Offer& offer : offers) offer.seconds = -1;
    return offers;
  }

 private:
  const program::Kernel& kernel_;
};

std::vector<Tensor> outputs_by(const program::Kernels& kernels, const testing::ModelCase& one) {
  const auto batch = static_cast<Index>(one.inputs.front().shape.front());
  const auto engine = program::make(std::make_shared<const Model>(one.model), {.batch = batch, .threads = 2}, kernels);
  const auto depth = static_cast<Index>(one.model.nodes.size());
  engine->load(one.inputs.front());
  for (Index next = 0; next < depth;) next = engine->advance(next, depth);
  return engine->outputs();
}

/// The first number that differs from the oracle's in fp64; empty if all are equal.
std::string first_other(const program::Kernels& kernels, const testing::ModelCase& one,
                        const std::vector<Bounded>& exact) {
  const std::vector<Tensor> found = outputs_by(kernels, one);
  for (std::size_t o = 0; o < found.size(); ++o)
    for (std::size_t i = 0; i < exact[o].values.size(); ++i)
      if (found[o].values[i] != exact[o].values[i])
        return fmt::format("{}: number {} of output {} is {}, not {}", one.name, i, o, found[o].values[i],
                           exact[o].values[i]);
  return {};
}

// ---- One value ----

const std::vector<ByteForm>& forms() {
  static const std::vector<ByteForm> all{{false, 0, 0.25F},    {true, 0, 0.25F},    {false, 128, 0.5F},
                                         {false, 255, 0.125F}, {true, -128, 0.25F}, {true, 127, 2},
                                         {false, 3, 0.1F},     {true, -7, 0.3F},    {false, 0, 1e-6F}};
  return all;
}

/// Numbers around each limit, halves between integers, and far away ones, of every form.
Tensor numbers_of(const ByteForm& form) {
  std::vector<float> numbers;
  for (int q = -300; q <= 300; ++q)
    for (const float offset : {0.F, 0.5F, 0.49F, -0.49F})
      numbers.push_back((static_cast<float>(q) + offset) * form.scale);
  for (const float far : {1e6F, -1e6F, 1e30F, -1e30F, 0.F, -0.F}) numbers.push_back(far);
  const auto count = static_cast<Extent>(numbers.size());
  return testing::make_tensor({1, count}, std::move(numbers));
}

TEST(Int8Programs, AValueIsRoundedAsItsNodesSay) {
  program::Kernels all_in_bytes = testing::kernels_of("plain");
  const auto quantise = std::find_if(all_in_bytes.begin(), all_in_bytes.end(),
                                     [](const auto* kernel) { return kernel->name() == "plain_quantise"; });
  ASSERT_NE(quantise, all_in_bytes.end());
  const OnlyBytes only_bytes(**quantise);
  *quantise = &only_bytes;
  for (const ByteForm& form : forms()) {
    testing::ModelBuilder builder;
    const Tensor numbers = numbers_of(form);
    const ValueId x = builder.input({kN, numbers.shape[1]});
    // ReLU of the rounded value reads fp32, whatever the value was made in.
    const ValueId y = testing::quantised(builder, x, form);
    const ValueId z = builder.add(testing::make_activation(Activation::Kind::relu), {y});
    const testing::ModelCase one{text(form), builder.finish({y, z}), {numbers}};
    const std::vector<Tensor> found = outputs_by(kernels_favouring({}), one);
    const std::vector<Tensor> in_bytes = outputs_by(all_in_bytes, one);
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
      const float whole = std::nearbyint(numbers.values[i] / form.scale) + static_cast<float>(form.zero);
      const float limited = std::clamp(whole, static_cast<float>(form.low()), static_cast<float>(form.high()));
      const float wanted = (limited - static_cast<float>(form.zero)) * form.scale;
      EXPECT_EQ(found[0].values[i], wanted) << one.name << ": " << numbers.values[i];
      EXPECT_EQ(in_bytes[0].values[i], wanted) << one.name << ": " << numbers.values[i];
      EXPECT_EQ(in_bytes[1].values[i], std::max(wanted, 0.F)) << one.name << ": " << numbers.values[i];
    }
  }
}

/// Every change between fp32 and bytes, in any order of images, gives the numbers back.
TEST(Int8Programs, BytesChangeOrderAndTypeWithoutLoss) {
  testing::Rng rng(31);
  const Shape shape{2, 19, 3, 5};
  const auto count = static_cast<std::size_t>(*elements(shape));
  const program::Kernel& change = *testing::kernels_of("plain").back();
  const auto changed = [&](const program::Change& wanted, const std::vector<std::byte>& from) {
    std::vector<std::byte> to(program::bytes_of(wanted.to, shape) + 64);
    const auto bound = change.change(wanted).bind();
    bound->place({.inputs = {from.data()}, .output = to.data(), .scratch = nullptr, .constants = {}});
    bound->run();
    return to;
  };
  for (const ByteForm& form : forms()) {
    std::vector<float> numbers(count);
    for (float& number : numbers)
      number = static_cast<float>(static_cast<int>(rng.below(256)) + form.low() - form.zero) * form.scale;
    std::vector<std::byte> rows(count * sizeof(float));
    std::memcpy(rows.data(), numbers.data(), rows.size());
    const ElementType bytes = form.is_signed ? ElementType::s8 : ElementType::u8;
    for (const program::Order first : {program::Order::rows, program::Order::nhwc})
      for (const program::Order second : {program::Order::rows, program::Order::nhwc}) {
        const program::Layout small{first, bytes};
        const program::Layout other{second, bytes};
        const auto made = changed({shape, program::kRows, small, 1, form}, rows);
        const auto moved = changed({shape, small, other, 1, form}, made);
        const auto back = changed({shape, other, program::kRows, 1, form}, moved);
        EXPECT_EQ(std::memcmp(back.data(), rows.data(), rows.size()), 0) << text(form);
      }
  }
}

TEST(PlainChange, LeavesFp16ToDevices) {
  const program::Layout halves{program::Order::rows, ElementType::fp16};
  const program::Kernel& change = *testing::kernels_of("plain").back();
  EXPECT_FALSE(change.change({{1, 2}, halves, program::kRows}).takes());
  EXPECT_FALSE(change.change({{1, 2}, program::kRows, halves}).takes());
}

// ---- Random models whose sums are exact in fp32 ----

// Scales are powers of two and weights have at most 7 bits, so that no sum of fp32 is rounded, in any order, and every
// kernel has to find the oracle's numbers, ties of rounding included. 64 and 1 in each row let no scale be found but
// that one.

CsrMatrix whole_weights_of(testing::Rng& rng, Index rows, Index cols, double density) {
  testing::Rows all(rows);
  for (auto& row : all) {
    const float scale = std::ldexp(1.F, -static_cast<int>(3 + rng.below(4)));
    row = {{0, 64 * scale}, {1, scale}};
    for (Index column = 2; column < cols; ++column)
      if (const auto number = static_cast<float>(rng.below(129)) - 64; number != 0 && rng.real(0, 1) < density)
        row.emplace_back(column, number * scale);
  }
  return testing::make_matrix(cols, all);
}

std::vector<float> whole_bias(testing::Rng& rng, Index count) {
  std::vector<float> bias(count);
  for (float& number : bias) number = (static_cast<float>(rng.below(65)) - 32) / 8;
  return bias;
}

class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : rng_(seed), name_(fmt::format("seed {}", seed)) {}

  testing::ModelCase made() {
    const Extent size = 4 + rng_.below(4);
    const Shape shape{kN, 1 + rng_.below(9), size, size};
    ValueId x = builder_.input(shape);
    channels_ = static_cast<Index>(shape[1]);
    std::vector<ValueId> outputs;
    for (int layer = 0; layer < 4; ++layer) {
      const ValueId y = testing::quantised(builder_, x, form());
      if (rng_.below(5) == 0) outputs.push_back(y);
      x = convolved(y);
      if (rng_.below(3) == 0) x = builder_.add(Elementwise{}, {x, convolved_alike(y)});
      if (rng_.below(2) == 0) x = builder_.add(testing::make_activation(Activation::Kind::relu), {x});
      if (rng_.below(3) == 0)
        x = builder_.add(Pool{.kind = Pool::Kind::max, .window = testing::same_window(3, 3)}, {x});
    }
    const Index features = channels_ * static_cast<Index>(size * size);
    ValueId y = testing::quantised(builder_, x, form());  // a view of bytes
    y = builder_.add(Reshape{{kN, Extent{features}}}, {y});
    outputs.push_back(
        builder_.add(Linear{whole_weights_of(rng_, 7, features, 400.0 / features), whole_bias(rng_, 7)}, {y}));
    testing::ModelCase one{name_, builder_.finish(std::move(outputs)), {}};
    Shape images = shape;
    images[0] = 1 + rng_.below(3);
    one.inputs.push_back(testing::random_tensor(rng_, images));
    return one;
  }

 private:
  ByteForm form() {
    ByteForm form{rng_.below(3) == 0, 0, std::ldexp(1.F, -static_cast<int>(rng_.below(5)))};
    if (rng_.below(4) == 0) form.zero = form.low() + static_cast<int>(rng_.below(256));
    return form;
  }
  ValueId convolved_alike(ValueId x) {
    const Index taps = window_.kernel[0] * window_.kernel[1];
    return builder_.add(Convolution{.weights = whole_weights_of(rng_, channels_, before_ / groups_ * taps, density_),
                                    .bias = whole_bias(rng_, channels_),
                                    .groups = groups_,
                                    .window = window_},
                        {x});
  }
  ValueId convolved(ValueId x) {
    before_ = channels_;
    groups_ = rng_.below(4) == 0 ? before_ : 1;
    const Index kernel = groups_ > 1 || before_ == 1 || rng_.below(2) == 0 ? 3 : 1;
    window_ = testing::same_window(kernel, kernel);
    channels_ = groups_ * (1 + static_cast<Index>(rng_.below(groups_ == 1 ? 18 : 2)));
    density_ = rng_.below(2) == 0 ? 1 : 0.2;
    return convolved_alike(x);
  }

  testing::Rng rng_;
  std::string name_;
  testing::ModelBuilder builder_;
  Index channels_ = 1;
  Index before_ = 1;
  Index groups_ = 1;
  Window window_;
  double density_ = 1;
};

/// The kernels with weights of a program that read bytes.
std::set<std::string> kernels_of_bytes(const Model& model, const program::Kernels& kernels) {
  const program::Program program =
      program::compile(model, Magnitudes(model), 2, {.kernels_for = 2, .threads = 2, .kernels = kernels});
  std::set<std::string> names;
  for (const program::Action& action : program.actions)
    if (action.kind == program::Action::Kind::step && is_bytes(action.inputs.front().layout.type))
      names.insert(action.kernel);
  return names;
}

TEST(Int8Programs, RandomModelsHaveTheNumbersOfTheReference) {
  std::set<std::string> used;
  for (std::uint32_t seed = 0; seed < testing::sampled(10U, 60U); ++seed) {
    const testing::ModelCase one = RandomModel(seed).made();
    const std::vector<Bounded> exact = evaluate(one.model, one.inputs);
    EXPECT_EQ(first_other(kernels_favouring({}), one, exact), "");
    for (const std::vector<std::string>& names :
         {std::vector<std::string>{"sparse_int8", "sparse_int8_linear"}, {"onednn_int8", "onednn_int8_linear"}}) {
      const program::Kernels kernels = kernels_favouring(names);
      EXPECT_EQ(first_other(kernels, one, exact), "") << names.front();
      used.merge(kernels_of_bytes(one.model, kernels));
    }
  }
  std::set<std::string> expected{"sparse_int8", "sparse_int8_linear"};
  if (!testing::kernels_of("onednn").empty())
    expected.merge(std::set<std::string>{"onednn_int8", "onednn_int8_linear"});
  EXPECT_EQ(used, expected);
}

/// The kinds of values that lie between nodes, in the order of the program's steps.
std::string types_made(const Model& model, const program::Kernels& kernels) {
  const program::Program program =
      program::compile(model, Magnitudes(model), 2, {.kernels_for = 2, .threads = 2, .kernels = kernels});
  std::string all;
  for (const program::Action& action : program.actions)
    if (action.kind != program::Action::Kind::watch)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", action.kernel, program::text(action.output.layout));
  return all;
}

TEST(Int8Programs, BytesLieBetweenARoundedValueAndItsReaders) {
  testing::Rng rng(32);
  testing::ModelBuilder builder;
  ValueId x = testing::quantised(builder, builder.input({kN, 8, 20, 20}), {false, 0, 0.5F});
  x = builder.add(
      Convolution{.weights = whole_weights_of(rng, 8, 72, 0.1), .bias = {}, .window = testing::same_window(3, 3)}, {x});
  x = testing::quantised(builder, builder.add(testing::make_activation(Activation::Kind::relu), {x}), {false, 0, 1});
  x = builder.add(
      Convolution{.weights = whole_weights_of(rng, 8, 72, 0.1), .bias = {}, .window = testing::same_window(3, 3)}, {x});
  const Model model = builder.finish({x});
  EXPECT_EQ(types_made(model, kernels_favouring({"sparse_int8"})),
            "plain_quantise rows u8, sparse_int8 rows, plain_quantise rows u8, sparse_int8 rows");
}

/// The kernels of a chain of convolutions between quantised values, which are outputs, or only the last value is.
std::vector<std::string> kernels_of_chain(Extent size, bool open) {
  testing::Rng rng(34);
  testing::ModelBuilder builder;
  std::vector<ValueId> values;
  ValueId x = builder.input({kN, 8, size, size});
  for (int layer = 0; layer < 3; ++layer) {
    values.push_back(testing::quantised(builder, x, {false, 0, 0.5F}));
    x = builder.add(
        Convolution{.weights = whole_weights_of(rng, 8, 72, 0.2), .bias = {}, .window = testing::same_window(3, 3)},
        {values.back()});
  }
  if (!open) values.clear();
  values.push_back(x);
  const Model model = builder.finish(values);
  const program::Program program =
      program::compile(model, Magnitudes(model), 4, {.kernels_for = 4, .threads = 1, .kernels = kernels_favouring({})});
  std::vector<std::string> names;
  for (const program::Action& action : program.actions)
    if (action.kind == program::Action::Kind::step) names.push_back(action.kernel);
  return names;
}

/// As when each quantised value is compared with the reference.
TEST(Int8Programs, KernelsStayTheSameIfQuantisedValuesAreOutputs) {
  for (const Extent size : {2, 4}) EXPECT_EQ(kernels_of_chain(size, true), kernels_of_chain(size, false)) << size;
}

/// Numbers so large that sums of them must be looked at: bytes are looked at as the numbers that they stand for.
TEST(Int8Programs, OverflowIsFoundBehindBytes) {
  testing::Rng rng(33);
  testing::ModelBuilder builder;
  ValueId x = builder.input({kN, 4});
  const float huge = std::ldexp(1.F, 104);
  const Linear large{testing::make_matrix(4, {{{0, huge}}, {{1, huge}}, {{2, huge}}, {{3, huge}}}), {}};
  x = testing::quantised(builder, x, {false, 0, std::ldexp(1.F, 18)});
  const Model model = builder.finish({builder.add(large, {x})});
  const auto overflow_of = [&](float number) {
    const auto engine = program::make(std::make_shared<const Model>(model), {.batch = 1, .threads = 1},
                                      kernels_favouring({"sparse_int8_linear"}));
    engine->load(testing::make_tensor({1, 4}, {number, 0, 0, number}));
    for (Index next = 0; next < model.nodes.size();)
      next = engine->advance(next, static_cast<Index>(model.nodes.size()));
    return engine->overflow().has_value();
  };
  EXPECT_FALSE(overflow_of(std::ldexp(1.F, 18)));
  EXPECT_TRUE(overflow_of(std::ldexp(3.F, 20))) << "beyond 2^20, and 12 steps of the scale";
}

/// A filter may be all but zero, and its scale with it: results are its bias, and neither NaN nor infinity.
TEST(Int8Programs, ProductsOfScalesStayWithinNormalNumbers) {
  for (const auto& [of_input, of_weights] : {std::pair{1e-20F, 1e-20F}, {1e30F, 1e10F}, {1e-8F, 2e-30F}}) {
    testing::ModelBuilder builder;
    const ValueId x = testing::quantised(builder, builder.input({kN, 8}), {false, 0, of_input});
    const CsrMatrix weights = testing::make_matrix(8, {{{0, of_weights}, {1, 2 * of_weights}}});
    const testing::ModelCase one{fmt::format("{} x {}", of_input, of_weights),
                                 builder.finish({builder.add(Linear{weights, {40}}, {x})}),
                                 {testing::make_tensor({1, 8}, std::vector<float>(8, 0.F))}};
    for (const char* const name : {"sparse_int8_linear", "onednn_int8_linear"})
      EXPECT_EQ(first_other(kernels_favouring({name}), one, evaluate(one.model, one.inputs)), "") << name;
  }
}

/// Of depthwise convolutions with any number of channels.
TEST(Int8Programs, ValuesAreAddedToTheLastChannelsToo) {
  for (const Index channels : {3U, 8U, 13U, 16U, 20U}) {
    testing::Rng rng(channels);
    testing::ModelBuilder builder;
    const ValueId x = testing::quantised(builder, builder.input({kN, channels, 5, 5}), {false, 0, 0.0625F});
    const auto convolved = [&] {
      return builder.add(Convolution{.weights = whole_weights_of(rng, channels, 9, 1),
                                     .bias = whole_bias(rng, channels),
                                     .groups = channels,
                                     .window = testing::same_window(3, 3)},
                         {x});
    };
    const ValueId y = convolved();
    const ValueId sum = builder.add(Elementwise{}, {y, convolved()});
    const testing::ModelCase one{fmt::format("{} channels", channels),
                                 builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {sum})}),
                                 {testing::random_tensor(rng, {2, channels, 5, 5})}};
    EXPECT_EQ(first_other(kernels_favouring({"onednn_int8"}), one, evaluate(one.model, one.inputs)), "");
  }
}

// ---- oneDNN ----

/// What oneDNN's kernel for bytes says of a convolution of two input channels with those weights.
std::string why_not_onednn(const std::vector<float>& weights, const ByteForm& form) {
  testing::ModelBuilder builder;
  const ValueId x = testing::quantised(builder, builder.input({kN, static_cast<Extent>(weights.size()), 4, 4}), form);
  testing::Rows row(1);
  for (Index i = 0; i < weights.size(); ++i) row[0].emplace_back(i, weights[i]);
  const CsrMatrix matrix = testing::make_matrix(static_cast<Index>(weights.size()), row);
  const Model model = builder.finish({builder.add(Convolution{.weights = matrix, .bias = {}}, {x})});
  program::LayoutsOfValues there;
  const program::Request request = program::request_for(model, {static_cast<Index>(model.nodes.size() - 1), {}}, 1,
                                                        {.threads = 1}, program::byte_forms_of(model), there);
  for (const program::Kernel* const kernel : testing::kernels_of("onednn"))
    if (kernel->name() == "onednn_int8")
      for (const program::Offer& offer : kernel->offers(request)) return offer.why_not;
  return "no offer";
}

TEST(Int8Programs, OneDnnTakesOnlyWhatItComputesExactly) {
  if (testing::kernels_of("onednn").empty()) GTEST_SKIP() << "without oneDNN";
  constexpr const char* kSaturates = "oneDNN's sums would saturate at 16 bits, as the processor lacks VNNI";
  EXPECT_EQ(why_not_onednn({64, -64, 1}, {}), "");
  EXPECT_EQ(why_not_onednn({127, 1, -1}, {}), "");
  const std::string large = why_not_onednn({65, -64, 1}, {});
  EXPECT_TRUE(large.empty() || large == kSaturates) << large;
  EXPECT_EQ(why_not_onednn({127, 127}, {}), large);
  EXPECT_EQ(why_not_onednn({1, 2}, {.is_signed = true}), "its input is signed");
  EXPECT_EQ(why_not_onednn({1, 2}, {.zero = 1}), "the zero point of its input is not 0");
  EXPECT_EQ(why_not_onednn({1, 255}, {}), "its weights are not int8 numbers times a scale for each row");
}

}  // namespace
}  // namespace spdnn
