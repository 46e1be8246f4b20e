#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spdnn/files.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The class of each image, from 0: of an IDX file of labels (plain or .gz), an array of integers (.npy, or in an .npz
/// file), a .txt file of one number per line, or a .csv file with a column `class`. DataError, naming the line of a
/// text, where there are not as many as `images`, or one is not below `classes`. Notes on the file are added to
/// `notes`.
std::vector<Index> read_labels(const std::filesystem::path& path, Index images, Index classes,
                               FileNotes* notes = nullptr);
/// The same of labels in memory, which messages call `name`.
std::vector<Index> check_labels(const std::string& name, const std::vector<std::int64_t>& labels, Index images,
                                Index classes);

}  // namespace spdnn
