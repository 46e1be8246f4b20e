#include "io/models/onnx/read/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace spdnn::onnx_reader {

namespace {

constexpr std::size_t kAny = 1U << 20U;

template <Activation::Kind kind>
void read_function(NodeReader& node) {
  node.set_output(Activation{.kind = kind}, {node.value(0)});
}

constexpr std::array kOperators{
#define SPDNN_FUNCTION(name, first, kind) \
  Operator{name, first, kLastOpset, 1, 1, read_function<Activation::Kind::kind>},
#define SPDNN_OPERATOR(name, first, last, least, most, read) Operator{name, first, last, least, most, read},
#include "io/models/onnx/read/operators.def"
#undef SPDNN_OPERATOR
};

}  // namespace

const Operator* find_operator(std::string_view name) {
  const auto* found =
      std::find_if(kOperators.begin(), kOperators.end(), [&](const Operator& one) { return one.name == name; });
  return found == kOperators.end() ? nullptr : found;
}

std::string operator_names() {
  std::array<std::string_view, kOperators.size()> names;
  std::transform(kOperators.begin(), kOperators.end(), names.begin(), [](const Operator& one) { return one.name; });
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace spdnn::onnx_reader
