#pragma once

#include <cstddef>
#include <string>

namespace spdnn {

/// `812 bytes`, `1.5 kB`, `23.4 MB`, `7.0 GB`: in the unit in which there is something to see.
std::string bytes_text(std::size_t bytes);

}  // namespace spdnn
