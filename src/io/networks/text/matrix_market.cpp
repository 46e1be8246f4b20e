#include "io/networks/text/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/text/lower_case.hpp"
#include "io/files/claimed_size.hpp"
#include "io/networks/text/sink.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

struct MarketHeader {
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;
  bool pattern = false;
  bool symmetric = false;
  std::size_t lines = 0;  ///< number of lines up to and including the line of sizes
};

/// Parses the first line, such as `%%MatrixMarket matrix coordinate real general`; every word must be known.
void parse_banner(std::string_view line, MarketHeader& header) {
  constexpr std::string_view kExpected = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric";
  static const std::array<std::vector<std::string_view>, 5> words{
      {{"%%matrixmarket"}, {"matrix"}, {"coordinate"}, {"real", "integer", "pattern"}, {"general", "symmetric"}}};
  LineFields fields(line, kExpected);
  for (const auto& allowed : words) {
    const std::string_view field = fields.next();
    const std::string word = lower_case(field);
    if (std::find(allowed.begin(), allowed.end(), word) == allowed.end())
      throw LineProblem{fields.column(field),
                        fmt::format("{} is not supported, expected {}", quoted(field), kExpected)};
    header.pattern |= word == "pattern";
    header.symmetric |= word == "symmetric";
  }
  fields.finish();
}

/// Parses the line of sizes. Images may have no rows.
void parse_sizes(std::string_view line, bool of_images, MarketHeader& header) {
  LineFields fields(line, "rows, columns, entries");
  header.rows = of_images ? static_cast<Index>(fields.next_count("number of rows", kMaxIndex))
                          : fields.next_id("number of rows", kMaxIndex) + 1;
  header.cols = fields.next_id("number of columns", kMaxIndex) + 1;
  header.entries = fields.next_count("number of entries", Offset{header.rows} * header.cols);
  fields.finish();
  if (header.symmetric && header.rows != header.cols)
    throw LineProblem{
        1, fmt::format("a symmetric matrix of {} x {}, expected as many rows as columns", header.rows, header.cols)};
}

/// Reads the header and leaves the source at the first entry.
MarketHeader read_header(TextSource& source, bool of_images) {
  const std::size_t round_bytes = source.piece_bytes();
  MarketHeader header;
  for (std::string_view text = source.next(round_bytes); !text.empty(); text = source.next(round_bytes)) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      ++header.lines;
      try {
        if (header.lines == 1) {
          parse_banner(line, header);
        } else if (!line.starts_with('%') && !LineFields(line, {}).at_end()) {
          parse_sizes(line, of_images, header);
          source.put_back(text.size());
          return header;
        }
      } catch (const LineProblem& problem) {
        throw located(source.name(), header.lines, problem);
      }
    }
  }
  throw DataError(fmt::format("{}:{}:1: the file ends in its header, expected a line of rows, columns, entries",
                              source.name(), header.lines + 1));
}

void check_size(const TextSource& source, const MarketHeader& header, std::string_view what, Index found,
                std::optional<Index> expected) {
  if (!expected)
    check_claimed_size(fmt::format("{}:{}:1", source.name(), header.lines), found, std::string(what),
                       source.expected_bytes());
  if (expected && *expected != found)
    throw DataError(fmt::format("{}:{}:1: the matrix is {} x {}, expected {} {}", source.name(), header.lines,
                                header.rows, header.cols, *expected, what));
}

EntryList entry_list(const MarketHeader& header, const char* first, const char* second, const char* value) {
  return {.columns = {first, header.rows, second, header.cols, header.pattern ? "" : value, {}, header.symmetric},
          .lines_before = header.lines,
          .entries = header.entries};
}

bool entries_are_ones(const CsrMatrix& matrix) { return matrix.uniform() && matrix.value == 1.0F; }

std::string header_text(bool pattern, Index rows, Index cols, Offset entries) {
  return fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n", pattern ? "pattern" : "real", rows,
                     cols, entries);
}

}  // namespace

CsrMatrix read_matrix_market_layer(TextSource& source, std::optional<Index> inputs, std::optional<Index> outputs) {
  const MarketHeader header = read_header(source, false);
  check_size(source, header, "rows, one per input", header.rows, inputs);
  check_size(source, header, "columns, one per output", header.cols, outputs);
  return read_layer_entries(source, entry_list(header, "input", "output", "weight"));
}

EntryList list_of_images(TextSource& source, std::optional<Index> neurons, std::optional<Index> images) {
  const MarketHeader header = read_header(source, true);
  check_size(source, header, "rows, one per image", header.rows, images);
  check_size(source, header, "columns, one per neuron", header.cols, neurons);
  return entry_list(header, "image", "neuron", "value");
}

ImageSet read_matrix_market_images(TextSource& source, std::optional<Index> neurons, std::optional<Index> images) {
  const EntryList list = list_of_images(source, neurons, images);
  return read_image_entries(source, list, list.columns.first_limit);
}

void write_matrix_market_layer(const std::filesystem::path& path, const CsrMatrix& weights) {
  const bool pattern = entries_are_ones(weights);
  const std::string header = header_text(pattern, weights.cols, weights.rows, weights.entries());
  const LineFormat format{.separator = ' ', .with_value = !pattern, .value_of = weight_text};
  const std::vector<Index> cuts = cut_rows(weights);
  write_in_pieces(path, cuts.size() - 1, [&](std::size_t piece, std::string& text) {
    format_rows(weights, cuts[piece], cuts[piece + 1], format, piece == 0 ? header : "", text);
  });
}

void write_matrix_market_images(const std::filesystem::path& path, const ImageSet& images) {
  constexpr Index kImages = 256;  // of a piece
  const bool pattern = images.is_bits() || entries_are_ones(images.sparse());
  const std::string header = header_text(pattern, images.images(), images.neurons(), images.nonzeros());
  write_in_pieces(path, std::max<Index>(1, (images.images() + kImages - 1) / kImages),
                  [&](std::size_t piece, std::string& text) {
                    const auto first = static_cast<Index>(piece * kImages);
                    const CsrMatrix part = images.slice(first, std::min(kImages, images.images() - first)).to_csr();
                    text = piece == 0 ? header : "";
                    for (Index row = 0; row < part.rows; ++row) {
                      for (Offset k = part.offsets[row]; k < part.offsets[std::size_t{row} + 1]; ++k) {
                        text += fmt::format("{} {}", first + row + 1, part.indices[k] + 1);
                        text += pattern ? "\n" : ' ' + value_text(part.entry_value(k)) + '\n';
                      }
                    }
                  });
}

}  // namespace spdnn
