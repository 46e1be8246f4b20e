// Pads in front of convolutions and max pools: some become the padding of the next node, with the same outputs.

#include <gtest/gtest.h>

#include <limits>

#include "model/rewrites/fold_padding.hpp"
#include "spdnn/error.hpp"
#include "support/rewritten.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::ModelBuilder;
using testing::ModelCase;
using testing::Names;
using testing::operations;
using testing::rewritten;
using testing::Rng;

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// x, then an activation if there is one, the pad, and the operation.
ModelCase case_of(const Shape& shape, const std::optional<Activation>& activation, const Pad& pad,
                  const Operation& operation) {
  Rng rng(5);
  ModelBuilder builder;
  ValueId x = builder.input(shape);
  if (activation) x = builder.add(*activation, {x});
  const ValueId y = builder.add(operation, {builder.add(pad, {x})});
  return {"", builder.finish({y}), {testing::random_tensor(rng, with_batch(shape, 2))}};
}
ModelCase case_of(const Shape& shape, const Pad& pad, const Operation& operation) {
  return case_of(shape, std::nullopt, pad, operation);
}

/// The outputs of the rewritten model are those of the given one, to the last bit.
Model folded(const ModelCase& c, Index changes) {
  const Model model = rewritten(c, fold_padding, changes);
  const std::vector<Bounded> given = evaluate(c.model, c.inputs);
  const std::vector<Bounded> found = evaluate(model, c.inputs);
  for (std::size_t output = 0; output < given.size(); ++output) EXPECT_EQ(found[output].values, given[output].values);
  return model;
}
void expect_stays(const ModelCase& c) { EXPECT_EQ(operations(folded(c, 0)), operations(c.model)); }

Convolution filters_of(const Window& window) {
  Rng rng(7);
  return testing::random_convolution(rng, 3, 4, window, 0.6);
}
Pool max_pool(const Window& window, bool round_up = false) { return {.window = window, .round_up = round_up}; }

const Shape image_shape{kN, 3, 8, 7};
const Window strided_window{.kernel = {3, 3}, .stride = {2, 1}, .pad_begin = {1, 0}, .pad_end = {0, 1}};

TEST(FoldPadding, ZerosBeforeAConvolutionAreItsPadding) {
  const Model model = folded(case_of(image_shape, Pad{{0, 0, 2, 1}, {0, 0, 3, 0}}, filters_of(strided_window)), 1);
  EXPECT_EQ(operations(model), (Names{"convolution"}));
  const Window& window = std::get<Convolution>(model.nodes[0].operation).window;
  EXPECT_EQ(window.pad_begin, (std::array<Index, 2>{3, 1}));
  EXPECT_EQ(window.pad_end, (std::array<Index, 2>{3, 1}));
  const Window of_sequence{.kernel = {1, 3}};
  const Model sequence = folded(case_of({kN, 3, 9}, Pad{{0, 0, 4}, {0, 0, 1}, -0.F}, filters_of(of_sequence)), 1);
  EXPECT_EQ(std::get<Convolution>(sequence.nodes[0].operation).window.pad_begin, (std::array<Index, 2>{0, 4}));
}

TEST(FoldPadding, OtherPadsBeforeAConvolutionStay) {
  const Convolution convolution = filters_of(strided_window);
  for (const float number : {0.5F, -1.F})
    expect_stays(case_of(image_shape, Pad{{0, 0, 1, 1}, {0, 0, 1, 1}, number}, convolution));
  expect_stays(case_of(image_shape, Pad{{0, 0, 1, -1}, {0, 0, 1, 1}}, convolution));
  expect_stays(case_of(image_shape, Pad{{0, 0, 1, 1}, {0, 0, -1, 1}}, convolution));
  expect_stays(case_of(image_shape, Pad{{0, 0, -1, 0}, {0, 0, 0, 0}}, convolution));
  expect_stays(case_of({kN, 2, 8, 7}, Pad{{0, 1, 0, 0}, {0, 0, 0, 0}}, convolution));
  expect_stays(case_of(image_shape, Pad{{0, 1, 0, 0}, {0, -1, 0, 0}}, convolution));
  expect_stays(case_of({2, 3, 8, 7}, Pad{{1, 0, 0, 0}, {0, 0, 0, 0}}, convolution));
  expect_stays(case_of({2, 3, 8, 7}, Pad{{0, 0, 0, 0}, {1, 0, 0, 0}}, convolution));
  expect_stays(case_of({kN, 2, 8, 7}, Pad{{0, 0, 0, 0}, {0, 1, 0, 0}}, convolution));
  expect_stays(case_of(image_shape, Pad{{0, 0, 1, 1}, {0, 0, 1, 1}}, Activation{}));
}

TEST(FoldPadding, PaddingBeyondTheLargestIndexStays) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 3, 8, 7});
  const Window window{.kernel = {1, 1}, .stride = {1, 1U << 30U}, .pad_end = {0, kMaxIndex}};
  const ValueId padded = builder.add(Pad{{0, 0, 0, 0}, {0, 0, 0, 1}}, {x});
  Model model = builder.finish({builder.add(filters_of(window), {padded})});
  EXPECT_EQ(fold_padding(model), 0U);
}

