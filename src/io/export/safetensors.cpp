#include "io/export/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/descriptor.hpp"
#include "io/atomic_file.hpp"
#include "io/export/architecture.hpp"
#include "io/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::size_t kAlignment = 8;                  ///< of the first number, so that readers may map the file
constexpr std::size_t kPiece = std::size_t{1} << 20U;  ///< numbers that are made dense at a time

std::size_t count_of(const StoredTensor& tensor) {
  return tensor.matrix == nullptr ? tensor.values.size() : std::size_t{tensor.matrix->rows} * tensor.matrix->cols;
}

void write_header(AtomicFile& file, const std::vector<StoredTensor>& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::size_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += count_of(tensor) * sizeof(float);
    header.push_back({tensor.name, {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}}});
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t size = text.size();
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(text);
}

void write_dense(AtomicFile& file, const CsrMatrix& matrix) {
  const Index rows_at_once = std::max<Index>(1, static_cast<Index>(kPiece / std::max<Index>(1, matrix.cols)));
  for (Index first = 0; first < matrix.rows;) {
    const Index last = first + std::min(rows_at_once, matrix.rows - first);
    const std::vector<float> dense = dense_rows(matrix, first, last);
    first = last;
    file.write(std::as_bytes(std::span(dense)));
  }
}

void write_numbers(AtomicFile& file, const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors)
    if (tensor.matrix != nullptr)
      write_dense(file, *tensor.matrix);
    else
      file.write(std::as_bytes(tensor.values));
}

void refuse_foreign(const std::filesystem::path& path, const std::filesystem::path& architecture) {
  if (path_kind(path) == PathKind::missing && path_kind(architecture) != PathKind::missing)
    throw DataError(
        fmt::format("{}: belongs to another model, expected a directory without one", architecture.string()));
}

/// The directory, locked against other writers; where it cannot be, it stays unlocked.
Descriptor locked(const std::filesystem::path& directory) {
  const std::filesystem::path name = directory.empty() ? "." : directory;
  Descriptor opened(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (opened && ::flock(opened.get(), LOCK_EX) != 0)
    if (errno != EINTR) break;
  return opened;
}

}  // namespace

std::filesystem::path architecture_beside(const std::filesystem::path& path) {
  return path.parent_path() / "architecture.json";
}

void write_safetensors(const std::filesystem::path& path, const Model& model) {
  const std::filesystem::path beside = architecture_beside(path);
  refuse_foreign(path, beside);
  const Architecture architecture = architecture_of(model, path.string());
  AtomicFile weights(path);
  AtomicFile graph(beside);
  graph.write(text_of(architecture.json));
  write_header(weights, architecture.tensors);
  write_numbers(weights, architecture.tensors);
  weights.sync();
  graph.sync();
  const Descriptor directory = locked(path.parent_path());
  refuse_foreign(path, beside);
  AtomicFile::commit_together({&graph, &weights});
}

}  // namespace spdnn
