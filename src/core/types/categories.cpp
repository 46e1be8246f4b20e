#include "spdnn/categories.hpp"

#include <fmt/format.h>
#include <sha256.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <stdexcept>

namespace spdnn {

Comparison compare(std::span<const Index> categories, std::span<const Index> truth) {
  for (const auto list : {categories, truth}) {
    if (std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) != list.end())
      throw std::invalid_argument("category lists must ascend");
  }
  Comparison result;
  std::set_difference(truth.begin(), truth.end(), categories.begin(), categories.end(),
                      std::back_inserter(result.missing));
  std::set_difference(categories.begin(), categories.end(), truth.begin(), truth.end(),
                      std::back_inserter(result.extra));
  return result;
}

std::string digest(std::span<const Index> categories) {
  std::string text;
  for (const Index id : categories) text += fmt::format("{}\n", Offset{id} + 1);
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
  SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), hex.data());
  return hex.data();
}

}  // namespace spdnn
