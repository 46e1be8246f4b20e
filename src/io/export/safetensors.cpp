#include "io/export/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/json_text.hpp"
#include "core/message.hpp"
#include "io/atomic_file.hpp"
#include "io/directory_lock.hpp"
#include "io/export/architecture.hpp"
#include "io/file_digest.hpp"
#include "io/import/architecture_names.hpp"
#include "io/import/safetensors.hpp"
#include "io/input_file.hpp"
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

/// A file, and the digest of what is in it.
class WeightsFile {
 public:
  explicit WeightsFile(const std::filesystem::path& path) : file_(path) {}
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    digest_.add(bytes);
  }
  std::string digest() const { return digest_.text(); }
  AtomicFile& file() { return file_; }

 private:
  AtomicFile file_;
  FileDigest digest_;
};

void write_header(WeightsFile& file, const std::vector<StoredTensor>& tensors) {
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
  file.write(std::as_bytes(std::span(text)));
}

void write_dense(WeightsFile& file, const CsrMatrix& matrix) {
  const Index rows_at_once = std::max<Index>(1, static_cast<Index>(kPiece / std::max<Index>(1, matrix.cols)));
  for (Index first = 0; first < matrix.rows;) {
    const Index last = first + std::min(rows_at_once, matrix.rows - first);
    const std::vector<float> dense = dense_rows(matrix, first, last);
    first = last;
    file.write(std::as_bytes(std::span(dense)));
  }
}

void write_numbers(WeightsFile& file, const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors)
    if (tensor.matrix != nullptr)
      write_dense(file, *tensor.matrix);
    else
      file.write(std::as_bytes(tensor.values));
}

/// Whether the architecture says that it belongs to that file: a writer was stopped before it had put the file in
/// place.
bool awaits(const std::filesystem::path& architecture, const std::string& file) {
  try {
    const OrderedJson json = parse_json(text_of_file(architecture));
    return json.is_object() && json.contains(kWeightsField) && json[kWeightsField].is_object() &&
           json[kWeightsField].value(kFileField, OrderedJson()) == file;
  } catch (const JsonProblem&) {
    return false;
  }
}

/// The file's name as an architecture states it, in UTF-8.
std::string stated_name(const std::filesystem::path& path) { return escaped(path.filename().string()); }

void refuse_foreign(const std::filesystem::path& path, const std::filesystem::path& architecture) {
  if (path_kind(path) != PathKind::missing || path_kind(architecture) == PathKind::missing) return;
  if (awaits(architecture, stated_name(path))) return;
  throw DataError(fmt::format("{}: belongs to another model, expected a directory without one", architecture.string()));
}

/// The weights would take the place of those in the other directory, and the graph there would be left without its own.
void refuse_link(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  const std::filesystem::path target = std::filesystem::weakly_canonical(whole);
  if (target.parent_path() == std::filesystem::weakly_canonical(whole.parent_path())) return;
  throw DataError(fmt::format("{}: is a link to '{}', where the graph would not be beside the weights", path.string(),
                              escaped(target.string())));
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const Model& model) {
  const std::filesystem::path beside = architecture_beside(path);
  refuse_link(path);
  refuse_foreign(path, beside);
  Architecture architecture = architecture_of(model, path.string());
  WeightsFile weights(path);
  AtomicFile graph(beside);
  write_header(weights, architecture.tensors);
  write_numbers(weights, architecture.tensors);
  architecture.json[kWeightsField] = {{kFileField, stated_name(path)}, {kDigestField, weights.digest()}};
  graph.write(text_of(architecture.json));
  weights.file().sync();
  graph.sync();
  const Descriptor directory = lock_directory(path.parent_path(), DirectoryLock::exclusive);
  refuse_foreign(path, beside);
  // In this order: the new graph refuses the old weights, but an old graph of another program's would take the new
  // ones.
  AtomicFile::commit_together({&graph, &weights.file()});
}

}  // namespace spdnn
