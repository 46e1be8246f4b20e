#pragma once

#include <functional>
#include <string>

namespace spdnn::bench {

/// Prints text for people.
using Print = std::function<void(const std::string&)>;

}  // namespace spdnn::bench
