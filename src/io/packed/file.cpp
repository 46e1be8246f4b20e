#include "io/packed/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::Header;
using packed::Kind;
using packed::SectionEntry;

PackedFile::PackedFile(std::string name, std::shared_ptr<const std::byte> data, std::size_t size)
    : memory_(std::move(data)), file_(std::move(name), {memory_.get(), size}) {
  check_header();
  check_table();
}

PackedFile::PackedFile(const Path& path) : file_(path) {
  check_header();
  check_table();
}

void PackedFile::check_header() {
  if (size() == 0) fail("is empty; expected a packed spdnn file");
  std::array<unsigned char, packed::kMagic.size()> magic{};
  const auto known = std::as_writable_bytes(std::span(magic)).first(std::min(size(), magic.size()));
  file_.read(0, known);
  if (!std::equal(magic.begin(), magic.begin() + known.size(), packed::kMagic.begin()))
    fail("is not a packed spdnn file: its first bytes differ");
  if (size() < sizeof(Header))
    fail(fmt::format("is cut short: {} bytes, expected at least {}", size(), sizeof(Header)));
  file_.read(0, std::as_writable_bytes(std::span(&header_, 1)));
  if (header_.byte_order != packed::kByteOrder)
    fail("has another byte order or is corrupted; expected a little-endian packed file");
  const bool model = (header_.contents & packed::kModel) != 0;
  const std::uint32_t version = model ? packed::kVersionWithCode : packed::kVersion;
  const std::uint32_t oldest = model ? packed::kOldestVersionOfModels : packed::kVersion;
  if (header_.version < oldest || header_.version > version)
    fail(fmt::format("has version {} of the packed format; expected {}", header_.version,
                     model ? fmt::format("{} to {}", oldest, version) : fmt::format("version {}", version)));
  if (header_.checksum != packed::header_checksum(header_)) fail("is corrupted: the header's checksum differs");
  if (header_.file_bytes != size())
    fail(fmt::format("is cut short or too long: {} bytes, expected {}", size(), header_.file_bytes));
}

void PackedFile::check_table() {
  const std::uint64_t table_bytes = std::uint64_t{header_.sections} * sizeof(SectionEntry);
  std::uint64_t end = sizeof(Header) + table_bytes;
  if (end > size()) fail("is corrupted: the table of sections leads outside the file");
  table_.resize(header_.sections);
  file_.read(sizeof(Header), std::as_writable_bytes(std::span(table_)));
  if (packed::hash_block(std::as_bytes(std::span(table_))) != header_.table_checksum)
    fail("is corrupted: the table's checksum differs");
  std::uint32_t kinds_seen = 0;
  for (std::size_t i = 0; i < header_.sections; ++i) {
    const SectionEntry& entry = table_[i];
    if (entry.offset != packed::aligned(end) || entry.offset > size() || entry.bytes > size() - entry.offset)
      fail(fmt::format("is corrupted: section {} is at an unexpected offset", i));
    const auto kind = static_cast<std::uint32_t>(entry.kind);
    const bool known = kind <= static_cast<std::uint32_t>(Kind::code);
    if (!known || entry.reserved != 0 || (entry.kind != Kind::data && (kinds_seen >> kind & 1U) != 0))
      fail(fmt::format("is corrupted: section {} has an unexpected kind", i));
    kinds_seen |= 1U << kind;
    end = entry.offset + entry.bytes;
  }
  // Bit k of kinds_seen stands for Kind k. Network, images and plan are kinds 1 to 3, and bits 0 to 2 of contents.
  const auto seen = [&](Kind kind, std::uint32_t contents) {
    return (kinds_seen >> static_cast<std::uint32_t>(kind) & 1U) != 0 ? contents : 0U;
  };
  constexpr std::uint32_t kBesideModel = packed::kProgram | packed::kCode;
  const std::uint32_t of_model =
      seen(Kind::model, packed::kModel) | seen(Kind::program, packed::kProgram) | seen(Kind::code, packed::kCode);
  if (((kinds_seen >> 1 & 7U) | of_model) != header_.contents)
    fail("is corrupted: its header does not match its sections");
  if (of_model != 0 && (header_.contents & ~kBesideModel) != packed::kModel)
    fail("is corrupted: it has other contents besides its model");
  if ((of_model & packed::kCode) != 0 && header_.version < packed::kVersionWithCode)
    fail(fmt::format("is corrupted: a file of version {} has no code", header_.version));
  if (end != size()) fail("is corrupted: it continues after its last section");
}

const SectionEntry& PackedFile::entry(std::uint32_t section) const {
  if (section >= table_.size()) fail(fmt::format("is corrupted: there is no section {}", section));
  return table_[section];
}

void PackedFile::check_gap_before(std::uint32_t section) const {
  const std::uint64_t begin = section == 0 ? sizeof(Header) + table_.size() * sizeof(SectionEntry)
                                           : entry(section - 1).offset + entry(section - 1).bytes;
  std::array<std::byte, packed::kAlignment> gap{};  // sections are aligned
  file_.read(begin, std::span(gap).first(entry(section).offset - begin));
  if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; }))
    fail(fmt::format("is corrupted: the gap before section {} is not zero", section));
}

std::uint32_t PackedFile::require(Kind kind, const char* what) const {
  if (const auto section = find(kind)) return *section;
  if ((header_.contents & packed::kModel) != 0)
    fail(fmt::format("holds no {}, but a model; use it with infer --model, inspect or convert", what));
  fail(fmt::format("holds no {}{}", what, kind == Kind::model ? ", but a network or images; omit --model" : ""));
}

std::optional<std::uint32_t> PackedFile::find(Kind kind) const {
  for (std::uint32_t i = 0; i < table_.size(); ++i)
    if (table_[i].kind == kind) return i;
  return std::nullopt;
}

void PackedFile::fail(const std::string& what) const {
  file_.check_unchanged();
  throw DataError(file_.name() + ": " + what);
}

PackedContents packed_contents(const Path& path) {
  const Header header = PackedFile(path).header();
  PackedContents contents;
  contents.network = (header.contents & packed::kNetwork) != 0;
  contents.images = (header.contents & packed::kImages) != 0;
  contents.plan = (header.contents & packed::kPlan) != 0;
  contents.model = (header.contents & packed::kModel) != 0;
  contents.layers = header.layers;
  contents.edges = header.edges;
  contents.network_digest = header.network_digest;
  return contents;
}

}  // namespace spdnn
