#include "engines/cuda/conv_generated/instructions.hpp"

#include <bit>
#include <cstdint>
#include <limits>

#include "core/types/narrow_floats.hpp"

namespace spdnn::cuda {

struct Mnemonics {
  const char* fma;
  const char* add;
  const char* max;
  const char* min;
};

namespace {

constexpr Mnemonics kOnFloats{"fma.rn.f32", "add.rn.f32", "max.f32", "min.f32"};
/// On two numbers at a time; NaN stays NaN.
constexpr Mnemonics kOnHalves{"fma.rn.f16x2", "add.rn.f16x2", "max.NaN.f16x2", "min.NaN.f16x2"};

}  // namespace

Instructions::Instructions(bool in_halves) : in_halves_(in_halves), type_(in_halves ? kOnHalves : kOnFloats) {}

void Instructions::multiply_add(std::size_t sum, std::size_t read, float weight) {
  const std::string factor = number(weight);
  line("{} a{}, x{}, {}, a{};", type_.fma, sum, read, factor, sum);
}

void Instructions::add_bias(std::size_t sum, float bias) {
  const std::string addend = number(bias);
  line("{} v{}, a{}, {};", type_.add, sum, sum, addend);
  keep_overflow(sum);
}

void Instructions::apply(const Function& function, std::size_t sum, std::size_t spare, const std::string& other) {
  switch (function.kind) {
    case Function::Kind::addition:
      line("ld.global.nc.b32 v{}, {};", spare, other);
      line("{} v{}, v{}, v{};", type_.add, sum, sum, spare);
      return keep_overflow(sum);
    case Function::Kind::clip:
      line("{} v{}, v{}, {};", type_.max, sum, sum, number(function.a));
      if (function.b == std::numeric_limits<float>::infinity()) return;
      line("{} v{}, v{}, {};", type_.min, sum, sum, number(function.b));
      return;
    case Function::Kind::leaky:
      return leak(sum, spare, function.a);
    default: {  // a line
      const std::string slope = number(function.a);
      const std::string shift = number(function.b);
      line("{} v{}, v{}, {}, {};", type_.fma, sum, sum, slope, shift);
      return keep_overflow(sum);
    }
  }
}

/// An operand of that value. Instructions on halves take none but registers.
std::string Instructions::number(float value) {
  if (!in_halves_) return fmt::format("0f{:08X}", std::bit_cast<std::uint32_t>(value));
  next_number_ = 1 - next_number_;
  line("mov.b32 w{}, 0x{:08X};", next_number_, nearest_f16(value) * 0x00010001U);
  return fmt::format("w{}", next_number_);
}

void Instructions::keep_overflow(std::size_t sum) {
  if (!in_halves_) return;
  const std::string zero = number(0);
  line("{} v{}, v{}, {}, v{};", type_.fma, sum, sum, zero, sum);
}

/// v = v where that is not below 0, else the slope times v.
void Instructions::leak(std::size_t sum, std::size_t below, float slope) {
  const std::string factor = number(slope);
  if (!in_halves_) {
    line("setp.lt.f32 p4, v{0}, 0f00000000; @p4 mul.rn.f32 v{0}, v{0}, {1};", sum, factor);
    return;
  }
  const std::string zero = number(0);
  line("{0} v{3}, v{2}, {4}; {1} v{2}, v{2}, {4};", type_.min, type_.max, sum, below, zero);
  line("{} v{}, v{}, {}, v{};", type_.fma, sum, below, factor, sum);
  keep_overflow(sum);
}

}  // namespace spdnn::cuda
