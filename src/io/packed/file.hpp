#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/types/plan.hpp"
#include "io/files/input_file.hpp"
#include "io/packed/format.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

/// A packed file whose header and table have been checked; sections are checked when they are loaded.
class PackedFile {
 public:
  explicit PackedFile(const Path& path);
  /// Opens a file in memory. `name` is its name in messages.
  PackedFile(std::string name, std::shared_ptr<const std::byte> data, std::size_t size);

  const packed::Header& header() const { return header_; }
  const std::string& name() const { return file_.name(); }
  std::size_t size() const { return file_.size(); }
  std::size_t sections() const { return table_.size(); }
  /// DataError if this section number, taken from a record, is not in the table.
  const packed::SectionEntry& entry(std::uint32_t section) const;
  /// Copies bytes of a section, from `first` on.
  void read(std::uint32_t section, std::uint64_t first, std::span<std::byte> to) const {
    file_.read(entry(section).offset + first, to);
  }
  /// Announces that a section is about to be read.
  void will_need(std::uint32_t section) const { file_.will_need(entry(section).offset, entry(section).bytes); }
  /// DataError if the bytes between this section and the previous one are not zero.
  void check_gap_before(std::uint32_t section) const;
  /// The section of this kind (other than data), of which a file has at most one.
  std::optional<std::uint32_t> find(packed::Kind kind) const;
  /// The same; DataError if there is none: "holds no WHAT", with its actual contents.
  std::uint32_t require(packed::Kind kind, const char* what) const;

  /// Throws a DataError with the file's name and `what`, or one that says that the file has changed.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void check_header();
  void check_table();

  std::shared_ptr<const std::byte> memory_;  ///< the bytes of a file in memory
  InputFile file_;
  packed::Header header_;
  std::vector<packed::SectionEntry> table_;
};

/// The implementations of read_packed_network() and similar functions; see read_write.hpp.
NetworkFile load_network(const PackedFile& file, const NetworkRequest& request);
NetworkStream open_network(std::unique_ptr<const PackedFile> file, const NetworkRequest& request);
ImageSet load_images(const PackedFile& file);
/// Checks the number of neurons of images read from `name` and appends images of zeros.
ImageSet fit_images(const std::string& name, ImageSet set, std::optional<Index> neurons, std::optional<Index> images);
Plan load_plan(const PackedFile& file);

}  // namespace spdnn
