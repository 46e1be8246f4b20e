#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/types/plan.hpp"

/// The packed format, `.spdnn`, version 1 for networks and images, version 5 for models, version 6 for models with
/// code; models of version 2, which have no TypedRecords, of version 3, whose TypedRecords end before `order`, and of
/// version 4, which has no Huffman codes, are read as well. Everything is little-endian, without gaps other than those
/// listed here:
///
///   Header                      the contents; enough for packed_contents()
///   SectionEntry[sections]      the table: the place of each section, and its checksum
///   sections                    in the order of the table, each on the next 64-byte bound; the gaps are zeros
///
/// A section of kind network, plan or plan_in_order is a ChainRecord and its LayerRecords; one of kind images is an
/// ImagesRecord; one of kind model, beside which a file has no network, images or plan, is a GraphRecord, its
/// TensorRecords and its TypedRecords; one of kind program is the text of a program that the model is compiled into
/// (StoredProgram), and one of kind code is the CodeRecords of generated machine code (StoredCode). All other sections
/// are plain arrays of numbers (kind data), which the records refer to by their index in the table. A plan can
/// therefore be read without touching the network beside it, and an array with the same form in memory is read directly
/// into place. The header has checksums of itself and the table, the table has those of the sections, and the reader
/// refuses gaps that are not zero, so that no byte of a file can change unnoticed.
///
/// Files are small. In plain matrices columns take two bytes if there are up to 65536, rows of equal length need no
/// offsets, and values are stored once if they are all equal, as a palette and one byte per entry if there are up to
/// 256 distinct ones, and as a palette and two bytes per entry if there are up to 65536. Typed tensors instead have
/// Huffman codes of the columns of CSR and of a palette's codes (entropy_coding.hpp).
namespace spdnn::packed {

static_assert(std::endian::native == std::endian::little,
              "the packed form is read and written in place: little-endian");

inline constexpr std::array<unsigned char, 8> kMagic{0x89, 'S', 'P', 'D', 'N', 'N', '\r', '\n'};
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kVersionOfModels = 5;
inline constexpr std::uint32_t kVersionWithCode = 6;
inline constexpr std::uint32_t kOldestVersionOfModels = 2;
inline constexpr std::uint32_t kFirstVersionWithOrder = 4;
inline constexpr std::uint32_t kFirstVersionWithHuffman = 5;
inline constexpr std::uint64_t kAlignment = 64;
/// Stands for "no section" in a record.
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;
/// In matrices of up to this many columns, each column number takes two bytes.
inline constexpr std::uint64_t kNarrowColumns = 65536;

enum Contents : std::uint32_t { kNetwork = 1, kImages = 2, kPlan = 4, kModel = 8, kProgram = 16, kCode = 32 };
enum class Kind : std::uint32_t {
  data = 0,
  network = 1,
  images = 2,
  plan = 3,
  plan_in_order = 4,
  model = 5,
  program = 6,
  code = 7
};

struct Header {
  std::array<unsigned char, 8> magic = kMagic;
  std::uint32_t byte_order = kByteOrder;
  std::uint32_t version = kVersion;
  std::uint64_t file_bytes = 0;
  std::uint32_t sections = 0;
  std::uint32_t contents = 0;        ///< Contents flags, combined by or
  std::uint64_t edges = 0;           ///< of the network; 0 without one
  std::uint64_t network_digest = 0;  ///< of the network; 0 without one
  std::uint32_t layers = 0;          ///< of the network; 0 without one
  std::uint32_t reserved = 0;
  std::uint64_t table_checksum = 0;
  std::array<std::uint64_t, 7> unused{};
  std::uint64_t checksum = 0;  ///< of all bytes of the header before this field
};

struct SectionEntry {
  std::uint64_t offset = 0;  ///< from the start of the file
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  Kind kind = Kind::data;
  std::uint32_t reserved = 0;
};

struct MatrixRecord {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint64_t entries = 0;
  std::uint32_t degree = 0;       ///< entries per row, if there is no section of offsets
  std::uint32_t offsets = kNone;  ///< u64[rows + 1]
  std::uint32_t indices = kNone;  ///< u16[entries] or u32[entries]
  std::uint32_t values = kNone;   ///< u8, u16 (palette indices) or f32 [entries]; none: all are `value`
  std::uint32_t palette = kNone;  ///< f32[at most 65536]
  float value = 0;                ///< of every entry, if there is no section of values
  std::uint32_t value_bytes = 0;  ///< per entry: 0, 1, 2 or 4
  std::uint32_t reserved = 0;
};

struct LayerRecord {
  MatrixRecord weights;
  double bias = 0;                  ///< of every output neuron, if there is no section of biases
  std::uint32_t biases = kNone;     ///< f64[rows]
  std::uint32_t expansion = kNone;  ///< plans: u32[given outputs]; none: identity
};

/// A network or a plan; for a network, the fields of plans keep these defaults. LayerRecords follow.
struct ChainRecord {
  std::uint32_t layers = 0;
  std::uint32_t bias_everywhere = 0;  ///< 0: bias on non-zeros only
  double cap = 0;                     ///< 0: none
  std::uint16_t passes = 0;           ///< those in effect; see kPassBits
  std::uint16_t requested = 0;        ///< those requested
  std::uint32_t dead_from = 0;
  std::uint32_t saturated_from = 0;
  std::uint32_t given_neurons = kNone;  ///< u32[layers + 1]
  std::uint32_t error_bounds = kNone;   ///< f64[layers]
  std::uint32_t notes = kNone;          ///< UTF-8, each note followed by a zero byte
  std::uint64_t given_edges = 0;
  std::uint64_t network_digest = 0;
};

struct ImagesRecord {
  MatrixRecord sparse;         ///< rows and cols also apply to bits
  std::uint32_t bits = kNone;  ///< u64[rows x words per row]; none: `sparse` holds the images
  std::uint32_t reserved = 0;
};

/// A pruned CNN: the graph is the text of an architecture.json, the numbers are in tensors. TensorRecords follow, then
/// TypedRecords.
struct GraphRecord {
  std::uint32_t architecture = kNone;  ///< UTF-8
  std::uint32_t names = kNone;         ///< UTF-8: the names of the tensors, one after another without gaps
  std::uint32_t tensors = 0;
  std::uint32_t typed = 0;  ///< how many TypedRecords; 0 in version 2
};

/// A named tensor: its non-zeros as a matrix, whose rows are the first axis, or all its numbers.
struct TensorRecord {
  MatrixRecord matrix;
  std::uint32_t numbers = kNone;  ///< f32, row-major; none: the tensor is `matrix`
  std::uint32_t name_bytes = 0;
};

/// A tensor whose values have a type: a TypedMatrix (spdnn/weights.hpp). Its TensorRecord has its name and, of what 2:4
/// stores as CSR, `offsets` and `indices` as a matrix of ones; before version 5 also those of CSR. Nothing else.
struct TypedRecord {
  std::uint32_t tensor = 0;  ///< which TensorRecord; those of a file ascend
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint32_t taps = 1;
  std::uint64_t values = 0;  ///< how many
  std::uint8_t pattern = 0;  ///< Pattern
  std::uint8_t type = 0;     ///< DataType
  std::uint8_t code_bits = 0;
  std::uint8_t reserved = 0;
  std::uint32_t places = kNone;       ///< u8: of 2:4; of CSR the Huffman code of place_bytes()
  std::uint32_t numbers = kNone;      ///< the values, or the codebook of a palette; none: there are none
  std::uint32_t codes = kNone;        ///< u8: of a palette; up to 8 bits as the Huffman code of a byte for each
  std::uint32_t scales = kNone;       ///< f32[1 or rows]; none: 1
  std::uint32_t zero_points = kNone;  ///< i32[1 or rows]; none: 0
  std::uint32_t order = kNone;        ///< u32[cols]: of 2:4; none: ascending
  std::uint32_t reserved_too = 0;
};
/// The bytes of a TypedRecord in a file of version 3.
inline constexpr std::size_t kTypedRecordOfVersion3 = 48;

/// Generated code. The digests of a file ascend.
struct CodeRecord {
  std::array<char, 32> digest{};  ///< hexadecimal
  std::uint32_t bytes = kNone;    ///< u8
  std::uint32_t reserved = 0;
};

/// Bit k of ChainRecord::passes and ::requested is the k-th of these.
inline constexpr std::array<bool Passes::*, 6> kPassBits{&Passes::twins,     &Passes::unused, &Passes::merge,
                                                         &Passes::saturated, &Passes::dead,   &Passes::identical};

inline std::uint16_t pass_bits(const Passes& passes) {
  std::uint16_t bits = 0;
  for (std::size_t k = 0; k < kPassBits.size(); ++k)
    if (passes.*kPassBits[k]) bits = static_cast<std::uint16_t>(bits | 1U << k);
  return bits;
}

inline Passes passes_of(std::uint16_t bits) {
  Passes passes;
  for (std::size_t k = 0; k < kPassBits.size(); ++k) passes.*kPassBits[k] = (bits >> k & 1U) != 0;
  return passes;
}

static_assert(sizeof(Header) == 128 && sizeof(SectionEntry) == 32 && sizeof(MatrixRecord) == 48);
static_assert(sizeof(LayerRecord) == 64 && sizeof(ChainRecord) == 56 && sizeof(ImagesRecord) == 56);
static_assert(sizeof(GraphRecord) == 16 && sizeof(TensorRecord) == 56 && sizeof(TypedRecord) == 56);
static_assert(sizeof(CodeRecord) == 40);
static_assert(std::has_unique_object_representations_v<SectionEntry> && std::is_trivially_copyable_v<LayerRecord>);

inline constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

/// Checksums are computed in blocks of this many bytes, in parallel, so that a block is still in the cache when it is
/// used.
inline constexpr std::uint64_t kBlockBytes = 1U << 18;

inline constexpr std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

/// The 64-bit XXH3 of a block, or of any data no longer than a block.
std::uint64_t hash_block(std::span<const std::byte> bytes);
/// The checksum of a section: XXH3 over the hashes of its blocks.
std::uint64_t combine_hashes(std::span<const std::uint64_t> block_hashes);
std::uint64_t header_checksum(const Header& header);

}  // namespace spdnn::packed
