// The oracle of models, compared with values worked out by hand and with sums in another loop order.

#include <gtest/gtest.h>

#include <cmath>

#include "model/operations/bounded.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_activation;
using testing::make_tensor;
using testing::ModelCase;
using testing::Rng;

Bounded apply_to(const Operation& operation, const std::vector<Tensor>& tensors) {
  std::vector<Bounded> inputs;
  inputs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) inputs.push_back(exactly(tensor));
  std::vector<const Bounded*> pointers;
  pointers.reserve(inputs.size());
  for (const Bounded& input : inputs) pointers.push_back(&input);
  return evaluate(operation, pointers);
}

void expect_values(const Bounded& found, const Shape& shape, const std::vector<double>& values) {
  EXPECT_EQ(shape_text(found.shape), shape_text(shape));
  ASSERT_EQ(found.values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(found.values[i], values[i], 1e-7) << i;
}

const Tensor nine_values = make_tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

/// An add that follows may become a part of the longest sum, wherever that is.
TEST(ModelReference, SumsAreAsLongAsTheLongestRow) {
  const testing::Rows rows{{{0, 1.F}, {1, 1.F}, {2, 1.F}}, {{0, 1.F}}};
  for (const bool first : {true, false}) {
    const CsrMatrix weights = testing::make_matrix(3, first ? rows : testing::Rows{rows[1], rows[0]});
    EXPECT_EQ(apply_to(Linear{weights, {}}, {make_tensor({1, 3}, {1, 2, 3})}).terms, 3U) << first;
    Convolution pointwise;
    pointwise.weights = weights;
    EXPECT_EQ(apply_to(pointwise, {make_tensor({1, 3, 1, 1}, {1, 2, 3})}).terms, 3U) << first;
  }
}

// ---- Convolutions, by scattering ----

/// Value and sum |w x| of each output, in long double, by adding each pixel to all outputs that read it.
struct Scattered {
  std::vector<long double> values;
  std::vector<long double> magnitudes;
};

Scattered scatter(const Convolution& convolution, const Tensor& x, const Shape& output) {
  const Window& window = convolution.window;
  const bool sequence = x.shape.size() == 3;
  const Extent in_h = sequence ? 1 : x.shape[2];
  const Extent in_w = x.shape.back();
  const Extent out_h = sequence ? 1 : output[2];
  const Extent out_w = output.back();
  const Extent group_c = x.shape[1] / convolution.groups;
  const Extent group_k = output[1] / convolution.groups;
  // Dense filters: [k][c][r][s].
  std::vector<float> dense(std::size_t{convolution.weights.rows()} * convolution.weights.cols(), 0.F);
  for (Index k = 0; k < convolution.weights.rows(); ++k)
    for (Offset e = convolution.weights->offsets[k]; e < convolution.weights->offsets[k + 1]; ++e)
      dense[std::size_t{k} * convolution.weights.cols() + convolution.weights->indices[e]] =
          convolution.weights->entry_value(e);
  Scattered result;
  const std::size_t size = *elements(output);
  result.values.assign(size, 0);
  result.magnitudes.assign(size, 0);
  const auto at = [&](Extent n, Extent k, Extent p, Extent q) {
    return static_cast<std::size_t>(((n * output[1] + k) * out_h + p) * out_w + q);
  };
  for (Extent r = 0; r < window.kernel[0]; ++r)
    for (Extent s = 0; s < window.kernel[1]; ++s)
      for (Extent h = 0; h < in_h; ++h)
        for (Extent w = 0; w < in_w; ++w) {
          const Extent top = h + window.pad_begin[0] - r * window.dilation[0];
          const Extent left = w + window.pad_begin[1] - s * window.dilation[1];
          if (top < 0 || left < 0 || top % window.stride[0] != 0 || left % window.stride[1] != 0) continue;
          const Extent p = top / window.stride[0];
          const Extent q = left / window.stride[1];
          if (p >= out_h || q >= out_w) continue;
          for (Extent n = 0; n < output[0]; ++n)
            for (Extent c = 0; c < x.shape[1]; ++c)
              for (Extent k = c / group_c * group_k; k < (c / group_c + 1) * group_k; ++k) {
                const float weight = dense[static_cast<std::size_t>(
                    ((k * group_c + c % group_c) * window.kernel[0] + r) * window.kernel[1] + s)];
                const float pixel = x.values[static_cast<std::size_t>(((n * x.shape[1] + c) * in_h + h) * in_w + w)];
                result.values[at(n, k, p, q)] += static_cast<long double>(weight) * pixel;
                result.magnitudes[at(n, k, p, q)] += std::abs(static_cast<long double>(weight) * pixel);
              }
        }
  for (std::size_t i = 0; i < size && !convolution.bias.empty(); ++i) {
    const float bias = convolution.bias[i / static_cast<std::size_t>(out_h * out_w) % convolution.bias.size()];
    result.values[i] += bias;
    result.magnitudes[i] += std::abs(bias);
  }
  return result;
}

TEST(ModelReference, ConvolutionsEqualScatteredOnes) {
  for (const ModelCase& c : testing::convolution_battery()) {
    SCOPED_TRACE(c.name);
    const auto& convolution = std::get<Convolution>(c.model.nodes[0].operation);
    const Bounded found = evaluate(c.model, c.inputs)[0];
    const Scattered expected = scatter(convolution, c.inputs[0], found.shape);
    ASSERT_EQ(found.values.size(), expected.values.size());
    const std::size_t plane = found.values.size() / static_cast<std::size_t>(found.shape[0] * found.shape[1]);
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      const auto magnitude = static_cast<double>(expected.magnitudes[i]);
      ASSERT_NEAR(found.values[i], static_cast<double>(expected.values[i]), 1e-13 * (magnitude + 1)) << i;
      const auto row = static_cast<Index>(i / plane % convolution.weights.rows());
      const double n = static_cast<double>(convolution.weights->degree(row)) + 3;
      const double bound = n * 0x1p-24 / (1 - n * 0x1p-24) * magnitude;
      ASSERT_NEAR(found.bounds[i], bound, bound * 1e-9 + 1e-34) << i;
    }
  }
}

