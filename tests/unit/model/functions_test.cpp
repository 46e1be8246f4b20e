// Library functions, powers, extremes, matrix products and reductions: values by hand, and bounds for inexact
// arguments.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/graph/magnitudes.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using Kind = Activation::Kind;
using testing::make_activation;
using testing::make_tensor;
using testing::Rng;

/// A value with error bound `e`.
Bounded about(double x, double e) { return {{1}, {x}, {e}, 0}; }

Bounded function_of(Kind kind, double x, double e = 0) {
  const Bounded input = about(x, e);
  return evaluate(make_activation(kind, 0.75F), {&input});
}
Bounded both_of(Elementwise::Kind kind, const Bounded& a, const Bounded& b) {
  return evaluate(Elementwise{kind}, {&a, &b});
}

TEST(ModelFunctions, ValuesByHand) {
  const auto expect_value = [](Kind kind, double x, double expected) {
    EXPECT_NEAR(function_of(kind, x).values[0], expected, 1e-12) << static_cast<int>(kind) << " of " << x;
  };
  expect_value(Kind::elu, 2, 2);
  expect_value(Kind::elu, -1, 0.75 * (std::exp(-1.0) - 1));
  expect_value(Kind::softplus, 0, std::log(2.0));
  expect_value(Kind::softplus, 800, 800);
  expect_value(Kind::exp, 1, 2.718281828459045);
  expect_value(Kind::log, 8, 3 * std::log(2.0));
  expect_value(Kind::sqrt, 2.25, 1.5);
  expect_value(Kind::abs, -3, 3);
  expect_value(Kind::sign, -3, -1);
  expect_value(Kind::sign, 0, 0);
  expect_value(Kind::sign, 0.5, 1);
  expect_value(Kind::floor, -1.5, -2);
  expect_value(Kind::ceil, -1.5, -1);
  for (const auto& [x, even] : {std::pair{0.5, 0.0}, {1.5, 2.0}, {-2.5, -2.0}, {2.6, 3.0}})
    expect_value(Kind::round, x, even);
  expect_value(Kind::erf, 1, 0.8427007929497149);
  expect_value(Kind::sin, M_PI / 6, 0.5);
  expect_value(Kind::cos, M_PI / 3, 0.5);
  expect_value(Kind::tan, M_PI / 4, 1);
  expect_value(Kind::asin, 0.5, M_PI / 6);
  expect_value(Kind::acos, 0.5, M_PI / 3);
  expect_value(Kind::atan, 1, M_PI / 4);
  expect_value(Kind::sinh, 1, 1.1752011936438014);
  expect_value(Kind::cosh, 1, 1.5430806348152437);
  expect_value(Kind::asinh, 1.1752011936438014, 1);
  expect_value(Kind::acosh, 1.5430806348152437, 1);
  expect_value(Kind::atanh, std::tanh(0.5), 0.5);
}

/// The bound covers all arguments within their bounds, and is of the right size where the function is steep.
TEST(ModelFunctions, BoundsCoverAllArguments) {
  for (int kind = static_cast<int>(Kind::elu); kind <= static_cast<int>(Kind::atanh); ++kind) {
    const auto function = static_cast<Kind>(kind);
    for (const double x : {-0.93, -0.4, -0.02, 0.0, 0.31, 0.49, 0.9, 1.0, 1.52, 3.7, 30.0})
      for (const double e : {0.0, 1e-6, 0.05}) {
        const Bounded result = function_of(function, x, e);
        if (!std::isfinite(result.values[0]) || std::isinf(result.bounds[0])) continue;
        for (int step = -8; step <= 8; ++step) {
          const double other = function_of(function, x + e * step / 8).values[0];
          EXPECT_LE(std::abs(other - result.values[0]), result.bounds[0] * (1 + 1e-9)) << kind << " of " << x;
        }
      }
  }
  EXPECT_LT(function_of(Kind::exp, 1, 1e-3).bounds[0], 2.8e-3);
  EXPECT_LT(function_of(Kind::sin, 1, 1e-3).bounds[0], 1.1e-3);
  EXPECT_GT(function_of(Kind::exp, 1, 0).bounds[0], 1e-7);  // a library's
  EXPECT_EQ(function_of(Kind::abs, -1, 0).bounds[0], 0);
  EXPECT_EQ(function_of(Kind::round, 0.4, 0.2).bounds[0], 1);
}

TEST(ModelFunctions, ASubnormalArgumentMayBeTakenForZero) {
  const double x = 2e-39;
  for (const double e : {0.0, x / 2, x}) EXPECT_GE(function_of(Kind::sqrt, x, e).bounds[0], std::sqrt(x)) << e;
}

