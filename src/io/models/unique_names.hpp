#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace spdnn {

/// Makes names unique within a file.
class UniqueNames {
 public:
  /// Reserves and returns a free name: the wanted one, or the wanted one with a numeric suffix.
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    if (!name.empty() && taken_.insert(name).second) return name;
    std::size_t& number = latest_.try_emplace(wanted, 1).first->second;
    do name = fmt::format("{}_{}", wanted, ++number);
    while (!taken_.insert(name).second);
    return name;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, std::size_t> latest_;  ///< the last suffix used, by wanted name
};

}  // namespace spdnn
