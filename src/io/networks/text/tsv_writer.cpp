#include "io/networks/text/tsv_writer.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "io/networks/text/sink.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kMostValue = 16;  // characters of an fp32 value: "-1.17549435e-38"

/// Writes images of bits in the official order. A piece is one column of words: 64 neurons of every image.
void write_bits(const std::filesystem::path& path, const BitMatrix& bits) {
  write_in_pieces(path, bits.rows == 0 ? 0 : bits.words_per_row(), [&](std::size_t piece, std::string& text) {
    std::vector<std::uint64_t> column(bits.rows);
    std::size_t entries = 0;
    for (Index image = 0; image < bits.rows; ++image) {
      column[image] = bits.row(image)[piece];
      entries += static_cast<std::size_t>(std::popcount(column[image]));
    }
    const std::size_t line = TextFiller::most_digits(bits.rows) + TextFiller::most_digits(bits.cols) + 4;
    TextFiller filler(text, entries * line);
    const auto first = static_cast<Index>(64 * piece);
    for (Index neuron = first; neuron < std::min(bits.cols, first + 64); ++neuron) {
      const LineEnd end('\t' + std::to_string(neuron + 1) + "\t1\n");
      for (Index image = 0; image < bits.rows; ++image) {
        if ((column[image] >> (neuron - first) & 1U) == 0) continue;
        filler.add_id(image);
        filler.add(end);
      }
    }
  });
}

/// `to` is an AtomicFile or a path.
void write_matrix(auto&& to, const CsrMatrix& matrix, const LineFormat& format) {
  const std::vector<Index> cuts = cut_rows(matrix);
  write_in_pieces(to, cuts.size() - 1, [&](std::size_t piece, std::string& text) {
    format_rows(matrix, cuts[piece], cuts[piece + 1], format, "", text);
  });
}

}  // namespace

void format_rows(const CsrMatrix& matrix, Index begin, Index end, const LineFormat& format, const std::string& head,
                 std::string& text) {
  const Offset entries = matrix.offsets[end] - matrix.offsets[begin];
  const std::size_t line = TextFiller::most_digits(matrix.cols) + TextFiller::most_digits(matrix.rows) + kMostValue + 3;
  TextFiller filler(text, head.size() + entries * line);
  filler.add(head);
  float latest = matrix.value;
  std::string value = format.with_value ? format.separator + format.value_of(latest) + '\n' : "\n";
  for (Index row = begin; row < end; ++row) {
    const std::string row_text = format.separator + std::to_string(row + 1);
    LineEnd line_end(row_text + value);
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
      if (format.with_value &&
          std::bit_cast<std::uint32_t>(matrix.entry_value(k)) != std::bit_cast<std::uint32_t>(latest)) {
        latest = matrix.entry_value(k);
        value = format.separator + format.value_of(latest) + '\n';
        line_end = LineEnd(row_text + value);
      }
      filler.add_id(matrix.indices[k]);
      filler.add(line_end);
    }
  }
}

void write_tsv_layer(const std::filesystem::path& path, const CsrMatrix& weights) {
  write_matrix(path, weights, {.value_of = weight_text});
}

void write_tsv_bias(const std::filesystem::path& path, const Bias& bias, Index outputs) {
  write_in_pieces(path, 1, [&](std::size_t, std::string& text) {
    text.clear();
    for (Index neuron = 0; neuron < outputs; ++neuron)
      text += std::to_string(neuron + 1) + '\t' + value_text(bias[neuron]) + '\n';
  });
}

void write_tsv_images(const std::filesystem::path& path, const ImageSet& images) {
  if (images.is_bits())
    write_bits(path, images.bits());
  else
    write_matrix(path, transpose(images.sparse()), {.value_of = value_text});
}

void write_tsv_matrix(AtomicFile& file, const CsrMatrix& images) {
  write_matrix(file, transpose(images), {.value_of = value_text});
}

void write_tsv_categories(AtomicFile& file, const Categories& categories) {
  write_in_pieces(file, 1, [&](std::size_t, std::string& text) {
    TextFiller filler(text, categories.size() * (TextFiller::most_digits(kMaxIndex) + 1));
    for (const Index id : categories) {
      filler.add_id(id);
      filler.add('\n');
    }
  });
}

}  // namespace spdnn
