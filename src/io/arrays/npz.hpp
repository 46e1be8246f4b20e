#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/arrays/npy.hpp"
#include "io/arrays/numbers.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

// NumPy's archives of named arrays, .npz: zip files of .npy files, stored or deflated, read by libzip.

/// An .npz file, held in memory in compressed form.
class NpzFile {
 public:
  /// DataError if the file is no zip archive.
  explicit NpzFile(const InputFile& file);
  ~NpzFile();
  NpzFile(const NpzFile&) = delete;
  NpzFile& operator=(const NpzFile&) = delete;

  /// The names of the arrays, without .npy, in the archive's order.
  const std::vector<std::string>& names() const { return names_; }

  /// A decompressed array.
  struct Member {
    std::string name;
    Array<std::byte> bytes;

    /// As an .npy file, valid as long as the member.
    InputFile file() const { return {name, bytes.span()}; }
  };
  Member member(const std::string& name) const;

 private:
  struct Archive;

  std::string file_;
  std::unique_ptr<Archive> archive_;
  std::vector<std::string> names_;
};

/// An array for an .npz file: its name without .npy, its header (npy_header()) and its numbers.
struct NpzMember {
  std::string name;
  std::string header;
  std::span<const std::byte> numbers;
};
/// Builds an .npz file of these arrays, stored without compression.
std::vector<std::byte> npz_archive(const std::vector<NpzMember>& members);

/// Writes an .npz file of these arrays; the caller commits.
void write_npz(AtomicFile& file, const std::vector<NamedTensor>& tensors);

/// Reads the array of an .npy file, the only array of `FILE.npz`, or the array NAME of `FILE.npz/NAME`.
/// See read_npy_rows() and read_npy_integers(). Arrays of archives are decompressed as a whole.
FirstRows read_array_rows(const std::filesystem::path& path, std::optional<Index> most = {});
IntegerTensor read_integer_array(const std::filesystem::path& path);
/// The archive of this name; empty if the name does not end in .npz.
std::unique_ptr<NpzFile> npz_file(const std::filesystem::path& path);
/// Whether the name is that of an .npy file or of an array in an .npz file.
bool names_array(const std::filesystem::path& path);

}  // namespace spdnn
