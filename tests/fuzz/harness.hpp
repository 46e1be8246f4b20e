#pragma once

// What all fuzzers share. An Error that says what is wrong is an answer, and so is a file that the system refuses; all
// else is a finding: a crash, a report of the sanitizers, another exception, a broken promise, memory out of all
// proportion.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::fuzz {

/// Ends the fuzzer with a finding, and says on stderr what was promised.
void require(bool condition, std::string_view promise);

/// Calls `work`: empty where it went through, else the message of the error that it threw.
std::string attempt(const std::function<void()>& work);

/// The input, taken byte by byte from its beginning; zeros once it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  std::uint8_t take();
  /// A number below `limit`, out of one byte (limit up to 256) or two.
  std::uint32_t below(std::uint32_t limit);
  bool empty() const { return rest_.empty(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A number that differs where the values differ, however they are stored.
std::uint64_t digest_of(const CsrMatrix& matrix);
std::uint64_t digest_of(const ImageSet& images);
std::uint64_t digest_of(const Plan& plan);

/// What a reader may hand over: validate(), and no bit set beyond the last neuron. Copies nothing.
void require_sound(const CsrMatrix& matrix);
void require_sound(const ImageSet& images);
void require_sound(const Plan& plan);

/// `text` as one gzip stream, cut into `members`.
std::string gzip_members(std::string_view text, std::size_t members);

/// Makes files older than they are, as readers wait a moment before they believe the time of a file that is just
/// written.
void age(const std::filesystem::path& file_or_directory);
/// Writes a file that is old already. False where there can be no file of that name.
bool write_aged(const std::filesystem::path& path, std::string_view text);

/// Ends with a finding where the process came to hold more than 200 MB and 4 times the input beyond what it had when
/// the first of these was made.
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
