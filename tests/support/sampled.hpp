#pragma once

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace spdnn::testing {

/// Whether tests repeat themselves in full (`make test-long`, which sets SPDNN_TEST_LONG) or take samples of their
/// seeds, shapes and sizes (`make test`).
inline bool in_full() {
  const char* const given = std::getenv("SPDNN_TEST_LONG");
  return given != nullptr && *given != '\0';
}

/// A number of repetitions or a size: `few` in a sample, `all` in full.
template <class T>
T sampled(T few, T all) {
  return in_full() ? all : few;
}

/// The cases of a sweep: `few` in a sample, `all` in full.
template <class T>
std::vector<T> sampled(std::initializer_list<T> few, std::initializer_list<T> all) {
  return in_full() ? all : few;
}

}  // namespace spdnn::testing
