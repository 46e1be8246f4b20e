#pragma once

#include <initializer_list>
#include <string>

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

}  // namespace spdnn