TEST(ModelReference, SumsOfFp32InAnyOrderAreWithinTheBound) {
  Rng rng(5);
  const Linear linear = testing::random_linear(rng, 600, 4, 0.9);
  const Tensor x = testing::random_tensor(rng, {1, 600});
  const Bounded expected = apply_to(linear, {x});
  for (int order = 0; order < 20; ++order) {
    std::vector<float> found;
    for (Index k = 0; k < 4; ++k) {
      std::vector<float> terms{linear.bias[k]};
      for (Offset e = linear.weights->offsets[k]; e < linear.weights->offsets[k + 1]; ++e)
        terms.push_back(linear.weights->entry_value(e) * x.values[linear.weights->indices[e]]);
      for (std::size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[rng.below(static_cast<Index>(i))]);
      float sum = 0;
      for (const float term : terms) sum += term;
      found.push_back(sum);
    }
    const double ratio = largest_ratio(expected, found);
    EXPECT_GT(ratio, 0);
    EXPECT_LE(ratio, 1);
  }
}

// ---- Small cases by hand ----

TEST(ModelReference, ConvolutionByHand) {
  // 1 at the top left, 10 at the bottom right of a 2 x 2 filter, one row of padding below, one column on the left.
  Convolution convolution;
  convolution.weights = testing::make_matrix(4, {{{0, 1.F}, {3, 10.F}}});
  convolution.bias = {0.5F};
  convolution.window = {.kernel = {2, 2}, .pad_begin = {0, 1}, .pad_end = {1, 0}};
  expect_values(apply_to(convolution, {nine_values}), {1, 1, 3, 3},
                {40.5, 51.5, 62.5, 70.5, 84.5, 95.5, 0.5, 7.5, 8.5});
}

TEST(ModelReference, LinearByHand) {
  const Linear linear{testing::make_matrix(3, {{{0, 2.F}, {2, -1.F}}, {}}), {1, 4}};
  expect_values(apply_to(linear, {make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})}), {2, 2}, {0, 4, 3, 4});
}

TEST(ModelReference, BatchNormByHand) {
  const BatchNorm norm{{2, 1}, {1, 0}, {3, 1}, {3, 0}, 1.F};
  expect_values(apply_to(norm, {make_tensor({1, 2, 2}, {5, 3, 2, 0})}), {1, 2, 2}, {3, 1, 1, -1});
}

