#pragma once

#include "core/text/json.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// kBatchExtent is written as "N".
inline Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (const Extent extent : shape) json.push_back(extent == kBatchExtent ? Json("N") : Json(extent));
  return json;
}

}  // namespace spdnn
