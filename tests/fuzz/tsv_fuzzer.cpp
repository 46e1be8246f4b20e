// TSV files. The first character chooses the reader: l layer, b bias, i images, c categories, z gzip; the rest is the
// file. A DataError is an answer; what is read must be sound; all else is a finding.

#include <algorithm>

#include "io/tsv_reader.hpp"
#include "spdnn/error.hpp"

namespace {

using namespace spdnn;

constexpr Index kNeurons = 70;  // more than a word of bits
constexpr Index kImages = 40;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void read(char reader, std::string_view text) {
  TextSource source("fuzz.tsv", text);
  if (reader == 'b') {
    const Bias bias = read_tsv_bias(source, kNeurons);
    require(bias.values.empty() || bias.values.size() == kNeurons);
  } else if (reader == 'i') {
    const ImageSet images = read_tsv_images(source, kNeurons, kImages);
    images.to_csr().validate();
    require(images.images() == kImages && images.neurons() == kNeurons);
  } else if (reader == 'c') {
    const Categories categories = read_tsv_categories(source);
    require(std::adjacent_find(categories.begin(), categories.end(), std::greater_equal<>()) == categories.end());
  } else if (reader == 'z') {
    TextSource zipped("fuzz.tsv.gz", text);
    for (std::size_t rounds = 0; rounds < 1000 && !zipped.next(1000).empty(); ++rounds) {
    }
  } else {
    const CsrMatrix weights = read_tsv_layer(source, kNeurons, kImages);
    weights.validate();
    require(weights.rows == kImages && weights.cols == kNeurons);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    read(text.front(), text.substr(1));
  } catch (const DataError&) {
  }
  return 0;
}
