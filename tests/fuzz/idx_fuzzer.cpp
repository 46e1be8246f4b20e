// MNIST's IDX files. The input has four bytes and then pixels. The bytes give the file's storage (0: as it comes, 1:
// plain, 2 and 3: compressed in that many members), the number of images, the fault of the header, and the damage.

#include <algorithm>

#include "data/generate.hpp"
#include "fuzz/harness.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

std::string idx(std::uint32_t images, std::uint32_t oddity, std::string_view pixels) {
  const std::uint32_t far = oddity / 8 * 0x01010101U;
  std::string file =
      big_endian(0x803 + (oddity % 8 == 1 ? far : 0)) + big_endian(images + (oddity % 8 == 2 ? far : 0)) +
      big_endian(kMnistSide + (oddity % 8 == 3 ? far : 0)) + big_endian(kMnistSide + (oddity % 8 == 4 ? far : 0));
  std::string all(std::size_t{images} * kMnistSide * kMnistSide, '\0');
  for (std::size_t i = 0; i < all.size() && !pixels.empty(); ++i) all[i] = pixels[i * i % pixels.size()];
  file += all;
  if (oddity % 8 == 5) file += 'x';
  if (oddity % 8 == 6) file.resize(std::min<std::size_t>(file.size(), oddity * 13));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const std::uint32_t stored = bytes.below(4);
  const std::uint32_t images = bytes.below(4);
  const std::uint32_t oddity = bytes.take();
  const std::size_t damage = bytes.take();
  const std::string plain = stored == 0 ? std::string(bytes.text()) : idx(images, oddity, bytes.text());
  std::string file = stored < 2 ? plain : fuzz::gzip_members(plain, stored - 1);
  const bool damaged = stored >= 2 && damage > 0;
  const bool cut = damaged && damage % 4 == 0;
  const std::size_t place = damaged ? file.size() - 1 - damage * damage % file.size() : 0;
  if (cut) file.resize(place);
  if (damaged && !cut) file[place] = static_cast<char>(file[place] ^ (1 << damage % 8));

  static const TemporaryDirectory directory;
  const auto path = directory / (stored < 2 ? "images" : "images.gz");
  fuzz::write_aged(path, file);
  MnistImages read;
  const std::string problem = fuzz::attempt([&] { read = read_mnist(path); });
  if (!problem.empty()) {
    require(stored == 0 || oddity % 8 != 0 || images == 0 || damaged, "a sound file is read");
    return 0;
  }
  require(!cut, "a file cut off is not taken for whole");
  require(read.pixels.size() == std::size_t{read.count} * kMnistSide * kMnistSide, "images have their pixels");
  if (stored > 0)
    require(std::equal(read.pixels.begin(), read.pixels.end(), plain.begin() + 16,
                       [](std::uint8_t pixel, char c) { return pixel == static_cast<std::uint8_t>(c); }),
            "the pixels are those of the file");
  return 0;
}
