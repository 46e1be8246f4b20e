#pragma once

#include <string>

namespace spdnn {

/// What this binary is: set by the Makefile, reported by --version and in every JSON line.
struct BuildInfo {
  std::string version;
  std::string commit;  ///< "unknown" outside a git checkout
  bool dirty = false;
  std::string headers;  ///< digest of all headers: where it is the same, types are
  bool cuda = false;
  std::string cuda_architectures;  ///< e.g. "80 90"; empty without CUDA
};

const BuildInfo& build_info();
/// What the program and a plug-in that has its types must have in common.
std::string interface_text();
/// The lines of `spdnn --version` on what is within this binary.
std::string version_text();

}  // namespace spdnn
