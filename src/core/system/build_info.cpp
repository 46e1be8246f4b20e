#include "core/system/build_info.hpp"

#include <fmt/format.h>

#include "build_values.hpp"

namespace spdnn {

const BuildInfo& build_info() {
  static const BuildInfo info{SPDNN_VERSION, SPDNN_COMMIT,    SPDNN_DIRTY != 0,
                              SPDNN_HEADERS, SPDNN_CUDA != 0, SPDNN_ARCH};
  return info;
}

std::string interface_text() {
  const BuildInfo& info = build_info();
  return fmt::format("spdnn {} (commit {}, headers {})", info.version, info.commit, info.headers);
}

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("spdnn {} (commit {}{})\nOpenMP: yes\nCUDA:   {}", info.version, info.commit,
                     info.dirty ? ", modified" : "",
                     info.cuda ? "yes, sm_" + info.cuda_architectures : std::string("no (built without CUDA)"));
}

}  // namespace spdnn
