#include "io/packed/value_coding.hpp"

#include <algorithm>
#include <bit>

namespace spdnn {

namespace {

constexpr std::size_t kByteValues = 256;
constexpr std::size_t kPaletteValues = 65536;
constexpr std::size_t kFirstSlots = 64;

}  // namespace

ValueNumbers::ValueNumbers() : slots_(kFirstSlots, 0) {}

/// The slot that holds the value, or the empty slot for it.
std::size_t ValueNumbers::slot_of(std::uint32_t bits) const {
  // Fibonacci hashing: the high bits of the product depend on all bits of the value.
  std::size_t slot = (bits * 0x9E3779B97F4A7C15U) >> (64 - std::countr_zero(slots_.size()));
  while (slots_[slot] != 0 && std::bit_cast<std::uint32_t>(values_[slots_[slot] - 1]) != bits)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

std::uint32_t ValueNumbers::add(float value) {
  const std::size_t slot = slot_of(std::bit_cast<std::uint32_t>(value));
  if (slots_[slot] != 0) return slots_[slot] - 1;
  values_.push_back(value);
  slots_[slot] = static_cast<std::uint32_t>(values_.size());
  if (values_.size() * 4 > slots_.size()) grow();
  return static_cast<std::uint32_t>(values_.size() - 1);
}

std::uint32_t ValueNumbers::find(float value) const { return slots_[slot_of(std::bit_cast<std::uint32_t>(value))] - 1; }

void ValueNumbers::grow() {
  slots_.assign(slots_.size() * 4, 0);
  for (std::size_t i = 0; i < values_.size(); ++i)
    slots_[slot_of(std::bit_cast<std::uint32_t>(values_[i]))] = static_cast<std::uint32_t>(i + 1);
}

ValueCoding choose_coding(const CsrMatrix& matrix) {
  ValueCoding coding;
  coding.value = matrix.value;
  if (matrix.uniform()) return coding;
  for (const float value : matrix.values)
    if (coding.palette.add(value) >= kPaletteValues) break;
  const std::size_t different = coding.palette.values().size();
  if (different == 1) {
    coding.value = matrix.values[0];
    return coding;
  }
  const std::size_t raw_bytes = matrix.values.bytes();
  const std::size_t code_bytes = different <= kByteValues ? 1 : 2;
  const std::size_t palette_bytes = different * sizeof(float) + code_bytes * matrix.entries();
  const bool pays = different <= kPaletteValues && palette_bytes < raw_bytes;
  coding.bytes = pays ? static_cast<std::uint32_t>(code_bytes) : sizeof(float);
  if (!pays) coding.palette = ValueNumbers();
  return coding;
}

}  // namespace spdnn
