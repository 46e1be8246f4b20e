#pragma once

#include <cstdint>
#include <string_view>

namespace spdnn::testing {

/// FNV-1a of a text: for what must not change from one machine, or version, to another.
inline std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace spdnn::testing
