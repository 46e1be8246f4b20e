#include "engines/streamed.hpp"

#include <fmt/format.h>

namespace spdnn {

std::string reason_not_to_stream(const Plan& plan, std::string_view variant) {
  if (!plan.streamed) return {};
  return fmt::format(
      "{}: it needs all layers in memory, but they are streamed, as they do not fit into host memory; spmm_rows, "
      "spmm_merge, spmm_shared, cusparse_spmm, cpu_openmp and cpu_reference support streamed layers",
      variant);
}

}  // namespace spdnn
