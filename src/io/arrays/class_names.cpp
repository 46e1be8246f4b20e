#include "io/arrays/class_names.hpp"

#include <fmt/format.h>

#include <string_view>

#include "io/files/input_file.hpp"
#include "io/networks/text/notes.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

std::vector<std::string> read_class_names(const std::filesystem::path& path, Index classes, FileNotes* notes) {
  const std::string text = text_of_file(path);
  add_note_on_missing_newline(path.string(), text, notes);
  std::vector<std::string> names;
  for (const std::string_view line : lines_of(text)) {
    if (line.empty())
      throw DataError(fmt::format("{}:{}: an empty line, expected the name of class {}", path.string(),
                                  names.size() + 1, names.size()));
    names.emplace_back(line);
  }
  if (names.size() != classes)
    throw DataError(fmt::format("{}: {} names, expected {}, one for each class", path.string(), names.size(), classes));
  return names;
}

}  // namespace spdnn
