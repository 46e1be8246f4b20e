#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spdnn/files.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Reads the names of the classes, from class 0 on, from a text file with one per line. DataError if their number is
/// not `classes`, or a line is empty. Notes on the file are added to `notes`.
std::vector<std::string> read_class_names(const std::filesystem::path& path, Index classes, FileNotes* notes = nullptr);

}  // namespace spdnn