TEST(ModelReference, PoolsByHand) {
  Pool pool{.window = {.kernel = {2, 2}, .stride = {2, 2}}, .round_up = true};
  expect_values(apply_to(pool, {nine_values}), {1, 1, 2, 2}, {5, 6, 8, 9});
  pool.kind = Pool::Kind::average;
  expect_values(apply_to(pool, {nine_values}), {1, 1, 2, 2}, {3, 4.5, 7.5, 9});
  pool.count_padding = true;  // elements added by rounding up are not counted
  expect_values(apply_to(pool, {nine_values}), {1, 1, 2, 2}, {3, 4.5, 7.5, 9});
  pool.window.pad_begin = {1, 1};
  pool.round_up = false;
  expect_values(apply_to(pool, {nine_values}), {1, 1, 2, 2}, {0.25, 1.25, 2.75, 7});
  pool.count_padding = false;
  expect_values(apply_to(pool, {nine_values}), {1, 1, 2, 2}, {1, 2.5, 5.5, 7});
  pool.kind = Pool::Kind::max;
  const Tensor negative = make_tensor({1, 1, 1, 2}, {-3, -4});
  pool.window = {.kernel = {1, 2}, .pad_begin = {0, 1}, .pad_end = {0, 1}};
  expect_values(apply_to(pool, {negative}), {1, 1, 1, 3}, {-3, -3, -4});  // padding takes no part
  pool.window = {.kernel = {1, 2}, .dilation = {1, 2}};
  expect_values(apply_to(pool, {nine_values}), {1, 1, 3, 1}, {3, 6, 9});
  expect_values(apply_to(GlobalPool{}, {nine_values}), {1, 1, 1, 1}, {5});
  expect_values(apply_to(GlobalPool{Pool::Kind::max}, {nine_values}), {1, 1, 1, 1}, {9});
}

TEST(ModelReference, ActivationsByHand) {
  using Kind = Activation::Kind;
  const Tensor x = make_tensor({1, 2, 2}, {-4, -1, 0.5F, 5});
  const auto made = [&](const Activation& activation) { return apply_to(activation, {x}); };
  expect_values(made(make_activation(Kind::relu)), x.shape, {0, 0, 0.5, 5});
  expect_values(made(testing::make_clip(-2, 3)), x.shape, {-2, -1, 0.5, 3});
  expect_values(made(make_activation(Kind::leaky_relu, 0.25)), x.shape, {-1, -0.25, 0.5, 5});
  Activation slopes = make_activation(Kind::prelu);
  slopes.alphas = {0.5F, 2};
  expect_values(made(slopes), x.shape, {-2, -0.5, 0.5, 5});
  expect_values(apply_to(slopes, {make_tensor({1, 2, 1}, {-1, -1})}), {1, 2, 1}, {-0.5, -2});
  expect_values(made(make_activation(Kind::sigmoid)), x.shape, {0.01798621, 0.26894142, 0.62245933, 0.99330715});
  expect_values(made(make_activation(Kind::tanh)), x.shape, {-0.99932930, -0.76159416, 0.46211716, 0.99990920});
  expect_values(made(make_activation(Kind::hard_sigmoid, 0.25, 0.5)), x.shape, {0, 0.25, 0.625, 1});
  expect_values(made(make_activation(Kind::hard_swish)), x.shape, {0, -1.0 / 3, 0.5 * (0.5 / 6 + 0.5), 5});
  expect_values(made(make_activation(Kind::identity)), x.shape, {-4, -1, 0.5, 5});
}

TEST(ModelReference, ElementwiseRepeatsAxesOfLengthOne) {
  const Tensor a = make_tensor({2, 1, 2}, {1, 2, 3, 4});
  const Tensor b = make_tensor({2, 1}, {10, 20});
  using Kind = Elementwise::Kind;
  const Shape shape{2, 2, 2};
  expect_values(apply_to(Elementwise{Kind::add}, {a, b}), shape, {11, 12, 21, 22, 13, 14, 23, 24});
  expect_values(apply_to(Elementwise{Kind::subtract}, {b, a}), shape, {9, 8, 19, 18, 7, 6, 17, 16});
  expect_values(apply_to(Elementwise{Kind::multiply}, {a, b}), shape, {10, 20, 20, 40, 30, 40, 60, 80});
  expect_values(apply_to(Elementwise{Kind::divide}, {a, b}), shape, {.1, .2, .05, .1, .3, .4, .15, .2});
}

