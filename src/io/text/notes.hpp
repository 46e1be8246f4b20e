#pragma once

#include <string>
#include <string_view>

#include "io/text/source.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

/// Adds what the user should know of a text that was read to its end: that it is empty, where `when_empty` says what
/// that means, and that it may be cut off. Null: nobody asks.
void add_notes(const TextSource& source, const std::string& when_empty, FileNotes* notes);

/// That the last line of a file has no newline.
std::string note_on_missing_newline(const std::string& file);

/// Adds a note where the text of a file, read whole, ends within a line: it may be cut off. Null: nobody asks.
void add_note_on_missing_newline(const std::string& file, std::string_view text, FileNotes* notes);

}  // namespace spdnn
