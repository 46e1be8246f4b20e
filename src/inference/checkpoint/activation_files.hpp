#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/packed/file.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

// The files of activations beside a checkpoint, `path`. Each has a digest in its name.

/// A digest as it stands in names and in checkpoints.
std::string hex(std::uint64_t digest);
bool is_digest(std::string_view text);

/// The checksum of the file's table of checksums, so that ranks which read a part each know the file by it.
std::string digest_of_activations(const PackedFile& file);
std::filesystem::path activations_path(const std::string& path, const std::string& digest);
/// The temporary name of activations until their digest is known. It is always the same, so that the next writer finds
/// the leftovers of a killed one.
std::filesystem::path unnamed_activations(const std::string& path);

struct WrittenActivations {
  std::string digest;
  std::uint64_t bytes = 0;
};
WrittenActivations write_activations(const std::string& path, const ImageSet& activations);
/// Reads them back. DataError if their digest differs.
ImageSet read_activations(const std::string& path, const std::string& digest);
/// Removes all files of activations beside a checkpoint but those of `kept`, those that killed runs have left included.
void remove_activations(const std::string& path, const std::vector<std::string>& kept);

/// Removes the file if it exists.
void remove_file(const std::filesystem::path& path);

}  // namespace spdnn
