#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.hpp"

namespace spdnn {

/// Values after each layer as points, x counted from 1: only those at which the value changes, because thousands of
/// equal layers need only two points, and on a logarithmic axis only those above 0.
std::vector<Point> points_by_layer(const std::vector<double>& values, bool logarithmic);

/// Merges series with identical points, which would hide one another, into one that names all of them.
std::vector<Series> without_twins(const std::vector<Series>& series);

/// The shares of zeros of a model's nodes, in per cent of their weights.
Chart zeros_by_node(std::string description, const std::vector<Series>& shares);

/// The layers, from 1, that are shown if a table cannot show all: 1, 2, 5, 10, ... and the last.
std::vector<std::size_t> some_layers(std::size_t depth);

}  // namespace spdnn
