#include "io/files/claimed_size.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spdnn/error.hpp"

namespace spdnn {

Index believed_size(std::size_t bytes) {
  constexpr std::size_t kAlways = std::size_t{1} << 20;
  constexpr std::size_t kBytesEach = 8;
  return static_cast<Index>(std::min<std::size_t>(kAlways + bytes / kBytesEach, kMaxIndex));
}

std::string claimed_size_reason(std::size_t bytes) { return fmt::format("in {} bytes, or an explicit number", bytes); }

void check_claimed_size(const std::string& place, Offset claimed, const std::string& what, std::size_t bytes) {
  const Index most = believed_size(bytes);
  if (claimed > most)
    throw DataError(
        fmt::format("{}: {} {}, expected at most {} {}", place, claimed, what, most, claimed_size_reason(bytes)));
}

}  // namespace spdnn