TEST(ModelReference, SoftmaxByHand) {
  const auto log = [](double x) { return static_cast<float>(std::log(x)); };
  const Tensor x = make_tensor({1, 2, 2}, {log(1), log(2), log(3), log(6)});
  expect_values(apply_to(Softmax{1}, {x}), x.shape, {0.25, 0.25, 0.75, 0.75});
  expect_values(apply_to(Softmax{2}, {x}), x.shape, {1.0 / 3, 2.0 / 3, 1.0 / 3, 2.0 / 3});
  expect_values(apply_to(Softmax{0}, {make_tensor({2}, {1000, 1000})}), {2}, {0.5, 0.5});
}

TEST(ModelReference, LayoutsByHand) {
  const Tensor six = make_tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(apply_to(Concat{2}, {six, make_tensor({1, 2, 1}, {7, 8})}), {1, 2, 4}, {1, 2, 3, 7, 4, 5, 6, 8});
  expect_values(apply_to(Reshape{{kBatchExtent, 6}}, {six}), {1, 6}, {1, 2, 3, 4, 5, 6});
  expect_values(apply_to(Transpose{{0, 2, 1}}, {six}), {1, 3, 2}, {1, 4, 2, 5, 3, 6});
  expect_values(apply_to(Transpose{{2, 0, 1}}, {six}), {3, 1, 2}, {1, 4, 2, 5, 3, 6});
  expect_values(apply_to(Pad{{0, 0, 1}, {0, 1, 0}, -1}, {six}), {1, 3, 4}, {-1, 1, 2, 3, -1, 4, 5, 6, -1, -1, -1, -1});
  expect_values(apply_to(Pad{{0, -1, 1}, {0, 0, -2}, -1}, {six}), {1, 1, 2}, {-1, 4});
}

/// What resizing 10, 20, 30, 40 makes.
Bounded resized(Resize::Kind kind, Resize::Place place, Resize::Rounding rounding, Extent size) {
  Resize resize{kind, place, rounding, {1, size}, {1.F, static_cast<float>(size) / 4}};
  return apply_to(resize, {make_tensor({1, 1, 1, 4}, {10, 20, 30, 40})});
}

// By the definitions of ONNX's operator Resize.
TEST(ModelReference, ResizeByHand) {
  using enum Resize::Place;
  using enum Resize::Rounding;
  const auto nearest = [](Resize::Place place, Resize::Rounding rounding, Extent size) {
    return resized(Resize::Kind::nearest, place, rounding, size);
  };
  const auto linear = [](Resize::Place place, Extent size) {
    return resized(Resize::Kind::linear, place, half_down, size);
  };
  const Shape eight{1, 1, 1, 8};
  expect_values(nearest(asymmetric, down, 8), eight, {10, 10, 20, 20, 30, 30, 40, 40});
  expect_values(nearest(asymmetric, up, 8), eight, {10, 20, 20, 30, 30, 40, 40, 40});
  expect_values(nearest(asymmetric, half_down, 8), eight, {10, 10, 20, 20, 30, 30, 40, 40});
  expect_values(nearest(asymmetric, half_up, 8), eight, {10, 20, 20, 30, 30, 40, 40, 40});
  expect_values(nearest(half_pixel, half_down, 2), {1, 1, 1, 2}, {10, 30});
  expect_values(nearest(half_pixel, half_up, 2), {1, 1, 1, 2}, {20, 40});
  expect_values(nearest(align_corners, half_down, 7), {1, 1, 1, 7}, {10, 10, 20, 20, 30, 30, 40});
  expect_values(linear(half_pixel, 8), eight, {10, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 40});
  expect_values(linear(asymmetric, 8), eight, {10, 15, 20, 25, 30, 35, 40, 40});
  expect_values(linear(align_corners, 7), {1, 1, 1, 7}, {10, 15, 20, 25, 30, 35, 40});
  expect_values(linear(align_corners, 1), {1, 1, 1, 1}, {10});
  Resize tall{Resize::Kind::linear, half_pixel, half_down, {2, 1}, {2.F / 3, 1.F / 3}};
  expect_values(apply_to(tall, {nine_values}), {1, 1, 2, 1}, {2.75, 7.25});
}

