#include "core/plugin.hpp"

#include <dlfcn.h>

namespace spdnn {

std::vector<std::filesystem::path> plugin_folders() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return {program, program.parent_path() / "lib" / "spdnn"};
}

void* plugin_function(const std::filesystem::path& path, const char* name, int flags, std::string& why_not) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | flags);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function != nullptr) return function;
  const char* const reason = ::dlerror();
  why_not += "; " + (reason == nullptr ? path.native() + ": unknown reason" : std::string(reason));
  return nullptr;
}

}  // namespace spdnn
