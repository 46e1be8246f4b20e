#pragma once

#include <cstddef>
#include <vector>

#include "report/document.hpp"

namespace spdnn {

/// Values after each layer as points, x from 1 on: those where the value changes, as thousands of equal layers are two
/// points, and on a logarithmic axis only those above 0.
std::vector<Point> points_by_layer(const std::vector<double>& values, bool logarithmic);

/// Series with the same points, which would hide one another, as one, named after all of them.
std::vector<Series> without_twins(const std::vector<Series>& series);

/// Layers, from 1 on, that are shown where a table cannot have all: 1, 2, 5, 10, ... and the last.
std::vector<std::size_t> some_layers(std::size_t depth);

}  // namespace spdnn
