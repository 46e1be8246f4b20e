#include "inference/checkpoint/activation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "io/files/atomic_file.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDigits = 16;  ///< of a digest in hexadecimal

}  // namespace

std::string hex(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

bool is_digest(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string digest_of_activations(const PackedFile& file) { return hex(file.header().table_checksum); }

fs::path activations_path(const std::string& path, const std::string& digest) { return path + "." + digest + ".spdnn"; }

fs::path unnamed_activations(const std::string& path) { return path + ".next.spdnn"; }

void remove_file(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

void remove_activations(const std::string& path, const std::vector<std::string>& kept) {
  const fs::path folder = fs::absolute(path).parent_path();
  const std::string stem = fs::path(path).filename().native() + ".";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().native();
    const bool of_this = name.starts_with(stem) && name.ends_with(".spdnn") &&
                         name.size() == stem.size() + kDigits + std::string_view(".spdnn").size();
    const std::string digest = of_this ? name.substr(stem.size(), kDigits) : "";
    if (is_digest(digest) && std::find(kept.begin(), kept.end(), digest) == kept.end())
      fs::remove(entry.path(), ignored);
  }
}

WrittenActivations write_activations(const std::string& path, const ImageSet& activations) {
  const fs::path unnamed = unnamed_activations(path);
  write_images(unnamed, activations);
  WrittenActivations written;
  {
    const PackedFile file(unnamed);
    written = {digest_of_activations(file), file.size()};
  }
  const fs::path named = activations_path(path, written.digest);
  if (std::rename(unnamed.c_str(), named.c_str()) != 0) {
    const int error = errno;
    remove_file(unnamed);
    fail_to_write(named, error);
  }
  if (!sync_directory(named.has_parent_path() ? named.parent_path() : ".")) fail_to_write(named, errno);
  return written;
}

ImageSet read_activations(const std::string& path, const std::string& digest) {
  const PackedFile file(activations_path(path, digest));
  if (digest_of_activations(file) != digest) file.fail("holds other activations than the checkpoint's");
  return load_images(file);
}

}  // namespace spdnn
