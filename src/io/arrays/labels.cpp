#include "io/arrays/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/text/csv.hpp"
#include "io/arrays/idx.hpp"
#include "io/arrays/npz.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/text/notes.hpp"
#include "spdnn/error.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

namespace {

using Integers = std::vector<std::int64_t>;

Integers from_text(const std::filesystem::path& path, FileNotes* notes) {
  const std::string text = text_of_file(path);
  add_note_on_missing_newline(path.string(), text, notes);
  Integers labels;
  for (const std::string_view line : lines_of(text)) {
    std::int64_t label = 0;
    const auto [stop, problem] = std::from_chars(line.data(), line.data() + line.size(), label);
    if (problem != std::errc{} || stop != line.data() + line.size())
      throw DataError(fmt::format("{}:{}:{}: expected one whole number per line", path.string(), labels.size() + 1,
                                  stop - line.data() + 1));
    labels.push_back(label);
  }
  return labels;
}

/// The index of the column `class`.
std::size_t class_column(const std::string& name, const CsvRecord& headings) {
  const auto found =
      std::find_if(headings.begin(), headings.end(), [](const auto& field) { return field.text == "class"; });
  if (found == headings.end()) throw DataError(name + ":1: no column is headed `class`");
  return static_cast<std::size_t>(found - headings.begin());
}

Integers from_csv(const std::filesystem::path& path, FileNotes* notes) {
  const std::string text = text_of_file(path);
  add_note_on_missing_newline(path.string(), text, notes);
  const std::vector<CsvRecord> records = read_csv(path.string(), text);
  if (records.empty()) throw DataError(path.string() + ": empty, expected a header with a column `class`");
  const std::size_t column = class_column(path.string(), records.front());
  Integers labels;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const CsvRecord& record = records[i];
    if (record.size() != records.front().size())
      throw DataError(fmt::format("{}:{}: {} fields, expected {}", path.string(), record.front().line, record.size(),
                                  records.front().size()));
    const CsvField& field = record[column];
    std::int64_t label = 0;
    const char* const end = field.text.data() + field.text.size();
    const auto [stop, problem] = std::from_chars(field.text.data(), end, label);
    if (problem != std::errc{} || stop != end)
      throw DataError(fmt::format("{}:{}:{}: expected a whole number", path.string(), field.line, field.column));
    labels.push_back(label);
  }
  return labels;
}

Integers labels_of_array(const std::filesystem::path& path) {
  const IntegerTensor array = read_integer_array(path);
  // A single column of labels counts as a list.
  const bool list = array.shape.size() == 1 || (array.shape.size() == 2 && array.shape[1] == 1);
  if (!list)
    throw DataError(
        fmt::format("{}: an array of {}, expected one label per image", path.string(), shape_text(array.shape)));
  return {array.values.begin(), array.values.end()};
}

Integers labels_of_idx(const std::filesystem::path& path) {
  const Array<std::uint8_t> labels = IdxFile(path, IdxFile::Kind::labels).read();
  return {labels.begin(), labels.end()};
}

/// `lines`: the labels come from a text with one per line.
std::vector<Index> checked(const std::string& name, const Integers& given, Index images, Index classes, bool lines) {
  if (given.size() != images)
    throw DataError(fmt::format("{}: {} labels, expected {}, one for each image", name, given.size(), images));
  std::vector<Index> labels;
  labels.reserve(given.size());
  for (const std::int64_t label : given) {
    if (label < 0 || label >= classes) {
      const std::size_t number = labels.size() + 1;
      const std::string place =
          lines ? fmt::format("{}:{}: ", name, number) : fmt::format("{}: number {} is ", name, number);
      throw DataError(fmt::format("{}label {}, expected 0 to {}", place, label, Extent{classes} - 1));
    }
    labels.push_back(static_cast<Index>(label));
  }
  return labels;
}

}  // namespace

std::vector<Index> read_labels(const std::filesystem::path& path, Index images, Index classes, FileNotes* notes) {
  const bool text = path.extension() == ".txt";
  const Integers read = text                         ? from_text(path, notes)
                        : path.extension() == ".csv" ? from_csv(path, notes)
                        : names_array(path)          ? labels_of_array(path)
                                                     : labels_of_idx(path);
  return checked(path.string(), read, images, classes, text);
}

std::vector<Index> check_labels(const std::string& name, const std::vector<std::int64_t>& labels, Index images,
                                Index classes) {
  return checked(name, labels, images, classes, false);
}

}  // namespace spdnn
