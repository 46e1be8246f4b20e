#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "io/packed/format.hpp"

namespace spdnn::packed {

/// Corrects the checksums of a changed packed file in memory, as far as its table can be followed, so that tests and
/// the fuzzer reach the checks after the checksums.
inline void seal(std::span<std::byte> file) {
  Header header;
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t table_bytes = std::uint64_t{header.sections} * sizeof(SectionEntry);
  if (table_bytes <= file.size() - sizeof header) {
    const std::span<std::byte> table = file.subspan(sizeof header, table_bytes);
    for (std::uint64_t at = 0; at < table_bytes; at += sizeof(SectionEntry)) {
      SectionEntry entry;
      std::memcpy(&entry, table.data() + at, sizeof entry);
      if (entry.offset > file.size() || entry.bytes > file.size() - entry.offset) continue;
      std::vector<std::uint64_t> hashes;
      for (std::uint64_t first = 0; first < entry.bytes; first += kBlockBytes)
        hashes.push_back(hash_block(file.subspan(entry.offset + first, std::min(kBlockBytes, entry.bytes - first))));
      entry.checksum = combine_hashes(hashes);
      std::memcpy(table.data() + at, &entry, sizeof entry);
    }
    header.table_checksum = hash_block(table);
  }
  header.file_bytes = file.size();
  header.checksum = header_checksum(header);
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace spdnn::packed
