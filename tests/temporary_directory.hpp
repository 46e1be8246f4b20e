#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace spdnn {

/// A directory for one test, which is removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const std::string pattern = "spdnn-test-" + std::string(6, 'X');  // mkdtemp() replaces these six
    std::string name = (std::filesystem::temp_directory_path() / pattern).string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace spdnn
