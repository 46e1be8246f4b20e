#pragma once

// The instructions of generated code on numbers: of fp32, or two of fp16 at a time. Registers: a sums, x values read, v
// results, w numbers in halves.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

struct Mnemonics;  ///< of the instructions on numbers of a type

/// Writes the text of a kernel.
class Instructions {
 public:
  explicit Instructions(bool in_halves);

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string all() { return std::move(text_); }

  /// a = a + x weight.
  void multiply_add(std::size_t sum, std::size_t read, float weight);
  /// v = a + bias, by the number of the sum. In halves a number that is infinite becomes NaN here and below, which no
  /// function hides.
  void add_bias(std::size_t sum, float bias);
  /// v = function(v). `spare`: another v; `other`: the address of an addition's operand.
  void apply(const Function& function, std::size_t sum, std::size_t spare, const std::string& other);

 private:
  std::string number(float value);
  void keep_overflow(std::size_t sum);
  void leak(std::size_t sum, std::size_t below, float slope);

  bool in_halves_;
  const Mnemonics& type_;
  int next_number_ = 0;  ///< of two registers, so that an instruction may have two
  std::string text_;
};

}  // namespace spdnn::cuda
