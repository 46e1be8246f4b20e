#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/models/model_format.hpp"

namespace spdnn {

/// The formats of model files. docs/add_a_file_format.md says how to add one.
std::span<const ModelFormat> model_formats();

/// The format given by the file name; nullptr if the name is not a model's.
const ModelFormat* find_format(const std::filesystem::path& path, std::span<const ModelFormat> formats);
/// The file name endings of models that can be read, as listed in messages: ".a, .b or .c".
std::string read_endings(std::span<const ModelFormat> formats = model_formats());
/// The same for models that can be written.
std::string written_endings(std::span<const ModelFormat> formats = model_formats());

/// Whether only models have names like this one: false for packed files.
bool names_model(const std::filesystem::path& path);
/// Whether the file is a model, by its name or, for a packed file, by its contents. False if it cannot be read; the
/// actual reader then reports the error.
bool holds_model(const std::filesystem::path& path);
/// A hint `; ...` on how to convert another program's model, chosen by the name of its file or directory; empty if
/// unknown.
std::string conversion_hint(const std::filesystem::path& path);

/// read_model() of spdnn/files.hpp, with other formats than model_formats().
Model read_model(const std::filesystem::path& path, const std::optional<Shape>& shape,
                 std::span<const ModelFormat> formats);
/// Whether a model can be written to a file of this name.
bool is_written_form(const std::filesystem::path& path);
/// write_model() of spdnn/files.hpp, with other formats than model_formats().
void write_model(const std::filesystem::path& path, const Model& model, std::span<const ModelFormat> formats);
/// The other files of the same model: its graph, if the format keeps it in a file of its own.
std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path);

}  // namespace spdnn