TEST(FoldPadding, NumbersThatNoElementIsBelowArePaddingOfAMaxPool) {
  const Pad lowest{{0, 0, 1, 0}, {0, 0, 1, 1}, kLowest};
  const Pad zeros{{0, 0, 1, 0}, {0, 0, 1, 1}, 0};
  const Window window{.kernel = {3, 2}, .stride = {2, 2}};
  EXPECT_EQ(operations(folded(case_of(image_shape, lowest, max_pool(window)), 1)), (Names{"max pool"}));
  EXPECT_EQ(operations(folded(case_of(image_shape, Activation{}, zeros, max_pool(window)), 1)),
            (Names{"relu", "max pool"}));
  EXPECT_EQ(operations(folded(case_of(image_shape, testing::make_clip(0.25F, 6), zeros, max_pool(window)), 1)),
            (Names{"clip", "max pool"}));
  // 0 is the least of ReLU, and the clip's low end of its: more than that hides what the pool would find.
  const Pad more{{0, 0, 1, 0}, {0, 0, 1, 1}, 0.5F};
  expect_stays(case_of(image_shape, Activation{}, more, max_pool(window)));
  expect_stays(case_of(image_shape, testing::make_clip(0.25F, 6), more, max_pool(window)));
  expect_stays(case_of(image_shape, zeros, max_pool(window)));
  expect_stays(case_of(image_shape, testing::make_clip(-0.25F, 6), zeros, max_pool(window)));
  expect_stays(
      case_of(image_shape, testing::make_activation(Activation::Kind::leaky_relu, 0.5F), zeros, max_pool(window)));
  expect_stays(case_of(image_shape, lowest, Pool{.kind = Pool::Kind::average, .window = window}));
}

TEST(FoldPadding, PoolsThatWouldHaveOtherWindowsKeepTheirPad) {
  const Window window{.kernel = {2, 2}, .stride = {2, 2}};
  // A window of the pad alone.
  expect_stays(case_of(image_shape, Activation{}, Pad{{0, 0, 2, 0}, {0, 0, 0, 0}}, max_pool(window)));
  // Rounded up, the last window begins in what is padding then.
  expect_stays(case_of(image_shape, Activation{}, Pad{{0, 0, 0, 0}, {0, 0, 1, 0}}, max_pool(window, true)));
  folded(case_of(image_shape, Activation{}, Pad{{0, 0, 0, 0}, {0, 0, 0, 1}}, max_pool(window, true)), 1);
  // Other channels, or other images.
  for (const Extent more : {1, -1}) {
    const Operation& pool = max_pool(window);
    expect_stays(case_of(image_shape, Activation{}, Pad{{0, more, 0, 0}, {0, 0, 0, 0}}, pool));
    expect_stays(case_of(image_shape, Activation{}, Pad{{0, 0, 0, 0}, {0, more, 0, 0}}, pool));
    expect_stays(case_of({2, 3, 8, 7}, Activation{}, Pad{{more, 0, 0, 0}, {0, 0, 0, 0}}, pool));
    expect_stays(case_of({2, 3, 8, 7}, Activation{}, Pad{{0, 0, 0, 0}, {more, 0, 0, 0}}, pool));
  }
  // A part of the image is cut off.
  expect_stays(case_of(image_shape, Activation{}, Pad{{0, 0, -1, 0}, {0, 0, 0, 0}}, max_pool(window)));
  expect_stays(case_of(image_shape, Activation{}, Pad{{0, 0, -2, 0}, {0, 0, 2, 0}}, max_pool(window)));
}

TEST(FoldPadding, PadsThatOthersReadStayForThem) {
  Rng rng(5);
  ModelBuilder builder;
  const ValueId x = builder.input(image_shape);
  const ValueId first = builder.add(Pad{{0, 0, 1, 1}, {0, 0, 0, 0}}, {x});
  const ValueId second = builder.add(Pad{{0, 0, 0, 0}, {0, 0, 1, 1}}, {first});
  const ValueId y = builder.add(filters_of(strided_window), {second});
  const ValueId z = builder.add(filters_of(testing::same_window(3, 3)), {second});
  const ModelCase c{"", builder.finish({y, first, z}), {testing::random_tensor(rng, {2, 3, 8, 7})}};
  EXPECT_EQ(operations(folded(c, 2)), (Names{"pad", "convolution", "convolution"}));
}

TEST(FoldPadding, OfAnyPadsWindowsAndImages) {
  Rng rng(11);
  Index changes = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    Window window;
    Pad pad{{0, 0, 0, 0}, {0, 0, 0, 0}};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      window.kernel[axis] = 1 + rng.below(3);
      window.stride[axis] = 1 + rng.below(3);
      window.dilation[axis] = 1 + rng.below(2);
      window.pad_begin[axis] = rng.below(window.kernel[axis]);
      window.pad_end[axis] = rng.below(window.kernel[axis]);
      pad.begin[axis + 2] = rng.below(3);
      pad.end[axis + 2] = rng.below(3);
    }
    const Shape shape{kN, 3, 5 + rng.below(5), 5 + rng.below(5)};
    const bool pool = i % 2 == 0;
    ModelCase c;
    try {
      c = pool ? case_of(shape, Activation{}, pad, max_pool(window, rng.below(2) == 0))
               : case_of(shape, pad, filters_of(window));
    } catch (const UsageError&) {  // a window of padding alone
      continue;
    }
    Model model = c.model;
    const Index made = fold_padding(model);
    EXPECT_TRUE(made == 1 || pool);
    folded(c, made);
    changes += made;
  }
  EXPECT_GT(changes, 120U);
}

}  // namespace
}  // namespace spdnn
