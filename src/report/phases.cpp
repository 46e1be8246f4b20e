#include "report/phases.hpp"

#include <fmt/format.h>

#include "core/build_info.hpp"

namespace spdnn {

std::string report_line(std::string_view key, const std::string& value) {
  return fmt::format("{:<16} {}\n", key, value);
}

std::string phase_line(std::string_view key, double seconds, const std::string& more) {
  return fmt::format("{:<16} {:>12.6f} s{}\n", key, seconds, more);
}

std::string infer_line(const Spread& infer, int trials) {
  return phase_line("infer", infer.median,
                    fmt::format("  median of {} (min {:.6f}, max {:.6f}), together {:.6f} s", trials, infer.min,
                                infer.max, infer.sum));
}

nlohmann::ordered_json spread_json(const Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}, {"sum", spread.sum}};
}

nlohmann::ordered_json build_json() {
  const BuildInfo& build = build_info();
  return {{"version", build.version}, {"commit", build.commit}, {"dirty", build.dirty}};
}

}  // namespace spdnn
