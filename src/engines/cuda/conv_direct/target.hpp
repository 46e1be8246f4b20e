#pragma once

#include <memory>

#include "program/target.hpp"

namespace spdnn::cuda {

std::shared_ptr<program::Target> target_of(int device);

}  // namespace spdnn::cuda
