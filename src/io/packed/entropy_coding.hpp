#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn::packed {

/// A Huffman code of bytes: their number, u64, and a raw deflate stream (RFC 1951) without matches, as zlib's strategy
/// Z_HUFFMAN_ONLY makes it. An adapted code for about each 16 KiB.
std::vector<std::byte> huffman_coded(std::span<const std::byte> bytes);
/// The bytes. std::invalid_argument if that is no code of bytes, or something follows it. Memory is in proportion to
/// the code, whatever number it begins with.
std::vector<std::byte> huffman_decoded(std::span<const std::byte> coded);

/// Codes of more bits are not Huffman-coded.
inline constexpr int kMostCodedBits = 8;
/// Codes of `bits` bits, 1 to kMostCodedBits, one after another as in Values::codes, as one byte each; and back.
std::vector<std::byte> one_byte_each(std::span<const std::byte> codes, std::size_t count, int bits);
std::vector<std::byte> without_gaps(std::span<const std::byte> bytes, int bits);

/// Where the entries of a CSR matrix are.
struct EntryPlaces {
  Array<Offset> offsets;
  Array<Index> indices;
};
/// Row by row the number of entries, and for each the columns between it and the one before, or the row's start: small
/// numbers, as LEB128 mostly one byte each, whose Huffman code takes about 6 bits an entry at 95 % zeros.
std::vector<std::byte> place_bytes(const EntryPlaces& places);
/// The inverse. std::invalid_argument if these are not `rows` rows of columns below `cols`.
EntryPlaces places_of(std::span<const std::byte> bytes, Index rows, Index cols);

}  // namespace spdnn::packed
