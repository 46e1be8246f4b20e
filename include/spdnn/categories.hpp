#pragma once

#include <span>
#include <string>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn {

/// The images alive after the last layer: 0-based ids, ascending. (Files hold them 1-based.)
using Categories = std::vector<Index>;

/// Result of comparing categories with the truth.
struct Comparison {
  std::vector<Index> missing;  ///< in the truth, not in the categories
  std::vector<Index> extra;    ///< in the categories, not in the truth
  bool equal() const { return missing.empty() && extra.empty(); }
};

/// Both lists must ascend strictly (std::invalid_argument otherwise).
Comparison compare(std::span<const Index> categories, std::span<const Index> truth);

/// SHA-256 in hex of the list's file: 1-based ids, one per line, LF. Proves a result without a truth file.
std::string digest(std::span<const Index> categories);

}  // namespace spdnn
