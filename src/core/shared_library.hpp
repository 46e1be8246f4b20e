#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace spdnn {

/// A library that few runs need, opened when it is first used, so that other runs do not pay for loading it. It stays
/// open until the process ends, and is found as a linked library would be: the program's own search path first.
class SharedLibrary {
 public:
  /// Opens the first of these names that there is: a library's versions that serve alike. DeviceError `FILE: cannot be
  /// used: REASON; ADVICE` where there is none.
  SharedLibrary(std::initializer_list<std::string> files, std::string advice);

  /// DeviceError where the library has no such function.
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

/// Those of the shared objects of these names that there are. They were built with the program, or with the Python
/// module, and lie beside it or, where the program is installed, in ../lib/spdnn; the former come first, and of one
/// folder the first name.
std::vector<std::filesystem::path> plugins(std::initializer_list<std::string> names);

/// The address of a function of the shared object at `path`, which stays open; otherwise null, and `; ` and the reason
/// are added to `why_not`. `flags` are dlopen's, besides RTLD_NOW.
void* plugin_function(const std::filesystem::path& path, const char* name, int flags, std::string& why_not);

}  // namespace spdnn
