#pragma once

#include <cstddef>
#include <string>

namespace spdnn {

/// A readable size in a suitable unit: `1 byte`, `812 bytes`, `1.5 kB`, `23.4 MB`, `7.0 GB`.
std::string bytes_text(std::size_t bytes);

}  // namespace spdnn