// ---- Bounds ----

/// For each kind of operation, results for inputs at the ends of their bounds are within the result's bound.
TEST(ModelReference, BoundsHoldForInputsThatAreOff) {
  using Kind = Activation::Kind;
  Rng rng(23);
  const Shape shape{2, 4, 5, 4};
  std::vector<Operation> operations{
      testing::random_convolution(rng, 4, 3, testing::same_window(3, 3), 0.5),
      testing::random_linear(rng, 4, 6, 0.7),
      testing::random_norm(rng, 4),
      Pool{.window = {.kernel = {2, 3}}},
      Pool{.kind = Pool::Kind::average, .window = testing::same_window(3, 3), .count_padding = true},
      GlobalPool{},
      Softmax{1},
      Softmax{3},
      Concat{1},
      Transpose{{0, 2, 3, 1}},
      Resize{Resize::Kind::linear, Resize::Place::half_pixel, Resize::Rounding::half_down, {7, 3}, {1.4F, 0.75F}},
      testing::make_clip(-0.5, 0.5)};
  for (const Kind kind :
       {Kind::relu, Kind::leaky_relu, Kind::sigmoid, Kind::tanh, Kind::hard_sigmoid, Kind::hard_swish})
    operations.emplace_back(make_activation(kind, kind == Kind::leaky_relu ? -3.F : 0.4F, 0.5F));
  using Pairs = Elementwise::Kind;
  for (const Pairs kind : {Pairs::add, Pairs::subtract, Pairs::multiply, Pairs::divide})
    operations.emplace_back(Elementwise{kind});

  for (const Operation& operation : operations) {
    SCOPED_TRACE(operation_name(operation));
    const bool two = std::holds_alternative<Elementwise>(operation);
    Bounded a = exactly(testing::random_tensor(rng, shape));
    Bounded b = exactly(testing::random_tensor(rng, shape));
    for (Bounded* input : {&a, &b})
      for (std::size_t i = 0; i < input->values.size(); ++i) {
        input->values[i] *= 5;
        if (input == &b) input->values[i] += input->values[i] < 0 ? -1 : 1;  // a divisor
        input->bounds[i] = rng.real(0, 0.05);
      }
    const auto bounded_of = [&](const Bounded& first, const Bounded& second) {
      return evaluate(operation, two ? std::vector<const Bounded*>{&first, &second} : std::vector{&first});
    };
    const Bounded expected = bounded_of(a, b);
    double largest = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Bounded off_a = a;
      Bounded off_b = b;
      for (Bounded* off : {&off_a, &off_b})
        for (std::size_t i = 0; i < off->values.size(); ++i)
          off->values[i] += (rng.below(2) == 0 ? 1 : -1) * off->bounds[i];
      const Bounded found = bounded_of(off_a, off_b);
      for (std::size_t i = 0; i < found.values.size(); ++i)
        largest = std::max(largest, std::abs(found.values[i] - expected.values[i]) / expected.bounds[i]);
    }
    EXPECT_LE(largest, 1 + 1e-9);
    EXPECT_GT(largest, 0.15);  // and are not many times too large
  }
}

/// An addition may become one more term of the sum before it; operations that only scale or move elements add none.
TEST(ModelReference, ASumCountsWhatIsAddedToIt) {
  Rng rng(31);
  const Bounded x = exactly(testing::random_tensor(rng, {2, 6}));
  const Bounded other = exactly(testing::random_tensor(rng, {2, 4}));
  const auto joined = [&](Elementwise::Kind kind, const Bounded& a, const Bounded& b) {
    return evaluate(Elementwise{kind}, {&a, &b});
  };
  const Bounded sum = evaluate(testing::random_linear(rng, 6, 4, 1), {&x});
  EXPECT_EQ(sum.terms, 6);
  const Bounded added = joined(Elementwise::Kind::add, other, sum);
  EXPECT_EQ(added.terms, 7);
  const Bounded subtracted = joined(Elementwise::Kind::subtract, added, other);
  EXPECT_EQ(subtracted.terms, 8);
  EXPECT_EQ(joined(Elementwise::Kind::add, added, subtracted).terms, 9);
  EXPECT_EQ(joined(Elementwise::Kind::multiply, subtracted, other).terms, 8);
  EXPECT_EQ(joined(Elementwise::Kind::divide, subtracted, other).terms, 8);
  EXPECT_EQ(evaluate(Operation{Transpose{{0, 1}}}, {&subtracted}).terms, 8);
  EXPECT_EQ(evaluate(make_activation(Activation::Kind::relu), {&subtracted}).terms, 0);
  EXPECT_EQ(evaluate(make_activation(Activation::Kind::identity), {&subtracted}).terms, 8);
}

