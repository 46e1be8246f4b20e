#include "io/networks/text/sink.hpp"

#include <fmt/format.h>

#include "core/threads/parallel.hpp"
#include "io/networks/text/gz.hpp"
#include "io/networks/text/tsv_entries.hpp"

namespace spdnn {

void write_in_pieces(AtomicFile& file, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format) {
  const bool compress = file.path().string().ends_with(".gz");
  std::vector<std::string> round(std::min(pieces, reading_threads() == 1 ? 1 : 2 * reading_threads()));
  for (std::size_t begin = 0; begin < pieces; begin += round.size()) {
    const std::size_t count = std::min(round.size(), pieces - begin);
    parallel_for(count, [&](std::size_t i) {
      format(begin + i, round[i]);
      if (compress && !round[i].empty()) round[i] = gzip(round[i]);
    });
    for (std::size_t i = 0; i < count; ++i) file.write(round[i]);
  }
  if (file.size() == 0) file.write(compress ? gzip("\n") : "\n");
}

void write_in_pieces(const std::filesystem::path& path, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format) {
  AtomicFile file(path);
  write_in_pieces(file, pieces, format);
  file.commit();
}

std::vector<Index> cut_rows(const CsrMatrix& matrix) {
  constexpr Offset kEntries = Offset{1} << 16;  // per piece: about 1 MB of text
  std::vector<Index> cuts{0};
  for (Index row = 0; row < matrix.rows; ++row)
    if (matrix.offsets[std::size_t{row} + 1] - matrix.offsets[cuts.back()] >= kEntries) cuts.push_back(row + 1);
  if (cuts.back() < matrix.rows) cuts.push_back(matrix.rows);
  return cuts;
}

std::string weight_text(float value) {
  std::string text = fmt::format("{:.6e}", value);
  float back = 0.0F;
  std::from_chars(text.data(), text.data() + text.size(), back);
  return back == value ? text : value_text(value);
}

namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

std::string value_text(float value) { return shortest(value); }
std::string value_text(double value) { return shortest(value); }

}  // namespace spdnn