TEST(ModelFunctions, ThereIsNoBoundBeyondADomainOrAtAPole) {
  EXPECT_TRUE(std::isinf(function_of(Kind::log, 0.01, 0.02).bounds[0]));
  EXPECT_TRUE(std::isinf(function_of(Kind::sqrt, 0.01, 0.02).bounds[0]));
  EXPECT_TRUE(std::isinf(function_of(Kind::asin, 0.99, 0.02).bounds[0]));
  EXPECT_TRUE(std::isinf(function_of(Kind::tan, 1.57, 0.02).bounds[0]));
  EXPECT_TRUE(std::isinf(function_of(Kind::atanh, 0.99, 0.02).bounds[0]));
  EXPECT_TRUE(std::isnan(function_of(Kind::sqrt, -1).values[0]));
  EXPECT_TRUE(std::isinf(both_of(Elementwise::Kind::power, about(0.01, 0.02), about(-1, 0)).bounds[0]));
  EXPECT_TRUE(std::isinf(both_of(Elementwise::Kind::power, about(0.01, 0.02), about(0.5, 0)).bounds[0]));
  for (const double e : {0.5, 0.75, 2.0})
    EXPECT_TRUE(std::isinf(both_of(Elementwise::Kind::divide, about(1, 0), about(-0.5, e)).bounds[0])) << e;
}

TEST(ModelFunctions, PowersAndExtremesByHand) {
  const auto power = [](double a, double b) {
    return both_of(Elementwise::Kind::power, about(a, 0), about(b, 0)).values[0];
  };
  EXPECT_EQ(power(-3, 2), 9);
  EXPECT_EQ(power(-2, 3), -8);
  EXPECT_EQ(power(4, 0.5), 2);
  EXPECT_EQ(power(2, -2), 0.25);
  EXPECT_EQ(both_of(Elementwise::Kind::maximum, about(1, 0), about(-2, 0)).values[0], 1);
  EXPECT_EQ(both_of(Elementwise::Kind::minimum, about(1, 0), about(-2, 0)).values[0], -2);
  EXPECT_TRUE(std::isnan(both_of(Elementwise::Kind::maximum, about(NAN, 0), about(1, 0)).values[0]));
  EXPECT_TRUE(std::isnan(both_of(Elementwise::Kind::minimum, about(1, 0), about(NAN, 0)).values[0]));
}

TEST(ModelFunctions, BoundsOfTwoArgumentsCoverTheirCorners) {
  using Both = Elementwise::Kind;
  const std::vector<std::tuple<Both, Bounded, Bounded>> cases{
      {Both::power, about(1.5, 0.1), about(-0.7, 0.05)}, {Both::power, about(0.9, 0.2), about(2.5, 0.3)},
      {Both::power, about(-0.05, 0.1), about(2, 0)},     {Both::power, about(-1.2, 0.1), about(3, 0)},
      {Both::maximum, about(1, 0.1), about(1.05, 0.2)},  {Both::maximum, about(-1, 0.3), about(0.8, 0.01)},
      {Both::minimum, about(1, 0.1), about(1.05, 0.2)},  {Both::minimum, about(-1, 0.3), about(0.8, 0.01)}};
  for (const auto& [kind, a, b] : cases) {
    const Bounded result = both_of(kind, a, b);
    double largest = 0;
    for (int i = -8; i <= 8; ++i)
      for (int k = -8; k <= 8; ++k) {
        const Bounded other =
            both_of(kind, about(a.values[0] + a.bounds[0] * i / 8, 0), about(b.values[0] + b.bounds[0] * k / 8, 0));
        largest = std::max(largest, std::abs(other.values[0] - result.values[0]) / result.bounds[0]);
      }
    EXPECT_LE(largest, 1 + 1e-9) << static_cast<int>(kind);
    EXPECT_GT(largest, 0.3) << static_cast<int>(kind);
  }
}

