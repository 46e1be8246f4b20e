// NumPy's archives. The input's first byte says whether a whole archive follows, or the content of an array
// that is put into one, stored or deflated; then its second says which byte of the archive is changed.

#include <optional>

#include "fuzz/harness.hpp"
#include "io/arrays/npz.hpp"
#include "support/zip_archive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spdnn;
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const unsigned form = bytes.take() % 3;
  const std::size_t change = bytes.below(65536);
  std::string content(bytes.text());
  if (form > 0) content = zip_archive({{"a.npy", content}, {"b.npy", content}}, form == 2);
  if (form > 0 && change > 0)
    content[content.size() - 1 - change / 8 % content.size()] ^= static_cast<char>(1 << change % 8);

  const InputFile file("fuzz.npz", std::as_bytes(std::span(content.data(), content.size())));
  std::optional<NpzFile> npz;
  fuzz::attempt([&] { npz.emplace(file); });
  if (!npz) return 0;
  for (const std::string& name : npz->names()) {
    fuzz::attempt([&] {
      const Tensor tensor = read_npy_rows(npz->member(name).file()).tensor;
      fuzz::require(elements(tensor.shape) == tensor.values.size(), "a tensor has the elements of its shape");
    });
    fuzz::attempt([&] { read_npy_integers(npz->member(name).file()); });
  }
  return 0;
}
