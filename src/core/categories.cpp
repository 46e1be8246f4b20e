#include "spdnn/categories.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <functional>
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
  for (const Index id : categories) fmt::format_to(std::back_inserter(text), "{}\n", Offset{id} + 1);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), hash.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available in this OpenSSL");
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) fmt::format_to(std::back_inserter(hex), "{:02x}", hash[i]);
  return hex;
}

}  // namespace spdnn
