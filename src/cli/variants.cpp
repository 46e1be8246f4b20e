#include <fmt/format.h>

#include "cli/options.hpp"
#include "engines/engine.hpp"
#include "engines/model_engine.hpp"

namespace spdnn::cli {

namespace {

/// Prints engines for networks, or for models.
template <class Variants>
void print(const Variants& variants) {
  fmt::print("{:<28} {:<6} {:<12} {}\n", "variant", "device", "precisions", "description");
  for (const auto& variant : variants) {
    std::string precisions;
    for (const Precision precision : variant.precisions)
      precisions += (precisions.empty() ? "" : " ") + std::string(to_string(precision));
    fmt::print("{:<28} {:<6} {:<12} {}\n", variant.name, to_string(variant.device), precisions, variant.description);
  }
}

}  // namespace

std::vector<CommandForm> variants_forms() {
  OptionGroup group;
  group.options.add_options()("models", "list engines for models instead of networks");
  return {{.name = "variants",
           .summary = "Lists the engines of this build with their precisions.",
           .usage = "spdnn variants [--models]",
           .groups = {group}}};
}

int variants(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, variants_forms().front(), values)) return 0;
  if (values.count("models") != 0)
    print(model_variants());
  else
    print(spdnn::variants());
  return 0;
}

}  // namespace spdnn::cli
