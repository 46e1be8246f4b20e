#pragma once

// Common parts of all fuzzers. An Error with its reason is a valid answer, and so is a file that the system refuses.
// Everything else is a finding: a crash, a report of the sanitizers, another exception, a violated requirement, or
// excessive memory.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/types/plan.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn::fuzz {

/// Ends the fuzzer with a finding, and prints the violated requirement to stderr.
void require(bool condition, std::string_view promise);

/// Calls `work`; returns the message of its error, or an empty text.
std::string attempt(const std::function<void()>& work);

/// The input, byte by byte from its beginning; zeros once it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  std::uint8_t take();
  /// A number below `limit`, made from one byte (for limits up to 256) or two.
  std::uint32_t below(std::uint32_t limit);
  bool empty() const { return rest_.empty(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A number that differs where values differ, however they are stored.
std::uint64_t digest_of(const CsrMatrix& matrix);
std::uint64_t digest_of(const ImageSet& images);
std::uint64_t digest_of(const Plan& plan);

/// Checks a reader's result: validate(), and that no bit beyond the last neuron is set. Copies nothing.
void require_sound(const CsrMatrix& matrix);
void require_sound(const ImageSet& images);
void require_sound(const Plan& plan);

/// Compresses the text to one gzip stream of that many members.
std::string gzip_members(std::string_view text, std::size_t members);

/// Makes files look older than they are, because readers wait a moment before they trust the time of a file that has
/// just been written.
void age(const std::filesystem::path& file_or_directory);
/// Writes a file that looks old. Returns false if no file can have that name.
bool write_aged(const std::filesystem::path& path, std::string_view text);

/// Ends with a finding if the process's memory has grown by more than 200 MB and 4 times the input since the first of
/// these objects was made.
class MemoryPeak {
 public:
  explicit MemoryPeak(std::size_t input_bytes) : input_bytes_(input_bytes) {}
  MemoryPeak(const MemoryPeak&) = delete;
  MemoryPeak& operator=(const MemoryPeak&) = delete;
  ~MemoryPeak();

 private:
  std::size_t input_bytes_;
};

}  // namespace spdnn::fuzz
