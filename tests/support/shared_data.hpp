#pragma once

#include <cstdlib>
#include <filesystem>

namespace spdnn {

/// The path of a file in the data folder beside the repository; unit tests run in the repository's root. Tests that
/// need such a file skip where it is absent: `if (!exists(path)) GTEST_SKIP() << ...`.
inline std::filesystem::path shared_data(const std::filesystem::path& name) {
  return std::filesystem::path("../shared/data") / name;
}

/// MNIST's training images, where data_scripts/mnist.sh finds them.
inline std::filesystem::path shared_mnist() {
  constexpr const char* kName = "train-images-idx3-ubyte.gz";
  if (const char* const named = std::getenv("MNIST"); named != nullptr && *named != '\0') return named;
  const std::filesystem::path fetched = std::filesystem::path("build/data") / kName;
  return std::filesystem::exists(fetched) ? fetched : shared_data("mnist") / kName;
}

}  // namespace spdnn
