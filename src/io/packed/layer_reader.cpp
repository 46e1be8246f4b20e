#include "io/packed/layer_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/types/all_finite.hpp"
#include "io/networks/text/row_order.hpp"

namespace spdnn {

using packed::ChainRecord;
using packed::kNone;
using packed::LayerRecord;
using packed::MatrixRecord;

namespace {

struct Widened {
  std::uint16_t largest = 0;
  std::size_t falls = 0;  ///< number of columns not greater than the previous one
};

/// Copies the columns and collects statistics. Unlike a search, counting and taking the maximum vectorise.
Widened widen_columns(std::span<const std::uint16_t> from, Index* to) {
  constexpr std::size_t kPart = std::size_t{1} << 15;  // small enough for 16-bit counters
  Widened result;
  if (!from.empty()) result.largest = static_cast<std::uint16_t>(to[0] = from[0]);
  for (std::size_t begin = 1; begin < from.size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, from.size());
    std::uint16_t falls = 0;
    std::uint16_t largest = 0;
    for (std::size_t k = begin; k < end; ++k) {
      largest = std::max(largest, from[k]);
      falls = static_cast<std::uint16_t>(falls + (from[k] <= from[k - 1] ? 1 : 0));
      to[k] = from[k];
    }
    result.largest = std::max(result.largest, largest);
    result.falls += falls;
  }
  return result;
}

bool columns_fit(std::span<const Index> columns, Index cols) {
  Index largest = 0;
  for (const Index column : columns) largest = std::max(largest, column);
  return largest < cols;
}

/// Looks up palette indices. The palette is padded to 256 or 65536 entries, so that every index is valid.
template <class Code>
bool decode(std::span<const Code> codes, float* to, const std::vector<float>& palette, std::size_t known) {
  Code largest = 0;
  for (std::size_t k = 0; k < codes.size(); ++k) {
    largest = std::max(largest, codes[k]);
    to[k] = palette[codes[k]];
  }
  return largest < known;
}

}  // namespace

LayerReader::Chain LayerReader::records(std::uint32_t section) {
  const std::size_t size = file_.entry(section).bytes;
  const std::vector<std::byte> bytes = loader_.now<std::byte>(section, size);
  Chain chain;
  if (size < sizeof(ChainRecord)) refuse("its description", "cut short");
  std::memcpy(&chain.record, bytes.data(), sizeof(ChainRecord));
  const std::size_t layer_bytes = std::size_t{chain.record.layers} * sizeof(LayerRecord);
  if (size != sizeof(ChainRecord) + layer_bytes) refuse("its description", "not as long as its layers need");
  chain.layer_records.resize(chain.record.layers);
  if (layer_bytes > 0) std::memcpy(chain.layer_records.data(), bytes.data() + sizeof(ChainRecord), layer_bytes);

  if (chain.record.bias_everywhere > 1) refuse("its description", "an unknown bias rule");
  chain.bias_rule = chain.record.bias_everywhere == 1 ? BiasRule::everywhere : BiasRule::non_zeros;
  if (!(std::isfinite(chain.record.cap) && chain.record.cap >= 0)) refuse("its description", "cap is not positive");
  if (chain.record.cap > 0) chain.cap = chain.record.cap;
  return chain;
}

void LayerReader::layers(Chain& chain, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) chain.layers.push_back(layer(chain, k));
}

void LayerReader::check_record(const Chain& chain, std::size_t k) const {
  const LayerRecord& record = chain.layer_records[k];
  const std::string where = fmt::format("layer {}", k + 1);
  check_record(record.weights, where);
  if (k > 0 && record.weights.cols != chain.layer_records[k - 1].weights.rows)
    refuse(where, fmt::format("{} inputs, expected {}", record.weights.cols, chain.layer_records[k - 1].weights.rows));
  if (!std::isfinite(record.bias)) refuse(where, "bias is not finite");
}

Layer LayerReader::layer(const Chain& chain, std::size_t k) {
  check_record(chain, k);
  const LayerRecord& record = chain.layer_records[k];
  const std::string where = fmt::format("layer {}", k + 1);
  Layer result{matrix(record.weights, where), {}};
  result.bias.uniform = record.bias;
  if (record.biases != kNone)
    result.bias.values = loader_.plain<double>(
        record.biases, result.outputs(),
        {where + ": a bias is not finite", [](auto, std::span<const double> biases) { return all_finite(biases); }});
  return result;
}

void LayerReader::begin_again() {
  loader_.begin_again();
  suspects_.clear();
}

void LayerReader::check_record(const MatrixRecord& record, const std::string& where) const {
  if (record.rows > kMaxIndex || record.cols > kMaxIndex) refuse(where, "more than 2^31-1 rows or columns");
  if (!std::isfinite(record.value)) refuse(where, "its value is not finite");
  const bool coded = record.value_bytes == 1 || record.value_bytes == 2;
  if ((record.values != kNone && record.value_bytes == 0) || (record.palette != kNone && !coded))
    refuse(where, "it refers to a section that its values do not need");
  if (record.offsets != kNone) return;
  // Empty rows without offsets are refused: a tiny file could otherwise ask for huge memory.
  if (record.degree == 0 && record.rows > 0) refuse(where, "empty rows without offsets");
  if (std::uint64_t{record.rows} * record.degree != record.entries)
    refuse(where,
           fmt::format("{} entries, expected {} in each of {} rows", record.entries, record.degree, record.rows));
  if (record.entries > file_.size()) refuse(where, "more entries than the file has room for");
}

