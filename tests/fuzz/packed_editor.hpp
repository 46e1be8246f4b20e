#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "io/packed/format.hpp"

namespace spdnn::fuzz {

/// A packed file that has been taken apart into its sections, to be changed and put together again, with a new layout
/// and the right checksums, so that a change reaches the checks that follow those of the checksums.
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

/// The body of LLVMFuzzerCustomMutator for packed files.
std::size_t mutate_packed(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);

}  // namespace spdnn::fuzz
