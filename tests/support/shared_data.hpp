#pragma once

#include <filesystem>

namespace spdnn {

/// A file of the data that lies beside the repository and is no part of it; the unit tests run in the repository's
/// root. Tests that need it skip where it is absent: `if (!exists(path)) GTEST_SKIP() << ...`.
inline std::filesystem::path shared_data(const std::filesystem::path& name) {
  return std::filesystem::path("../shared/data") / name;
}

inline std::filesystem::path shared_mnist() { return shared_data("mnist/train-images-idx3-ubyte.gz"); }

}  // namespace spdnn
