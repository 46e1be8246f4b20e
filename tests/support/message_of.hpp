#pragma once

#include <string>

namespace spdnn::testing {

/// The message of the ErrorType that `work` throws, or "no error".
template <class ErrorType, class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace spdnn::testing
