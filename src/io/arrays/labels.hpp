#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spdnn/files.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Reads the class of each image, from 0: from an IDX file of labels (plain or .gz), an array of integers (.npy, or in
/// an .npz file), a .txt file of one number per line, or a .csv file with a column `class`. A DataError that names the
/// line of a text reports a number of labels other than `images`, or a label not below `classes`. Notes on the file are
/// added to `notes`.
std::vector<Index> read_labels(const std::filesystem::path& path, Index images, Index classes,
                               FileNotes* notes = nullptr);
/// The same for labels in memory, called `name` in messages.
std::vector<Index> check_labels(const std::string& name, const std::vector<std::int64_t>& labels, Index images,
                                Index classes);

}  // namespace spdnn
