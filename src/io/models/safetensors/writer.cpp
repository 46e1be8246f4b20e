#include "io/models/safetensors/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/directory_lock.hpp"
#include "io/files/file_digest.hpp"
#include "io/files/input_file.hpp"
#include "io/files/path_kind.hpp"
#include "io/models/architecture/names.hpp"
#include "io/models/architecture/writer.hpp"
#include "io/models/safetensors/reader.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::size_t kAlignment = 8;                  ///< of the first number, so that readers may map the file
constexpr std::size_t kPiece = std::size_t{1} << 20U;  ///< numbers converted to dense form at a time

std::size_t count_of(const StoredTensor& tensor) {
  return tensor.weights == nullptr ? tensor.values.size()
                                   : std::size_t{tensor.weights->rows()} * tensor.weights->cols();
}

/// A file and the digest of its contents.
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

/// The header is written as text, because an object searches all of its members for each new one.
void write_header(WeightsFile& file, const std::vector<StoredTensor>& tensors) {
  std::string text = "{";
  std::size_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += count_of(tensor) * sizeof(float);
    const Json entry{{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", Json::array({begin, end})}};
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json_text(tensor.name), json_text(entry));
  }
  text += '}';
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
    if (tensor.weights != nullptr)
      write_dense(file, *tensor.weights);
    else
      file.write(std::as_bytes(tensor.values));
}

/// The file name as stored in an architecture, in UTF-8.
std::string stated_name(const std::filesystem::path& path) { return escaped(path.filename().string()); }

/// The architecture.json that already exists in the directory.
class GraphThere {
 public:
  explicit GraphThere(const std::filesystem::path& path) : is_there_(path_kind(path) != PathKind::missing) {
    if (!is_there_) return;
    try {
      json_ = parse_json(text_of_file(path));
    } catch (const JsonProblem&) {
      return;
    }
    if (!json_.is_object() || !json_.contains(kWeightsField)) return;
    const Json weights = json_[kWeightsField];
    const auto text = [&](const char* field) {
      return weights.is_object() && weights.contains(field) && weights[field].is_string()
                 ? weights[field].get<std::string>()
                 : std::string();
    };
    file_ = text(kFileField);
    digest_ = text(kDigestField);
    json_.erase(kWeightsField);
  }

  /// Whether it belongs to other weights than the file of that name. If it names that file, it may have been left by a
  /// writer that was stopped before the weights were in place.
  bool is_anothers(const std::filesystem::path& path) const {
    if (!is_there_ || file_ == stated_name(path)) return false;
    if (path_kind(path) == PathKind::missing) return true;
    return !file_.empty() && path_kind(path.parent_path() / file_) != PathKind::missing;
  }
  bool is_graph_of(const Architecture& architecture) const { return json_ == architecture.json; }
  const std::string& digest() const { return digest_; }

 private:
  bool is_there_;
  Json json_;  ///< without the field about its weights
  std::string file_;
  std::string digest_;
};

[[noreturn]] void refuse_anothers(const std::filesystem::path& architecture) {
  throw DataError(fmt::format("{}: belongs to another model, expected a directory without one", architecture.string()));
}

/// The weights would replace those in the link's directory, and the graph there would lose its weights.
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
  Architecture architecture = architecture_of(model, path.string());
  if (const GraphThere there(beside); there.is_anothers(path) && !there.is_graph_of(architecture))
    refuse_anothers(beside);
  WeightsFile weights(path);
  AtomicFile graph(beside);
  write_header(weights, architecture.tensors);
  write_numbers(weights, architecture.tensors);
  const std::string digest = weights.digest();
  Json json = architecture.json;
  json[kWeightsField] = {{kFileField, stated_name(path)}, {kDigestField, digest}};
  graph.write(text_of(json));
  weights.file().sync();
  graph.sync();
  const Descriptor directory = lock_directory(path.parent_path(), DirectoryLock::exclusive);
  if (const GraphThere there(beside); there.is_anothers(path)) {
    // The same model under another name shares the existing graph.
    if (!there.is_graph_of(architecture) || there.digest() != digest) refuse_anothers(beside);
    return weights.file().commit();
  }
  // The graph goes first: a new graph refuses old weights, but an old graph written by another program would accept the
  // new ones.
  AtomicFile::commit_together({&graph, &weights.file()});
}

}  // namespace spdnn
