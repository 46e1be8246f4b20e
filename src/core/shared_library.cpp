#include "core/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

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
  const char* const reason = ::dlerror();
  throw DeviceError(
      fmt::format("{}: cannot be used: {}; {}", file_, reason == nullptr ? "unknown reason" : reason, advice_));
}

}  // namespace spdnn
