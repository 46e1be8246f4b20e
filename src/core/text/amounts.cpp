#include "core/text/amounts.hpp"

namespace spdnn {

std::string bytes_text(std::size_t bytes) {
  if (bytes < 1000) return counted(bytes, "byte", "bytes");
  const auto in = [&](double unit, const char* name) {
    return fmt::format("{:.1f} {}", static_cast<double>(bytes) / unit, name);
  };
  if (bytes < 1'000'000) return in(1e3, "kB");
  if (bytes < 1'000'000'000) return in(1e6, "MB");
  return in(1e9, "GB");
}

}  // namespace spdnn
