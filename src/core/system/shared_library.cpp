#include "core/system/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::string reason() {
  const char* const reason = ::dlerror();
  return reason == nullptr ? "unknown reason" : reason;
}

/// The folder of the program, or of the shared object, such as a Python module, that contains this code.
std::filesystem::path own_folder() {
  Dl_info info{};
  void* map = nullptr;
  const auto* const here = reinterpret_cast<const void*>(&own_folder);
  const bool found = ::dladdr1(here, &info, &map, RTLD_DL_LINKMAP) != 0;
  // For the main program, the link map's name is empty, and dladdr returns argv[0].
  const std::filesystem::path object = found ? static_cast<const link_map*>(map)->l_name : "";
  return (object.empty() ? std::filesystem::read_symlink("/proc/self/exe") : object).parent_path();
}

}  // namespace

SharedLibrary::SharedLibrary(std::initializer_list<std::string> files, std::string advice)
    : advice_(std::move(advice)) {
  for (const std::string& file : files) {
    file_ = file;
    library_ = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) return;
  }
  fail();
}

void* SharedLibrary::address(const char* name) const {
  void* const address = ::dlsym(library_, name);
  if (address == nullptr) fail();
  return address;
}

void SharedLibrary::fail() const {
  throw DeviceError(fmt::format("{}: cannot be used: {}; {}", file_, reason(), advice_));
}

std::vector<std::filesystem::path> plugins(std::initializer_list<std::string> names) {
  namespace fs = std::filesystem;
  const fs::path own = own_folder();
  std::vector<fs::path> found;
  for (const fs::path& folder : {own, own.parent_path() / "lib" / "spdnn"})
    for (const std::string& name : names)
      if (fs::exists(folder / name)) found.push_back(folder / name);
  return found;
}

void* plugin_function(const std::filesystem::path& path, const char* name, int flags, std::string& why_not) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | flags);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function == nullptr) why_not += "; " + reason();
  return function;
}

}  // namespace spdnn
