#pragma once

// ONNX graphs of a few nodes as one line of text, for tables of tests.

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/onnx_file.hpp"

namespace spdnn::onnx_test {

/// Reads `@11 a = Op(x[-1,2,6], i{1,2}, f[2,1]{1,2.5}, -) attr=[1,2] mode='s' >2; Op(a) axis=1`: the operator set, and
/// nodes. Inputs are x, y, ... with their shapes where they are first named, constants of integers (i) or fp32 numbers
/// (f), and
/// `-` for none. `>2` asks for two outputs, of which a is the first, and a1 the second. The last node makes the output.
class RowReader {
 public:
  explicit RowReader(std::string_view text) : left_(text) {}

  File file() {
    File file(take('@') ? static_cast<int>(integer()) : 17);
    std::string last;
    for (int n = 0; n == 0 || take(';'); ++n) last = node(file, n);
    file.output(last);
    return file;
  }

 private:
  bool take(char one) {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
    if (left_.empty() || left_.front() != one) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char one) {
    if (!take(one)) throw std::invalid_argument(fmt::format("expected {} at: {}", one, left_));
  }
  template <class Is>
  std::string while_is(const Is& is) {
    take('\0');
    std::size_t n = 0;
    while (n < left_.size() && is(left_[n])) ++n;
    const std::string found(left_.substr(0, n));
    left_.remove_prefix(n);
    return found;
  }
  std::string word() {
    return while_is([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  }
  std::string number() {
    return while_is([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-'; });
  }
  std::int64_t integer() { return std::stoll(number()); }
  template <class Number, class Read>
  std::vector<Number> list(char open, char close, const Read& read) {
    std::vector<Number> all;
    expect(open);
    while (!take(close)) {
      all.push_back(static_cast<Number>(read(number())));
      take(',');
    }
    return all;
  }
  std::vector<std::int64_t> integers(char open, char close) {
    return list<std::int64_t>(open, close, [](const std::string& text) { return std::stoll(text); });
  }

  std::string input(File& file) {
    if (take('-')) return "";
    const std::string name = word();
    const bool shaped = !left_.empty() && left_.front() == '[';
    std::vector<std::int64_t> shape;
    if (shaped) shape = integers('[', ']');
    if (left_.empty() || left_.front() != '{') {
      if (shaped) file.input(name, shape);
      return name;
    }
    const std::string own = fmt::format("c{}", constants_++);
    if (name == "i") {
      const auto values = integers('{', '}');
      auto& tensor = file.tensor(own, shaped ? shape : std::vector{static_cast<std::int64_t>(values.size())},
                                 onnx::TensorProto::INT64);
      for (const std::int64_t value : values) tensor.add_int64_data(value);
    } else {
      const auto values = list<float>('{', '}', [](const std::string& text) { return std::stof(text); });
      file.floats(own, shaped ? shape : std::vector{static_cast<std::int64_t>(values.size())}, values);
    }
    return own;
  }
  std::string node(File& file, int n) {
    std::string output = fmt::format("n{}", n);
    std::string type = word();
    if (take('=')) output = std::exchange(type, word());
    std::vector<std::string> inputs;
    expect('(');
    while (!take(')')) {
      inputs.push_back(input(file));
      take(',');
    }
    onnx::NodeProto& node = file.node(type, inputs, output);
    while (!take('\0') && !left_.empty() && left_.front() != ';') {
      if (take('>'))
        for (std::int64_t i = 1, all = integer(); i < all; ++i) node.add_output(fmt::format("{}{}", output, i));
      else
        attribute_of(node);
    }
    return output;
  }
  void attribute_of(onnx::NodeProto& node) {
    const std::string name = word();
    expect('=');
    if (!left_.empty() && left_.front() == '[') return set(node, name, integers('[', ']'));
    if (take('\'')) {
      set(node, name, while_is([](char c) { return c != '\''; }).c_str());
      return expect('\'');
    }
    const std::string value = number();
    if (value.find_first_of(".nif") == std::string::npos)
      set(node, name, static_cast<std::int64_t>(std::stoll(value)));
    else
      set(node, name, std::stof(value));
  }

  std::string_view left_;
  int constants_ = 0;
};

/// `2 x 3: 0 0.5 ...`, what the graph of a row computes for one image of the numbers -2, -1.5, ..., or why it is
/// refused.
inline std::string outcome_of_row(std::string_view row) {
  try {
    const Model model = RowReader(row).file().read();
    std::vector<Tensor> inputs;
    for (const ValueId id : model.inputs) {
      Tensor tensor{model.values[id].shape, {}};
      if (!tensor.shape.empty() && tensor.shape[0] == kBatchExtent) tensor.shape[0] = 1;
      std::vector<float> values(*elements(tensor.shape));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 2 - 2;
      tensor.values = std::move(values);
      inputs.push_back(std::move(tensor));
    }
    const Bounded output = evaluate(model, inputs)[0];
    std::string text = shape_text(output.shape) + ":";
    for (const double value : output.values) text += fmt::format(" {:.6g}", value + 0.0);  // -0 is 0
    return text;
  } catch (const Error& error) {
    const std::string_view all = error.what();
    return std::string(all.substr(all.find(": ") + 2));
  }
}

}  // namespace spdnn::onnx_test
