#pragma once

#include <cstdint>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Numbers the distinct values in order of first appearance. Values are distinguished by their bits, so that -0 and 0
/// differ. The hash table uses open addressing and is at most a quarter full; a look-up takes a multiplication and
/// about two loads.
class ValueNumbers {
 public:
  ValueNumbers();
  /// The number of the value; a new value gets the next one.
  std::uint32_t add(float value);
  /// The number of a value added before.
  std::uint32_t find(float value) const;
  const std::vector<float>& values() const { return values_; }

 private:
  std::size_t slot_of(std::uint32_t bits) const;
  void grow();

  std::vector<float> values_;
  std::vector<std::uint32_t> slots_;  ///< number + 1, or 0; the length is a power of two
};

/// The coding of a matrix's values that takes the fewest bytes.
struct ValueCoding {
  std::uint32_t bytes = 0;  ///< per entry: 0 (one value), 1 or 2 (a palette), or 4 (the values themselves)
  float value = 0;          ///< the one value
  ValueNumbers palette;     ///< for 1 or 2 bytes
};
ValueCoding choose_coding(const CsrMatrix& matrix);

}  // namespace spdnn
