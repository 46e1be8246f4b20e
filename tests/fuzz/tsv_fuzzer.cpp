// TSV files. The input has four characters and then the file. The characters choose the reader (l: layer, b: bias, i:
// images, c: categories), the numbers of neurons and of images (as digits, see kSizes), and the size of a piece (as a
// letter). The meaning of a text must not depend on its division into pieces, nor on compression.

#include <algorithm>
#include <array>
#include <optional>

#include "fuzz/harness.hpp"
#include "io/networks/text/tsv_reader.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

constexpr std::array<Index, 10> kSizes{70, 1, 2, 5, 64, 65, 128, 1000, 65536, kMaxIndex};
constexpr Index kMostGiven = 1000;  ///< a caller's sizes may cost memory

struct Reading {
  char reader;
  Index neurons;
  std::optional<Index> images;  ///< none: as in the text
  std::size_t piece_bytes;
};

std::uint64_t read(const Reading& how, TextSource& source) {
  if (how.reader == 'b') {
    const Index outputs = std::min(how.neurons, kMostGiven);
    const Bias bias = read_tsv_bias(source, outputs);
    require(bias.values.empty() || bias.values.size() == outputs, "a bias for each neuron");
    Plan plan;
    plan.layers = {{{}, bias}};
    return fuzz::digest_of(plan);
  }
  if (how.reader == 'i') {
    const ImageSet images = read_tsv_images(source, how.neurons, how.images);
    fuzz::require_sound(images);
    require(!how.images || images.images() == *how.images, "as many images as were asked for");
    require(images.neurons() == how.neurons, "the neurons asked for");
    return fuzz::digest_of(images);
  }
  if (how.reader == 'c') {
    const Categories categories = read_tsv_categories(source);
    require(std::adjacent_find(categories.begin(), categories.end(), std::greater_equal<>()) == categories.end(),
            "categories ascend");
    std::uint64_t sum = categories.size();
    for (const Index id : categories) sum = sum * 31 + id;
    return sum;
  }
  const Index outputs = how.images.value_or(40);
  const Index inputs = how.neurons;
  const CsrMatrix weights = read_tsv_layer(source, inputs, outputs);
  fuzz::require_sound(weights);
  require(weights.rows == outputs && weights.cols == inputs, "the sizes asked for");
  return fuzz::digest_of(weights);
}

struct Answer {
  std::uint64_t digest = 0;
  std::string message;
  bool operator==(const Answer&) const = default;
};

/// `:LINE:COLUMN` of a message. The rest may depend on the size of the file, which compression changes.
std::string place_of(const std::string& message) { return message.substr(0, message.find(": ")); }

/// A message without the name with which it begins.
Answer answer(const Reading& how, const std::string& name, std::string_view text) {
  Answer result;
  result.message = fuzz::attempt([&] {
    TextSource source(name, text, how.piece_bytes);
    result.digest = read(how, source);
  });
  if (result.message.starts_with(name)) result.message.erase(0, name.size());
  return result;
}

std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  Reading how{.reader = static_cast<char>(bytes.take()),
              .neurons = kSizes[bytes.take() % 16 % 10],
              .images = {},
              .piece_bytes = TextSource::kPieceBytes};
  const unsigned images = bytes.take() % 16U;
  if (images > 0) how.images = std::min(kSizes[images % 10], kMostGiven);
  const std::size_t piece = bytes.take() % 32U;
  const std::string_view text = bytes.text();

  const Answer whole = answer(how, "fuzz.tsv", text);
  if (piece == 0) return 0;
  how.piece_bytes = piece;
  require(answer(how, "fuzz.tsv", text) == whole, "a text means the same in pieces");
  if (piece % 4 != 0 || text.empty()) return 0;
  how.piece_bytes = std::max(piece, longest_line(text) + 2);  // longer lines are refused
  const Answer gz = answer(how, "fuzz.tsv.gz", fuzz::gzip_members(text, 1 + piece / 8));
  require(gz.digest == whole.digest && place_of(gz.message) == place_of(whole.message), "compression changes nothing");
  return 0;
}
