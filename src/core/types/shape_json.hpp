#pragma once

#include <nlohmann/json.hpp>

#include "spdnn/tensor.hpp"

namespace spdnn {

/// kBatchExtent is written as "N".
inline nlohmann::ordered_json shape_json(const Shape& shape) {
  auto json = nlohmann::ordered_json::array();
  for (const Extent extent : shape)
    json.push_back(extent == kBatchExtent ? nlohmann::ordered_json("N") : nlohmann::ordered_json(extent));
  return json;
}

}  // namespace spdnn
