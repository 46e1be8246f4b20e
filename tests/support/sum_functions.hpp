#pragma once

#include <vector>

#include "program/epilogue.hpp"
#include "support/models.hpp"

namespace spdnn::testing {

/// A function that kernels have for their sums, and the activation whose values it has, to the last bit.
struct NamedFunction {
  const char* name;
  program::SumFunction function;
  Activation activation;

  float operator()(float x) const { return program::activated(activation, activation.alpha, x); }
};

inline std::vector<NamedFunction> sum_functions() {
  using Kind = program::SumFunction::Kind;
  return {
      {"none", {}, make_activation(Activation::Kind::identity)},
      {"limits", {.kind = Kind::limits, .low = -0.25F, .high = 0.5F}, make_clip(-0.25F, 0.5F)},
      {"leaky relu", {.kind = Kind::leaky_relu, .slope = -0.3F}, make_activation(Activation::Kind::leaky_relu, -0.3F)},
      {"hard swish", {.kind = Kind::hard_swish}, make_activation(Activation::Kind::hard_swish)}};
}

}  // namespace spdnn::testing
