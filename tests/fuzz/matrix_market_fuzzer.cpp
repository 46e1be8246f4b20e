// Matrix Market files whose header has the sizes. The input has two characters and then the file: the first chooses the
// reader (i: images, otherwise a layer), the second the size of a piece. The meaning of a text must not depend on its
// division into pieces.

#include "fuzz/harness.hpp"
#include "io/networks/text/matrix_market.hpp"

namespace {

using namespace spdnn;

std::uint64_t read(bool images, TextSource& source) {
  if (images) {
    const ImageSet set = read_matrix_market_images(source, {}, {});
    fuzz::require_sound(set);
    return fuzz::digest_of(set);
  }
  const CsrMatrix weights = read_matrix_market_layer(source, {}, {});
  fuzz::require_sound(weights);
  return fuzz::digest_of(weights);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const bool images = bytes.take() == 'i';
  const std::size_t piece = bytes.take() % 32U;
  std::uint64_t digests[2] = {0, 0};
  std::string messages[2];
  for (const int cut : {0, 1}) {
    if (cut == 1 && piece == 0) return 0;
    messages[cut] = fuzz::attempt([&] {
      TextSource source("fuzz.mtx", bytes.text(), cut == 1 ? piece : TextSource::kPieceBytes);
      digests[cut] = read(images, source);
    });
  }
  fuzz::require(digests[0] == digests[1] && messages[0] == messages[1], "a text means the same in pieces");
  return 0;
}
