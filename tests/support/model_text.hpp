#pragma once

#include <fmt/format.h>

#include <string>

#include "spdnn/model.hpp"

namespace spdnn::testing {

/// A model as text, number by number (floats in hexadecimal), so that models with equal texts are equal bit for bit.
/// Names that a format may change are left out.
class ModelText {
 public:
  static std::string of(const Model& model, bool with_names) {
    ModelText text;
    const auto name = [&](const std::string& own) { return with_names ? own : std::string(); };
    text.line("model", name(model.name), model.inputs, model.outputs);
    for (const Value& value : model.values) {
      text.line("value", name(value.name), value.shape, value.constant.has_value());
      if (value.constant) text.line(value.constant->shape, value.constant->values);
    }
    for (const Node& node : model.nodes) {
      text.line("node", name(node.name), std::string(operation_name(node.operation)), node.inputs, node.output);
      std::visit(text, node.operation);
    }
    return text.text_;
  }

#define SPDNN_OPERATION(Type, ...)         \
  void operator()(const Type& operation) { \
    const auto& [__VA_ARGS__] = operation; \
    line(__VA_ARGS__);                     \
  }
#include "spdnn/operations.def"
#undef SPDNN_OPERATION

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    (add(parts), ...);
    text_ += '\n';
  }
  void add(const std::string& text) { text_ += text + ' '; }
  void add(const char* text) { add(std::string(text)); }
  void add(float value) { text_ += fmt::format("{:a} ", value); }
  template <class Whole>
  requires std::is_integral_v<Whole>
  void add(Whole value) { text_ += fmt::format("{} ", value); }
  template <class Kind>
  requires std::is_enum_v<Kind>
  void add(Kind kind) { add(static_cast<int>(kind)); }
  void add(const Window& w) { line(w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end); }
  void add(const CsrMatrix& matrix) {
    line(matrix.rows, matrix.cols, matrix.offsets, matrix.indices);
    for (Offset k = 0; k < matrix.entries(); ++k) add(matrix.entry_value(k));
  }
  template <class List>
  requires requires(const List& list) { list.begin(); }
  void add(const List& list) {
    text_ += '[';
    for (const auto& one : list) add(one);
    text_ += "] ";
  }

  std::string text_;
};

}  // namespace spdnn::testing
