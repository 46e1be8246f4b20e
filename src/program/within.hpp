#pragma once

#include <cstddef>

#include "program/layout.hpp"

namespace spdnn::program {

/// Whether all numbers are at most `limit` in absolute value. NaN is not.
bool within(const std::byte* numbers, std::size_t bytes, ElementType type, float limit);

}  // namespace spdnn::program
