#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace spdnn {

/// A library opened on first use, so that runs that do not need it do not pay for loading it. It stays open until the
/// process ends, and is searched for like a linked library: the program's own search path first.
class SharedLibrary {
 public:
  /// Opens the first of these names that exists: equivalent versions of a library. DeviceError `FILE: cannot be used:
  /// REASON; ADVICE` if there is none.
  SharedLibrary(std::initializer_list<std::string> files, std::string advice);

  /// DeviceError if the library has no such function.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;
  [[noreturn]] void fail() const;

  std::string file_;
  std::string advice_;
  void* library_ = nullptr;
};

/// The existing shared objects with these names. They are built with the program or with the Python module, and lie
/// beside it or, after installation, in ../lib/spdnn; the former come first.
std::vector<std::filesystem::path> plugins(std::initializer_list<std::string> names);

/// The address of a function of the shared object at `path`, which stays open; on failure null, with `; ` and the
/// reason appended to `why_not`. `flags` are dlopen's, in addition to RTLD_NOW.
void* plugin_function(const std::filesystem::path& path, const char* name, int flags, std::string& why_not);

}  // namespace spdnn
