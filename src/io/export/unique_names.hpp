#pragma once

#include <fmt/format.h>

#include <set>
#include <string>

namespace spdnn {

/// Names of which a file may have each once.
class UniqueNames {
 public:
  /// A name that is not taken yet, and is now: the wanted one, if possible, or that with a number at its end.
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (std::size_t number = 2; name.empty() || !taken_.insert(name).second; ++number)
      name = fmt::format("{}_{}", wanted, number);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace spdnn