TEST(ModelFunctions, APowerThatIsNoNumberHasNoBound) {
  const Bounded nothing = about(std::nan(""), 0);
  const Bounded two = about(2, 0);
  EXPECT_EQ(both_of(Elementwise::Kind::power, nothing, two).bounds[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(both_of(Elementwise::Kind::power, two, nothing).bounds[0], std::numeric_limits<double>::infinity());
}

TEST(ModelProducts, MatricesByHand) {
  const Bounded a = exactly(make_tensor({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const Bounded b = exactly(make_tensor({3, 2}, {1, 0, 2, 1, 0, 3}));
  const std::vector<double> expected{5, 11, 14, 23, 23, 35, 32, 47};
  const Bounded product = evaluate(MatMul{}, {&a, &b});
  EXPECT_EQ(product.values, expected);
  EXPECT_EQ(product.terms, 3U);
  const Bounded turned = exactly(make_tensor({2, 3}, {1, 2, 0, 0, 1, 3}));
  EXPECT_EQ(evaluate(MatMul{true}, {&a, &turned}).values, expected);
  const Bounded each = exactly(make_tensor({2, 1, 1, 3}, {1, 0, 0, 0, 0, 1}));
  const Bounded by = evaluate(MatMul{true}, {&each, &a});  // 2 x 1 x 1 x 3 by 2 x 3 x 2
  EXPECT_EQ(by.shape, (Shape{2, 2, 1, 2}));
  EXPECT_EQ(by.values, (std::vector<double>{1, 4, 7, 10, 3, 6, 9, 12}));
}

TEST(ModelProducts, ReductionsByHand) {
  const Bounded x = exactly(make_tensor({2, 2, 2}, {1, -2, 3, 4, 5, 6, -7, 8}));
  const auto reduced = [&](Reduce::Kind kind, const std::vector<Index>& axes) {
    return evaluate(Reduce{kind, axes}, {&x});
  };
  EXPECT_EQ(reduced(Reduce::Kind::sum, {0, 2}).values, (std::vector<double>{10, 8}));
  EXPECT_EQ(reduced(Reduce::Kind::sum, {0, 2}).shape, (Shape{1, 2, 1}));
  EXPECT_EQ(reduced(Reduce::Kind::product, {1}).values, (std::vector<double>{3, -8, -35, 48}));
  EXPECT_EQ(reduced(Reduce::Kind::maximum, {1, 2}).values, (std::vector<double>{4, 8}));
  EXPECT_EQ(reduced(Reduce::Kind::minimum, {0, 1, 2}).values, (std::vector<double>{-7}));
  EXPECT_EQ(reduced(Reduce::Kind::sum, {2}).terms, 2U);
}

TEST(ModelProducts, AnExtremeOfWhatIsNoNumberIsNone) {
  for (const std::vector<float>& values : {std::vector<float>{NAN, 1, 2}, {1, NAN, 2}, {1, 2, NAN}})
    for (const auto kind : {Reduce::Kind::maximum, Reduce::Kind::minimum}) {
      const Bounded x = exactly(make_tensor({3}, values));
      EXPECT_TRUE(std::isnan(evaluate(Reduce{kind, {0}}, {&x}).values[0]));
    }
}

/// Results for inputs at the ends of their bounds are within the result's bound.
TEST(ModelProducts, BoundsHoldForInputsThatAreOff) {
  Rng rng(61);
  const std::vector<Operation> operations{MatMul{},
                                          MatMul{true},
                                          Reduce{Reduce::Kind::sum, {1}},
                                          Reduce{Reduce::Kind::product, {0, 2}},
                                          Reduce{Reduce::Kind::maximum, {1, 2}},
                                          Reduce{Reduce::Kind::minimum, {2}}};
  for (const Operation& operation : operations) {
    const bool two = std::holds_alternative<MatMul>(operation);
    std::vector<Bounded> inputs(two ? 2 : 1);
    for (Bounded& input : inputs) {
      input = exactly(testing::random_tensor(rng, {2, 4, 4}));
      for (double& bound : input.bounds) bound = rng.real(0, 0.05);
    }
    const auto apply = [&](const std::vector<Bounded>& all) {
      std::vector<const Bounded*> pointers;
      for (const Bounded& one : all) pointers.push_back(&one);
      return evaluate(operation, pointers);
    };
    const Bounded expected = apply(inputs);
    double largest = 0;
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<Bounded> off = inputs;
      for (Bounded& one : off)
        for (std::size_t i = 0; i < one.values.size(); ++i)
          one.values[i] += (rng.below(2) == 0 ? 1 : -1) * one.bounds[i];
      const Bounded found = apply(off);
      for (std::size_t i = 0; i < found.values.size(); ++i)
        largest = std::max(largest, std::abs(found.values[i] - expected.values[i]) / expected.bounds[i]);
    }
    EXPECT_LE(largest, 1 + 1e-9) << operation_name(operation);
    EXPECT_GT(largest, 0.15) << operation_name(operation);
  }
}

/// Engines round sums of what the factors may be, not of what they are in the oracle.
TEST(ModelProducts, BoundsHoldForRoundingsOfFactorsThatAreFarOff) {
  Bounded a = exactly(make_tensor({1, 4}, {0, 0, 0, 0}));
  a.bounds.assign(4, 1e6);
  const Bounded b = exactly(make_tensor({4, 1}, {1, 1, 1, 1}));
  EXPECT_GT(evaluate(MatMul{}, {&a, &b}).bounds[0], 4e6 * (1 + 4 * 0x1p-24));
}

TEST(ModelProducts, OfZerosAreZeroWhateverTheOtherFactorMayBe) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({2, 3});
  const ValueId y = builder.input({3, 4});
  const Model model = builder.finish({builder.add(MatMul{}, {x, y})});
  const auto largest = [&](double first, double second) {
    return Magnitudes(model).of(0, std::vector{first, second}).result;
  };
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  EXPECT_EQ(largest(0, kUnknown), 0);
  EXPECT_EQ(largest(kUnknown, 0), 0);
  EXPECT_EQ(largest(2, 5), 30);
}

/// A power has a pole where a base may be zero and the exponent negative, and only there.
TEST(ModelFunctions, PowersHaveABoundWhereTheBaseKeepsItsSign) {
  const auto bound = [](double base, double off, float exponent) {
    const Bounded x{{1}, {base}, {off}, 0};
    const Bounded y = exactly(make_tensor({1}, {exponent}));
    return evaluate(Elementwise{Elementwise::Kind::power}, {&x, &y}).bounds[0];
  };
  EXPECT_NEAR(bound(3, 0.1, -2), 1 / (2.9 * 2.9) - 1. / 9, 1e-5);
  EXPECT_NEAR(bound(-3, 0.1, -2), 1 / (2.9 * 2.9) - 1. / 9, 1e-5);
  EXPECT_NEAR(bound(0.5, 1, 2), 2, 1e-5);
  for (const double base : {0.05, -0.05, 0.1, -0.1}) EXPECT_TRUE(std::isinf(bound(base, 0.1, -2))) << base;
  EXPECT_TRUE(std::isinf(bound(0.05, 0.1, 0.5F))) << "a root of what may be negative";
  EXPECT_LT(bound(0.15, 0.1, 0.5F), 1);
}

TEST(ModelProducts, ShapesAreCheckedAndFound) {
  constexpr Extent kN = kBatchExtent;
  const auto refused = [](const Operation& operation, const std::vector<Shape>& inputs) {
    try {
      return "makes " + shape_text(output_shape(operation, inputs));
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refused(MatMul{}, {{kN, 2, 5, 3}, {kN, 2, 3, 4}}), "makes N x 2 x 5 x 4");
  EXPECT_EQ(refused(MatMul{true}, {{kN, 2, 5, 3}, {4, 3}}), "makes N x 2 x 5 x 4");
  EXPECT_EQ(refused(MatMul{}, {{kN, 3}, {3, 4}}), "makes N x 4");
  EXPECT_EQ(refused(MatMul{}, {{kN, 3}, {kN, 3}}), "multiplies matrices, not N x 3 and N x 3");
  EXPECT_EQ(refused(MatMul{}, {{kN, 3}, {2, 3, 4}}), "multiplies matrices, not N x 3 and 2 x 3 x 4");
  EXPECT_EQ(refused(MatMul{}, {{3}, {3, 4}}), "multiplies matrices, not 3 and 3 x 4");
  EXPECT_EQ(refused(MatMul{}, {{2, 3}, {4, 3}}), "2 x 3 and 4 x 3 do not fit");
  EXPECT_EQ(refused(MatMul{}, {{2, 5, 3}, {3, 3, 4}}), "2 x 5 x 3 and 3 x 3 x 4 do not fit");
  EXPECT_EQ(refused(MatMul{}, {{2, 3}}), "takes 2 inputs, not 1");
  EXPECT_EQ(refused(Reduce{Reduce::Kind::sum, {1, 2}}, {{kN, 5, 3}}), "makes N x 1 x 1");
  EXPECT_EQ(refused(Reduce{Reduce::Kind::sum, {0}}, {{kN, 5}}), "axis 0 is the batch of N x 5");
  EXPECT_EQ(refused(Reduce{Reduce::Kind::sum, {2}}, {{kN, 5}}), "axis 2 does not exist in N x 5");
  EXPECT_EQ(refused(Reduce{Reduce::Kind::maximum, {1}}, {{2, 0}}), "there is nothing along axis 1 of 2 x 0");
  testing::ModelBuilder builder;
  Model model = builder.finish({builder.add(Reduce{Reduce::Kind::sum, {1, 2}}, {builder.input({kN, 2, 3})})});
  std::get<Reduce>(model.nodes[0].operation).axes = {2, 1};
  EXPECT_THROW(model.validate(), std::invalid_argument);
}

}  // namespace
}  // namespace spdnn
