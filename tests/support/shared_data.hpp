#pragma once

#include <filesystem>

namespace spdnn {

/// The path of a file of the data beside the repository, which are no part of it; the unit tests run in the root of the
/// repository. Tests that need such a file skip where it is absent: `if (!exists(path)) GTEST_SKIP() << ...`.
inline std::filesystem::path shared_data(const std::filesystem::path& name) {
  return std::filesystem::path("../shared/data") / name;
}

inline std::filesystem::path shared_mnist() { return shared_data("mnist/train-images-idx3-ubyte.gz"); }

}  // namespace spdnn
