// NumPy's arrays. The input's first byte says whether a whole file follows, or the header's dictionary and,
// after its first line break, the numbers; then magic, version and length are right, so that the checks after theirs
// are reached.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "fuzz/harness.hpp"
#include "io/arrays/npy.hpp"
#include "io/arrays/npy_header.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

std::string file_of(unsigned form, std::string_view text) {
  if (form % 4 == 0) return std::string(text);
  const std::size_t end = std::min({text.find('\n') + 1, text.size(), std::size_t{65535}});
  std::string file = std::string("\x93NUMPY", 6) + static_cast<char>(form % 4) + '\0';
  file += static_cast<char>(end & 0xffU);
  file += static_cast<char>(end >> 8U);
  if (form % 4 > 1) file += std::string(2, '\0');
  return file.append(text);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const unsigned form = bytes.take();
  const std::string content = file_of(form, bytes.text());
  const InputFile file("fuzz.npy", bytes_of(std::string_view(content)));

  std::optional<Tensor> tensor;
  fuzz::attempt([&] { tensor = read_npy_rows(file).tensor; });
  std::optional<IntegerTensor> integers;
  fuzz::attempt([&] { integers = read_npy_integers(file); });
  require(!integers || tensor, "integers are read as floats, too");
  if (!tensor) return 0;
  require(elements(tensor->shape) == tensor->values.size(), "a tensor has the elements of its shape");
  require(!integers || integers->shape == tensor->shape, "both forms have one shape");
  for (std::size_t i = 0; integers && i < integers->values.size(); ++i)
    require(static_cast<float>(integers->values[i]) == tensor->values[i], "both forms have the same numbers");

  const std::string_view numbers(reinterpret_cast<const char*>(tensor->values.data()), tensor->values.bytes());
  const std::string again = npy_header("<f4", tensor->shape).append(numbers);
  const Tensor read = read_npy_rows(InputFile("again.npy", bytes_of(std::string_view(again)))).tensor;
  require(read.shape == tensor->shape, "a written shape is read back");
  require(read.values.bytes() == tensor->values.bytes() &&
              std::equal(numbers.begin(), numbers.end(), reinterpret_cast<const char*>(read.values.data())),
          "written numbers are read back");
  return 0;
}
