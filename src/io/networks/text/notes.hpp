#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/networks/text/source.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

/// The lines of a text without their ends (\n or \r\n); the last one need not have an end. They point into `text`.
std::vector<std::string_view> lines_of(std::string_view text);

/// Adds warnings about a text that was read to its end: that it is empty, with the consequence in `when_empty`, and
/// that it may be truncated. Does nothing if `notes` is null.
void add_notes(const TextSource& source, const std::string& when_empty, FileNotes* notes);

/// The warning that the last line of a file has no newline.
std::string note_on_missing_newline(const std::string& file);

/// Adds that warning if the text of a whole file ends within a line. Does nothing if `notes` is null.
void add_note_on_missing_newline(const std::string& file, std::string_view text, FileNotes* notes);

}  // namespace spdnn
