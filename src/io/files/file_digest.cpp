#include "io/files/file_digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <vector>

namespace spdnn {

FileDigest::FileDigest() : state_(XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); }) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void FileDigest::add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }

std::string FileDigest::text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

std::string digest_text(const InputFile& file) {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::vector<std::byte> piece(std::min(kPiece, file.size()));
  FileDigest digest;
  for (std::size_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, file.size() - at));
    file.read(at, piece);
    digest.add(piece);
  }
  return digest.text();
}

}  // namespace spdnn