CsrMatrix LayerReader::matrix(const MatrixRecord& record, const std::string& where) {
  check_record(record, where);
  CsrMatrix matrix{.rows = record.rows, .cols = record.cols, .offsets = offsets(record, where)};
  const auto unordered = repeats_ == Repeats::refused ? std::make_shared<std::atomic<bool>>(false) : nullptr;
  matrix.indices = indices(record, where, matrix.offsets, unordered);
  if (unordered) suspects_.push_back({matrix, where, unordered});
  matrix.value = record.value;
  matrix.values = values(record, where);
  return matrix;
}

Array<Offset> LayerReader::row_offsets(const MatrixRecord& record, const std::string& where) {
  check_record(record, where);
  return offsets(record, where);
}

Array<Offset> LayerReader::offsets(const MatrixRecord& record, const std::string& where) {
  if (record.offsets != kNone) {
    const std::size_t count = std::size_t{record.rows} + 1;
    const auto ascend = [count, entries = record.entries](std::size_t first, std::span<const Offset> part) {
      const bool last = first + part.size() == count;
      return (first > 0 || part.front() == 0) && (!last || part.back() == entries) &&
             std::is_sorted(part.begin(), part.end());
    };
    const auto step = [](const Offset* all, std::size_t at) { return all[at - 1] <= all[at]; };
    return loader_.plain<Offset>(
        record.offsets, count,
        {where + ": offsets descend or lead outside the matrix", ascend, step, SectionLoader::Stage::first});
  }
  const std::pair shape{Index{record.rows}, Index{record.degree}};
  if (regular_offsets_.empty() || shape != regular_shape_) {
    const std::size_t count = std::size_t{record.rows} + 1;
    const std::shared_ptr<Offset[]> made = allocate<Offset>(count);
    for (std::size_t i = 0; i < count; ++i) made[static_cast<std::ptrdiff_t>(i)] = i * record.degree;
    regular_offsets_ = {made, count};
    regular_shape_ = shape;
  }
  return regular_offsets_;
}

Array<Index> LayerReader::indices(const MatrixRecord& record, const std::string& where, const Array<Offset>& offsets,
                                  const std::shared_ptr<std::atomic<bool>>& unordered) {
  if (record.entries == 0 && record.indices == kNone) return {};
  const Index cols = record.cols;
  SectionLoader::Checks<Index> checks{.complaint = fmt::format("{}: a column is outside 1..{}", where, cols)};
  checks.step = [offsets, unordered](const Index* columns, std::size_t at) {
    if (unordered && !step_ascends(columns, at, offsets)) *unordered = true;
    return true;
  };
  if (cols > packed::kNarrowColumns) {
    checks.block = [cols, offsets, unordered](std::size_t first, std::span<const Index> columns) {
      if (unordered && falls(columns) != falls_at_beginnings(first, columns, offsets)) *unordered = true;
      return columns_fit(columns, cols);
    };
    return loader_.plain<Index>(record.indices, record.entries, std::move(checks));
  }
  return loader_.converted<std::uint16_t, Index>(
      record.indices, record.entries, std::move(checks),
      [cols, offsets, unordered](std::size_t first, std::span<const std::uint16_t> from, Index* to) {
        const Widened widened = widen_columns(from, to);
        if (unordered && widened.falls != falls_at_beginnings(first, from, offsets)) *unordered = true;
        return widened.largest < cols;
      });
}

Array<float> LayerReader::values(const MatrixRecord& record, const std::string& where) {
  switch (record.value_bytes) {
    case 0:
      return {};
    case 1:
      return coded_values<std::uint8_t>(record, where);
    case 2:
      return coded_values<std::uint16_t>(record, where);
    case 4:
      return loader_.plain<float>(
          record.values, record.entries,
          {where + ": a value is not finite", [](auto, std::span<const float> values) { return all_finite(values); }});
    default:
      refuse(where, fmt::format("values of {} bytes, expected 0, 1, 2 or 4", record.value_bytes));
  }
}

std::vector<float> LayerReader::palette(const MatrixRecord& record, const std::string& where) {
  if (record.value_bytes != 1 && record.value_bytes != 2) return {};
  const std::size_t most = std::size_t{1} << 8 * record.value_bytes;
  const std::size_t known = file_.entry(record.palette).bytes / sizeof(float);
  if (known > most) refuse(where, fmt::format("a palette of {} values, expected at most {}", known, most));
  std::vector<float> palette = loader_.now<float>(record.palette, known);
  if (!all_finite(palette)) refuse(where, "a value is not finite");
  return palette;
}

template <class Code>
Array<float> LayerReader::coded_values(const MatrixRecord& record, const std::string& where) {
  std::vector<float> palette = this->palette(record, where);
  const std::size_t known = palette.size();
  palette.resize(std::size_t{std::numeric_limits<Code>::max()} + 1);
  return loader_.converted<Code, float>(
      record.values, record.entries, {.complaint = where + ": a value outside the palette"},
      [palette = std::move(palette), known](auto, std::span<const Code> codes, float* to) {
        return decode(codes, to, palette, known);
      });
}

void LayerReader::run(const ProgressCallback& callback) {
  loader_.run(callback);
  for (const Suspect& suspect : suspects_) {
    if (!*suspect.unordered) continue;
    if (const auto twice = repeated_entry(suspect.matrix))
      refuse(suspect.where,
             fmt::format("row {} holds column {} twice, expected once", twice->first + 1, twice->second + 1));
  }
  suspects_.clear();
}

}  // namespace spdnn
