#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "io/packed/format.hpp"

namespace spdnn::fuzz {

/// A packed file's sections, which are changed and assembled again with a new layout and right checksums, so that a
/// change reaches the checks after the checksums.
class PackedEditor {
 public:
  /// Takes a file apart; empty where the table cannot be followed.
  static std::optional<PackedEditor> open(std::span<const std::byte> file);

  /// Makes one change: of a section, of a number in one, of the header, or of the list of sections.
  void change(std::mt19937& random);
  std::vector<std::byte> file() const;

 private:
  struct Section {
    packed::Kind kind;
    std::vector<std::byte> bytes;
  };

  void change_bytes(Section& section);
  void change_number(Section& section, std::mt19937& random);
  void change_length(Section& section, std::mt19937& random);
  void change_header(std::mt19937& random);
  void change_list(std::mt19937& random);
  std::uint64_t telling_number(std::uint64_t before, std::mt19937& random) const;

  packed::Header header_;
  std::vector<Section> sections_;
};

/// The input as a file in memory, to be changed at will. A fuzzer that calls this has inputs changed by PackedEditor:
/// LLVMFuzzerCustomMutator, which libFuzzer calls where it is linked, is in the same object.
std::shared_ptr<std::byte> packed_input(const std::uint8_t* bytes, std::size_t size);

}  // namespace spdnn::fuzz
