#pragma once

// The content of include/spdnn/model.hpp for the operation.
namespace spdnn {

/// y = factor x.
struct Scale {
  float factor = 1;
};

}  // namespace spdnn
