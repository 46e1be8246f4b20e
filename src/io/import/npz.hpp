#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/import/npy.hpp"
#include "io/import/numbers.hpp"
#include "io/input_file.hpp"

namespace spdnn {

// NumPy's archives of named arrays, .npz: zip files of .npy files, stored or deflated, read by libzip.

/// An .npz file, which is held in memory as it is.
class NpzFile {
 public:
  /// DataError where the file is no zip archive.
  explicit NpzFile(const InputFile& file);
  ~NpzFile();
  NpzFile(const NpzFile&) = delete;
  NpzFile& operator=(const NpzFile&) = delete;

  /// The names of the arrays, without .npy, in the archive's order.
  const std::vector<std::string>& names() const { return names_; }
  Tensor read(const std::string& name) const;
  IntegerTensor read_integers(const std::string& name) const;
  FirstRows read_rows(const std::string& name, std::optional<Index> most) const;

 private:
  struct Archive;
  struct Member;

  Member member(const std::string& name) const;

  std::string file_;
  std::unique_ptr<Archive> archive_;
  std::vector<std::string> names_;
};

/// An array for an .npz file: its name without .npy, its header (npy_header()), its numbers.
struct NpzMember {
  std::string name;
  std::string header;
  std::span<const std::byte> numbers;
};
/// The bytes of an .npz file of these arrays, which are stored without compression.
std::vector<std::byte> npz_archive(const std::vector<NpzMember>& members);

/// The array of an .npy file; or that of `FILE.npz` where it has one only, or `FILE.npz/NAME`, as if the archive were a
/// directory.
Tensor read_array(const std::filesystem::path& path);
IntegerTensor read_integer_array(const std::filesystem::path& path);
/// The same of its first rows; see read_npy_rows(). An array of an archive is decompressed as a whole.
FirstRows read_array_rows(const std::filesystem::path& path, std::optional<Index> most);
/// Whether the path is that of an .npy file or of something in an .npz file, by its name.
bool names_array(const std::filesystem::path& path);

}  // namespace spdnn
