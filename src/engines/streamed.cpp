#include "engines/streamed.hpp"

#include <fmt/format.h>

namespace spdnn {

std::string reason_not_to_stream(const Plan& plan, std::string_view variant) {
  if (!plan.streamed) return {};
  return fmt::format(
      "{}: the layers are streamed, as they do not fit into host memory, and it needs all of them at hand; spmm_rows, "
      "spmm_merge, spmm_shared, cusparse_spmm, cpu_openmp and cpu_reference take them one after another",
      variant);
}

}  // namespace spdnn
