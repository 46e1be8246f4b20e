#include "cli/bench.hpp"

#include <fmt/format.h>

#include "spdnn/error.hpp"

namespace spdnn::cli {

int bench(const Arguments& arguments) {
  constexpr const char* kUsage = "spdnn bench layers|suite|scaling [OPTIONS]";
  const std::string what = arguments.empty() ? "" : arguments[0];
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (what == "layers") return bench_layers(rest);
  if (what == "suite") return bench_suite(rest);
  if (what == "scaling") return bench_scaling(rest);
  if (what == "--help") return fmt::print("usage: {}\n", kUsage), 0;
  throw UsageError(fmt::format("bench: expected layers, suite or scaling; usage: {}", kUsage));
}

}  // namespace spdnn::cli
