#include "io/networks/text/notes.hpp"

#include <algorithm>

namespace spdnn {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

std::string note_on_missing_newline(const std::string& file) {
  return file + ": the last line has no newline: the file may be cut off";
}

void add_notes(const TextSource& source, const std::string& when_empty, FileNotes* notes) {
  if (notes == nullptr) return;
  if (source.empty()) notes->push_back(source.name() + ": the file is empty: " + when_empty);
  if (source.ends_within_line()) notes->push_back(note_on_missing_newline(source.name()));
}

void add_note_on_missing_newline(const std::string& file, std::string_view text, FileNotes* notes) {
  if (notes != nullptr && !text.empty() && !text.ends_with('\n')) notes->push_back(note_on_missing_newline(file));
}

}  // namespace spdnn