/// At 0 the argument may be negative, where a product is rounded.
TEST(ModelReference, AProductWithASlopeIsRoundedWhereverTheArgumentMayBeNegative) {
  const Bounded zero{{1, 1}, {0}, {1}, 0};
  EXPECT_GT(evaluate(make_activation(Activation::Kind::leaky_relu, 3), {&zero}).bounds[0], 3 * (1 + 0x1p-24));
}

/// Differences to the largest argument are rounded before they become exponents.
TEST(ModelReference, ASoftmaxOfValuesFarApartHasAWiderBound) {
  const auto share = [](float least) {
    const Bounded y = apply_to(Softmax{1}, {make_tensor({1, 2}, {0, least})});
    return y.bounds[1] / y.values[1];
  };
  EXPECT_GT(share(-40), share(-1) + 2 * 35 * 0x1p-24);
}

/// The first node whose results leave fp64 is named, not a later one that passes them on.
TEST(ModelReference, TheFirstNodeThatOverflowsIsReported) {
  testing::ModelBuilder builder;
  std::vector<ValueId> values{builder.input({testing::kN, 2})};
  for (int i = 0; i < 6; ++i)
    values.push_back(builder.add(Elementwise{Elementwise::Kind::multiply}, {values.back(), values.back()}));
  const Model model = builder.finish({values.back()});
  std::optional<Index> overflow;
  evaluate(model, {make_tensor({1, 2}, {1, 1e38F})}, {}, &overflow);  // 1e76, 1e152, 1e304, beyond fp64
  EXPECT_EQ(overflow, 3U);
  overflow.reset();
  evaluate(model, {make_tensor({1, 2}, {1, 1})}, {}, &overflow);
  EXPECT_EQ(overflow, std::nullopt);
}

TEST(ModelReference, ADivisorOfUnknownSignHasNoBound) {
  const Bounded one = exactly(make_tensor({1}, {1}));
  Bounded small = exactly(make_tensor({1}, {0.5F}));
  small.bounds[0] = 0.5;
  EXPECT_TRUE(std::isinf(evaluate(Elementwise{Elementwise::Kind::divide}, {&one, &small}).bounds[0]));
}

TEST(ModelReference, RatiosCountWhatIsNoNumber) {
  const Bounded expected{{3}, {1, 2, 3}, {0.5, 0, 0.25}, 0};
  EXPECT_EQ(largest_ratio(expected, std::vector<float>{1.25F, 2, 3}), 0.5);
  EXPECT_EQ(largest_ratio(expected, std::vector<float>{1.25F, 2, 2}), 4);
  EXPECT_TRUE(std::isinf(largest_ratio(expected, std::vector<float>{1, 2.5F, 3})));
  EXPECT_TRUE(std::isinf(largest_ratio(expected, std::vector<float>{NAN, 2, 3})));
  EXPECT_THROW(largest_ratio(expected, std::vector<float>{1, 2}), UsageError);
}

// ---- Whole models ----

TEST(ModelReference, InputsMustFit) {
  const ModelCase c = testing::small_network(3, 0.5);
  EXPECT_THROW(evaluate(c.model, {}), UsageError);
  EXPECT_THROW(evaluate(c.model, {make_tensor({1, 3, 12, 9}, std::vector<float>(324))}), UsageError);
  EXPECT_THROW(evaluate(c.model, {make_tensor({1, 3, 12, 10}, std::vector<float>(7))}), UsageError);
}

