#include "io/models/tflite/operators.hpp"

#include <algorithm>
#include <array>

namespace spdnn::tflite_reader {

namespace {

constexpr std::size_t kAny = 1U << 20U;

constexpr std::array kOperators{
#define SPDNN_OPERATOR(code, least, most, read) Operator{tflite::BuiltinOperator::code, "", least, most, read},
#define SPDNN_CUSTOM(name, least, most, read) Operator{tflite::BuiltinOperator::CUSTOM, #name, least, most, read},
#include "io/models/tflite/operators.def"
#undef SPDNN_OPERATOR
};

}  // namespace

const Operator* find_operator(tflite::BuiltinOperator code, std::string_view custom) {
  const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                   [&](const Operator& one) { return one.code == code && one.custom == custom; });
  return found == kOperators.end() ? nullptr : found;
}

std::string operator_names() {
  std::string names;
  for (const Operator& one : kOperators) {
    if (!names.empty()) names += ", ";
    names += tflite::EnumNameBuiltinOperator(one.code);
    if (!one.custom.empty()) names += " " + std::string(one.custom);
  }
  return names;
}

}  // namespace spdnn::tflite_reader
