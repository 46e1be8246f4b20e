#pragma once

#include "model/graph/quantised.hpp"
#include "support/models.hpp"

namespace spdnn::testing {

/// Adds the nodes of QuantizeLinear and DequantizeLinear.
inline ValueId quantised(ModelBuilder& builder, ValueId x, const ByteForm& form) {
  const auto number = [&](float value) { return builder.constant(make_tensor({}, {value})); };
  const ValueId scale = number(form.scale);
  x = builder.add(Elementwise{Elementwise::Kind::divide}, {x, scale});
  x = builder.add(make_activation(Activation::Kind::round), {x});
  if (form.zero != 0) x = builder.add(Elementwise{Elementwise::Kind::add}, {x, number(static_cast<float>(form.zero))});
  x = builder.add(make_clip(static_cast<float>(form.low()), static_cast<float>(form.high())), {x});
  if (form.zero != 0)
    x = builder.add(Elementwise{Elementwise::Kind::subtract}, {x, number(static_cast<float>(form.zero))});
  return builder.add(Elementwise{Elementwise::Kind::multiply}, {x, scale});
}

}  // namespace spdnn::testing