TEST(ModelReference, PermutedFiltersPermuteChannels) {
  Rng rng(7);
  Convolution convolution = testing::random_convolution(rng, 4, 5, testing::same_window(3, 3), 0.4);
  const Tensor x = testing::random_tensor(rng, {2, 4, 6, 5});
  const Bounded before = apply_to(convolution, {x});
  const std::vector<Index> order{3, 0, 4, 1, 2};
  testing::Rows rows;
  std::vector<float> bias;
  for (const Index k : order) {
    rows.emplace_back();
    for (Offset e = convolution.weights->offsets[k]; e < convolution.weights->offsets[k + 1]; ++e)
      rows.back().emplace_back(convolution.weights->indices[e], convolution.weights->entry_value(e));
    bias.push_back(convolution.bias[k]);
  }
  convolution.weights = testing::make_matrix(convolution.weights.cols(), rows);
  convolution.bias = bias;
  const Bounded after = apply_to(convolution, {x});
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    const std::size_t source = i / 150 * 150 + order[i / 30 % 5] * 30 + i % 30;
    EXPECT_EQ(after.values[i], before.values[source]);
    EXPECT_EQ(after.bounds[i], before.bounds[source]);
  }
}

TEST(ModelReference, SplitBatchesConcatenate) {
  const ModelCase c = testing::small_network(4, 0.4, 5);
  const std::vector<Bounded> whole = evaluate(c.model, c.inputs);
  const Tensor& x = c.inputs[0];
  const std::size_t image = x.values.size() / 5;
  for (std::size_t n = 0; n < 5; ++n) {
    const Tensor one = make_tensor({1, 3, 12, 10}, {x.values.begin() + n * image, x.values.begin() + (n + 1) * image});
    const std::vector<Bounded> part = evaluate(c.model, {one});
    for (std::size_t output = 0; output < 2; ++output)
      for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(part[output].values[i], whole[output].values[n * 5 + i]);
        EXPECT_EQ(part[output].bounds[i], whole[output].bounds[n * 5 + i]);
      }
  }
}

/// Every activation: for each argument within its bound, the value is within the bound of the result. For piecewise
/// linear ones the bound is no larger than that.
TEST(ModelReference, AnActivationsBoundCoversAllThatItsArgumentMayBe) {
  using Kind = Activation::Kind;
  const auto value_at = [](const Activation& activation, double x) {
    const Bounded exact{{1, 1}, {x}, {0}, 0};
    return evaluate(activation, {&exact}).values[0];
  };
  std::vector<Activation> activations{Activation{}, testing::make_clip(-0.5F, 0.75F)};
  for (const Kind kind :
       {Kind::leaky_relu, Kind::sigmoid, Kind::tanh, Kind::hard_sigmoid, Kind::hard_swish, Kind::identity})
    for (const float alpha : {0.1F, -2.F, 3.F}) activations.push_back(testing::make_activation(kind, alpha, 0.25F));
  Activation prelu = testing::make_activation(Kind::prelu);
  for (const float alpha : {0.F, 0.25F, -1.5F, 4.F}) {
    prelu.alphas = {alpha};
    activations.push_back(prelu);
  }
  constexpr int kSteps = 64;
  for (const Activation& activation : activations)
    for (const double x : {-4.0, -1.0, -0.375, -0.125, -0.03125, 0.0, 0.03125, 0.125, 0.625, 1.0, 5.0})
      for (const double e : {0.0, 0.0625, 0.25, 2.0}) {
        const Bounded argument{{1, 1}, {x}, {e}, 0};
        const Bounded result = evaluate(activation, {&argument});
        double farthest = 0;
        for (int step = -kSteps; step <= kSteps; ++step)
          farthest = std::max(farthest, std::abs(value_at(activation, x + e * step / kSteps) - result.values[0]));
        EXPECT_LE(farthest, result.bounds[0] * (1 + 1e-12)) << operation_name(activation) << " of " << x << ", " << e;
        const bool lines =
            activation.kind == Kind::relu || activation.kind == Kind::clip || activation.kind == Kind::identity;
        if (lines) {
          EXPECT_LE(result.bounds[0], farthest + 1e-12) << operation_name(activation) << " of " << x << ", " << e;
        }
      }
}

}  // namespace
}  // namespace spdnn
