#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace spdnn {

/// Names of which a file may have each once.
class UniqueNames {
 public:
  /// A name that is not taken yet, and is now: the wanted one, if possible, or that with a number at its end.
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
  std::map<std::string, std::size_t> latest_;  ///< the number that a repeated name was given last
};

}  // namespace spdnn
