#include "report/line_parts.hpp"

#include <fmt/format.h>

#include <cmath>

namespace spdnn {

LineOrigin origin_of(const JsonFields& line) {
  return {
      .host = line.optional_text({"machine", "host"}),
      .cpu = line.text({"machine", "cpu"}),
      .device = line.optional_text({"machine", "device"}),
      .driver = line.optional_text({"machine", "driver"}),
      .cuda = line.optional_text({"machine", "cuda"}),
      .threads = std::uint64_t{1} * line.positive({"machine", "threads"}) * line.positive_or({"machine", "ranks"}, 1),
      .version = line.text({"build", "version"}),
      .commit = line.text({"build", "commit"}),
      .dirty = line.truth({"build", "dirty"})};
}

std::string status_of(const JsonFields& line) {
  std::string status = line.text({"verdict", "status"});
  if (status != "PASSED" && status != "FAILED" && status != "UNVERIFIED")
    line.fail({"verdict", "status"}, "expected PASSED, FAILED or UNVERIFIED");
  return status;
}

void check_rate(const JsonFields& line, const char* name, double done, double seconds, const char* what) {
  constexpr double kTolerance = 1e-6;
  const double rate = line.number({name});
  if (seconds <= 0 || std::abs(rate * seconds - done) > kTolerance * done)
    line.fail({name}, fmt::format("expected {:.6g} {} / {} s", done, what, seconds));
}

}  // namespace spdnn
