#pragma once

#include <string>

namespace spdnn {

/// The identity of this binary: set by the Makefile, reported by --version and in every JSON line.
struct BuildInfo {
  std::string version;
  std::string commit;  ///< "unknown" outside a git checkout
  bool dirty = false;
  std::string headers;  ///< digest of all headers: equal digests mean equal types
  bool cuda = false;
  std::string cuda_architectures;  ///< e.g. "80 90"; empty without CUDA
};

const BuildInfo& build_info();
/// The text that must be equal in the program and in a plug-in that uses its types.
std::string interface_text();
/// The lines of `spdnn --version` about the contents of this binary.
std::string version_text();

}  // namespace spdnn
