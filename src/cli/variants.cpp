#include <fmt/format.h>

#include "cli/options.hpp"
#include "spdnn/engine.hpp"

namespace spdnn::cli {

int variants(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, "spdnn variants", po::options_description("Options"), {}, values)) return 0;
  fmt::print("{:<28} {:<6} {:<12} {}\n", "variant", "device", "precisions", "what it is");
  for (const Variant& variant : spdnn::variants()) {
    std::string precisions;
    for (const Precision precision : variant.precisions)
      precisions += (precisions.empty() ? "" : " ") + std::string(to_string(precision));
    fmt::print("{:<28} {:<6} {:<12} {}\n", variant.name, to_string(variant.device), precisions, variant.description);
  }
  return 0;
}

}  // namespace spdnn::cli
