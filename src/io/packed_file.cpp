#include "io/packed_file.hpp"

#include <fmt/format.h>

#include <cstring>

#include "io/mapped_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::Header;
using packed::Kind;
using packed::SectionEntry;

namespace {

/// The records of a file, copied out: nothing in a file can be trusted to be an object.
template <class T>
T record_at(std::span<const std::byte> bytes, std::size_t offset) {
  T record;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

}  // namespace

PackedFile::PackedFile(std::string name, std::shared_ptr<const std::byte> data, std::size_t size)
    : name_(std::move(name)), data_(std::move(data)), size_(size) {
  check_header();
  check_table();
}

PackedFile::PackedFile(const Path& path) : name_(path.string()) {
  const MappedFile file(path, Access::random);
  data_ = file.owner();
  size_ = file.size();
  check_header();
  check_table();
}

void PackedFile::check_header() {
  if (size_ == 0) fail("is empty; expected a packed spdnn file");
  const std::size_t known = std::min(size_, packed::kMagic.size());
  if (std::memcmp(data_.get(), packed::kMagic.data(), known) != 0)
    fail("is no packed spdnn file: its first bytes are others");
  if (size_ < sizeof(Header)) fail(fmt::format("is cut short: {} bytes, expected at least {}", size_, sizeof(Header)));
  header_ = record_at<Header>({data_.get(), size_}, 0);
  if (header_.byte_order != packed::kByteOrder)
    fail("has another byte order or is corrupted; expected a little-endian packed file");
  if (header_.version != packed::kVersion)
    fail(fmt::format("is of version {} of the packed form; expected version {}", header_.version, packed::kVersion));
  if (header_.checksum != packed::header_checksum(header_)) fail("is corrupted: the header's checksum differs");
  if (header_.file_bytes != size_)
    fail(fmt::format("is cut short or too long: {} bytes, expected {}", size_, header_.file_bytes));
}

void PackedFile::check_table() {
  const std::uint64_t table_bytes = std::uint64_t{header_.sections} * sizeof(SectionEntry);
  std::uint64_t end = sizeof(Header) + table_bytes;
  if (end > size_) fail("is corrupted: the table of sections leads outside the file");
  const std::span<const std::byte> table{data_.get() + sizeof(Header), table_bytes};
  if (packed::hash_block(table) != header_.table_checksum) fail("is corrupted: the table's checksum differs");
  table_.reserve(header_.sections);
  std::uint32_t kinds_seen = 0;
  for (std::size_t i = 0; i < header_.sections; ++i) {
    const auto entry = record_at<SectionEntry>(table, i * sizeof(SectionEntry));
    if (entry.offset != packed::aligned(end) || entry.offset > size_ || entry.bytes > size_ - entry.offset)
      fail(fmt::format("is corrupted: section {} is not where it was expected", i));
    const auto kind = static_cast<std::uint32_t>(entry.kind);
    const bool known = kind <= static_cast<std::uint32_t>(Kind::plan_in_order);
    if (!known || entry.reserved != 0 || (entry.kind != Kind::data && (kinds_seen >> kind & 1U) != 0))
      fail(fmt::format("is corrupted: section {} is of a kind not expected there", i));
    kinds_seen |= 1U << kind;
    end = entry.offset + entry.bytes;
    table_.push_back(entry);
  }
  // Bit k of kinds_seen is Kind k; network, images and plan are the kinds 1 to 3 and the bits 0 to 2 of contents.
  if ((kinds_seen >> 1 & 7U) != header_.contents) fail("is corrupted: its header and its sections differ");
  if (end != size_) fail("is corrupted: it goes on after its last section");
}

const SectionEntry& PackedFile::entry(std::uint32_t section) const {
  if (section >= table_.size()) fail(fmt::format("is corrupted: there is no section {}", section));
  return table_[section];
}

std::span<const std::byte> PackedFile::bytes(std::uint32_t section) const {
  return {data_.get() + entry(section).offset, entry(section).bytes};
}

std::span<const std::byte> PackedFile::gap_before(std::uint32_t section) const {
  const std::uint64_t begin = section == 0 ? sizeof(Header) + table_.size() * sizeof(SectionEntry)
                                           : entry(section - 1).offset + entry(section - 1).bytes;
  return {data_.get() + begin, entry(section).offset - begin};
}

std::optional<std::uint32_t> PackedFile::find(Kind kind) const {
  for (std::uint32_t i = 0; i < table_.size(); ++i)
    if (table_[i].kind == kind) return i;
  return std::nullopt;
}

void PackedFile::fail(const std::string& what) const { throw DataError(name_ + ": " + what); }

PackedContents packed_contents(const Path& path) {
  const Header header = PackedFile(path).header();
  PackedContents contents;
  contents.network = (header.contents & packed::kNetwork) != 0;
  contents.images = (header.contents & packed::kImages) != 0;
  contents.plan = (header.contents & packed::kPlan) != 0;
  contents.layers = header.layers;
  contents.edges = header.edges;
  contents.network_digest = header.network_digest;
  return contents;
}

}  // namespace spdnn
