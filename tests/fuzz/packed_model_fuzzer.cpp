// Packed files of models, changed section by section as in packed_fuzzer: what is read must be a sound model, and a bit
// changed afterwards must not go unnoticed.

#include <random>

#include "fuzz/harness.hpp"
#include "fuzz/model_reader.hpp"
#include "fuzz/packed_editor.hpp"
#include "io/models/packed/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace spdnn;
  const std::shared_ptr<std::byte> data = fuzz::packed_input(bytes, size);
  const auto read = [&] { return read_packed_model(PackedFile("fuzz.spdnn", data, size)); };
  if (!fuzz::check_model_reader(size, "fuzz.spdnn", read)) return 0;
  std::mt19937 random(static_cast<unsigned>(size) + 31U * bytes[size / 2] + 8191U * bytes[size - 1]);
  data.get()[random() % size] ^= std::byte{1} << random() % 8;
  fuzz::require(!fuzz::attempt(read).empty(), "no changed bit goes unnoticed");
  return 0;
}
