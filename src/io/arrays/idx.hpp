#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "spdnn/array.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// A file in MNIST's IDX format (LeCun, Cortes, Burges), plain or .gz, whatever its name: a big-endian word with the
/// type and the number of axes, their lengths, and one byte per element. It holds images (images, rows, columns) or
/// labels.
class IdxFile {
 public:
  enum class Kind { labels, images };

  /// Reads the header. DataError if it is invalid.
  IdxFile(const std::filesystem::path& path, Kind kind);
  ~IdxFile();
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<Index>& extents() const { return extents_; }
  /// All elements, row-major, or those of the first `most` images or labels. DataError if the file is shorter or longer
  /// than its header states, damaged, or changed meanwhile.
  Array<std::uint8_t> read() { return read(extents_[0]); }
  Array<std::uint8_t> read(Index most);

 private:
  class Bytes;

  std::string name_;
  Kind kind_;
  std::unique_ptr<Bytes> bytes_;
  std::vector<Index> extents_;
};

}  // namespace spdnn
