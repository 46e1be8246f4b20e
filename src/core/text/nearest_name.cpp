#include "core/text/nearest_name.hpp"

#include <algorithm>
#include <vector>

namespace spdnn {

namespace {

/// The optimal string alignment distance: Levenshtein's plus swaps of adjacent letters.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view given, std::span<const std::string> names) {
  constexpr std::size_t kLongest = 40;  // longer than any name
  if (given.empty() || given.size() > kLongest) return {};
  const std::string* nearest = nullptr;
  std::size_t least = given.size() <= 3 ? 1 : 2;
  for (const std::string& name : names) {
    const bool begun = given.size() >= 3 && std::string_view(name).starts_with(given);
    const std::size_t far = begun ? 1 : distance(given, name);
    if (far > least || (far == least && nearest != nullptr)) continue;
    least = far;
    nearest = &name;
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> names, std::string_view prefix) {
  const std::string name = nearest_name(given, names);
  return name.empty() ? name : "; did you mean " + std::string(prefix) + name + "?";
}

}  // namespace spdnn
