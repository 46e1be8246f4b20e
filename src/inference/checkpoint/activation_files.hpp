#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/images.hpp"

namespace spdnn {

// The files of activations beside a checkpoint, `path`.

/// A digest as it stands in names and in checkpoints.
std::string hex(std::uint64_t digest);
bool is_digest(std::string_view text);

std::string digest_of_activations(const ImageSet& activations);
std::filesystem::path activations_path(const std::string& path, const std::string& digest);
/// Where activations are written until they get their digest's name. It is the same each time, so that the next writer
/// finds what a killed one has left.
std::filesystem::path unnamed_activations(const std::string& path);

/// Returns the bytes of the file.
std::uint64_t write_activations(const std::string& path, const std::string& digest, const ImageSet& activations);
/// Removes all files of activations beside a checkpoint but those of `kept`, those that killed runs have left included.
void remove_activations(const std::string& path, const std::vector<std::string>& kept);

/// Whether it is there or not.
void remove_file(const std::filesystem::path& path);

}  // namespace spdnn
