#pragma once

// What include/spdnn/model.hpp would have.
namespace spdnn {

/// y = factor x.
struct Scale {
  float factor = 1;
};

}  // namespace spdnn
