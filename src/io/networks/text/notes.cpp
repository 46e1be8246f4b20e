#include "io/networks/text/notes.hpp"

namespace spdnn {

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
