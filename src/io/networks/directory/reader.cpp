// Reads the layers of a network from text files, in parallel over files or over the pieces of each.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/system/descriptor.hpp"
#include "core/system/out_of_memory.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "io/files/claimed_size.hpp"
#include "io/files/directory_lock.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/directory/manifest.hpp"
#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/notes.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The number of neurons of each layer, as far as known before reading; for TSV it is always known.
struct Shapes {
  std::vector<Index> neurons;  ///< as in NetworkRequest
  Index square = 0;            ///< from the file names, if `neurons` is empty
  bool given() const { return !neurons.empty(); }
  Index inputs(std::size_t k) const { return neurons.size() > 1 ? neurons[k] : given() ? neurons[0] : square; }
  Index outputs(std::size_t k) const { return neurons.size() > 1 ? neurons[k + 1] : given() ? neurons[0] : square; }
};

std::size_t count_layers(const Path& path, const NetworkRequest& request, const LayerFiles& files) {
  const std::size_t found = files.weights.rbegin()->first;
  if (request.neurons.size() < 2) return request.layers.value_or(narrow<Index>(found));
  const std::size_t listed = request.neurons.size() - 1;
  if (!request.layers && found != listed)
    throw DataError(fmt::format("{}: holds {}, expected {}: {} numbers of neurons were given", path.string(),
                                counted(found, "layer", "layers"), listed, listed + 1));
  if (request.layers.value_or(1) > listed)
    throw DataError(fmt::format("{}: {} layers were requested, expected at most {}: {} numbers of neurons were given",
                                path.string(), *request.layers, listed, listed + 1));
  return request.layers.value_or(narrow<Index>(listed));
}

/// The files of layers 1 to `count`. DataError for the first that is missing.
std::vector<Path> without_gap(const Path& path, const LayerFiles& files, std::size_t count) {
  std::vector<Path> paths;
  for (const auto& [number, file] : files.weights) {
    if (paths.size() == count) break;
    if (number != paths.size() + 1) break;
    paths.push_back(file);
  }
  if (paths.size() < count)
    throw DataError(fmt::format(
        "{}: no such file, expected layers 1..{}",
        (path / layer_name({files.neurons, static_cast<Index>(paths.size() + 1), false}, ".tsv")).string(), count));
  return paths;
}

CsrMatrix read_weights(TextSource& source, Form form, const Shapes& shapes, std::size_t k) {
  if (form != Form::matrix_market) {
    if (!shapes.given()) check_claimed_size(source.name(), shapes.square, "neurons", source.expected_bytes());
    return read_tsv_layer(source, shapes.inputs(k), shapes.outputs(k));
  }
  if (!shapes.given()) return read_matrix_market_layer(source, {}, {});
  return read_matrix_market_layer(source, shapes.inputs(k), shapes.outputs(k));
}

/// The number of bytes of text, estimated from the file sizes.
std::size_t text_bytes(const std::vector<Path>& paths) {
  std::size_t bytes = 0;
  for (const Path& path : paths) {
    std::error_code error;
    const auto size = file_size(path, error);
    if (!error) bytes += path.extension() == ".gz" ? kGzRatio * size : size;
  }
  return bytes;
}

/// Many or small files are read one per thread; few large files one after another, each by all threads. A .gz file is
/// decompressed by one thread in any case.
bool parallel_over_files(const std::vector<Path>& paths) {
  constexpr std::uintmax_t kSmall = std::uintmax_t{4} << 20;
  if (paths.size() >= 4 * static_cast<std::size_t>(host_threads())) return true;
  return std::all_of(paths.begin(), paths.end(), [](const Path& path) {
    std::error_code error;
    const auto size = file_size(path, error);
    return error || size < kSmall || path.extension() == ".gz";
  });
}

void check_chain(const std::vector<Path>& paths, const Network& network) {
  for (std::size_t k = 1; k < paths.size(); ++k)
    if (network.layers[k].inputs() != network.layers[k - 1].outputs())
      throw DataError(fmt::format("{}: the layer has {} inputs, expected {}: the outputs of the layer before",
                                  paths[k].string(), network.layers[k].inputs(), network.layers[k - 1].outputs()));
}

/// Layer files are named after the network's number of inputs, which is the number of rows of the first matrix.
void check_first_matrix(const Path& path, const Network& network) {
  const auto name = parse_layer_name(path.filename().string());
  if (form_of(path) != Form::matrix_market || !name || name->layer != 1) return;
  const Layer& first = network.layers.front();
  if (first.inputs() != name->neurons)
    throw DataError(fmt::format("{}: the matrix is {} x {}, expected {} rows as the name says, or the numbers given",
                                path.string(), first.inputs(), first.outputs(), name->neurons));
}

/// Either all layers that are read have biases or none has: a gap means that a file was lost.
void check_biases(const Path& path, const LayerFiles& files, std::size_t count, ReadPart extent) {
  if (const auto& bad = files.unreadable_biases;
      !bad.empty() && (extent == ReadPart::all_layers || bad.begin()->first <= count))
    throw DataError(bad.begin()->second.string() + ": biases in an unsupported format, expected .tsv or .tsv.gz");
  const auto first_after = files.biases.upper_bound(static_cast<Index>(count));
  if (extent == ReadPart::all_layers && first_after != files.biases.end())
    throw DataError(
        fmt::format("{}: biases without a layer, expected those of layers 1..{}", first_after->second.string(), count));
  const auto found = static_cast<std::size_t>(std::distance(files.biases.begin(), first_after));
  if (found == 0 || found == count) return;
  Index missing = 1;
  while (files.biases.contains(missing)) ++missing;
  const Path name = layer_name({files.neurons, missing, true}, ".tsv");
  throw DataError(fmt::format("{}: no such file, expected biases of layers 1..{}, as there are those of layer {}",
                              (path / name).string(), count, files.biases.begin()->first));
}

/// The properties known before the layers are read.
struct FoundLayers {
  LayerFiles files;
  Shapes shapes;
  std::vector<Path> paths;  ///< of the weights
  ReadPart extent = ReadPart::all_layers;
  bool allow_missing_newline = false;

  bool has_bias() const { return !files.biases.empty() && files.biases.begin()->first <= paths.size(); }
};

FoundLayers find_layers(const Path& path, const NetworkRequest& request) {
  const auto square = request.neurons.size() == 1 ? std::optional(request.neurons[0]) : std::nullopt;
  FoundLayers found;
  found.files = find_layer_files(path, square);
  found.shapes = {request.neurons, found.files.neurons};
  found.paths = without_gap(path, found.files, count_layers(path, request, found.files));
  found.extent = !is_directory(path) ? ReadPart::one_file
                 : request.layers    ? ReadPart::first_layers
                                     : ReadPart::all_layers;
  check_biases(path, found.files, found.paths.size(), found.extent);
  found.allow_missing_newline = request.allow_missing_newline;
  return found;
}

Layer read_layer(const FoundLayers& found, std::size_t k, FileNotes* notes) {
  Layer layer;
  const auto end = [&](TextSource& source, const char* when_empty) {
    if (!found.allow_missing_newline) source.require_whole_lines();
    add_notes(source, when_empty, notes);
  };
  const Path& path = found.paths[k];
  with_memory_for(path.native(), "cannot read", [&] {
    TextSource source(path);
    layer.weights = read_weights(source, form_of(path), found.shapes, k);
    end(source, "a layer without edges");
  });
  if (const auto bias = found.files.biases.find(static_cast<Index>(k + 1)); bias != found.files.biases.end()) {
    TextSource source(bias->second);
    layer.bias = read_tsv_bias(source, layer.outputs());
    end(source, "no biases");
  }
  return layer;
}

/// Makes one attempt at reading. `manifest` was read before it.
NetworkFile read_once(const Path& path, const NetworkRequest& request, const std::optional<NetworkManifest>& manifest) {
  const FoundLayers found = find_layers(path, request);
  const LayerFiles& files = found.files;
  const Shapes& shapes = found.shapes;
  const std::vector<Path>& paths = found.paths;

  NetworkFile result;
  Network& network = result.network;
  network.layers.resize(paths.size());
  std::mutex mutex;
  Progress progress(request.progress, "read layers", paths.size());
  std::size_t done = 0;
  std::vector<FileNotes> notes(paths.size());
  Offset neurons = 0;
  const std::size_t bytes = text_bytes(paths);
  const auto count_neurons = [&](Index more) {
    const std::lock_guard lock(mutex);
    neurons += more;
    if (!shapes.given()) check_claimed_size(path.string(), neurons, "neurons and more", bytes);
  };
  const auto read = [&](std::size_t k) {
    count_neurons(0);  // reads no further layer once there are too many
    Layer& layer = network.layers[k];
    layer = read_layer(found, k, &notes[k]);
    count_neurons(layer.outputs());
    const std::lock_guard lock(mutex);
    progress.update(++done);
  };
  if (parallel_over_files(paths))
    parallel_for(paths.size(), read);
  else
    for (std::size_t k = 0; k < paths.size(); ++k) read(k);
  if (!shapes.given()) check_first_matrix(paths.front(), network);
  check_chain(paths, network);
  for (const FileNotes& one : notes) result.notes.insert(result.notes.end(), one.begin(), one.end());
  result.has_bias = found.has_bias();
  if (manifest) check_manifest(*manifest, files, network, found.extent);
  return result;
}

/// The shapes, with the number of edges estimated from a typical line length.
std::vector<LayerShape> shapes_of(const FoundLayers& found) {
  constexpr std::size_t kLineBytes = 16;
  std::vector<LayerShape> shapes;
  for (std::size_t k = 0; k < found.paths.size(); ++k)
    shapes.push_back({.inputs = found.shapes.inputs(k),
                      .outputs = found.shapes.outputs(k),
                      .edges = text_bytes({found.paths[k]}) / kLineBytes,
                      .weight = std::nullopt,
                      .bias = std::nullopt,
                      .degree = std::nullopt});
  return shapes;
}

/// Whether a layer file has no text. Only small .gz files are decompressed for it.
bool has_no_text(const Path& file) {
  constexpr std::uintmax_t kSmall = 4096;
  std::error_code gone;
  const std::uintmax_t size = file_size(file, gone);
  if (gone || size == 0) return !gone;
  if (file.extension() != ".gz" || size > kSmall) return false;
  return TextSource(file).next(1).empty();
}

class TextLayers final : public LayerStream {
 public:
  TextLayers(Path directory, NetworkState state, FoundLayers found, bool compressed)
      : LayerStream(shapes_of(found)),
        directory_(std::move(directory)),
        state_(std::move(state)),
        found_(std::move(found)),
        compressed_(compressed) {
    if (state_.manifest()) check_manifest_end(*state_.manifest(), found_.files, found_.paths.size(), found_.extent);
  }

  Layer read(Index k) const override {
    Layer layer = read_layer(found_, k, nullptr);
    if (state_.manifest())
      check_manifest(*state_.manifest(), found_.files, layer, k, found_.extent);
    else if (state_ != NetworkState(directory_))
      throw DataError(directory_.string() +
                      ": was replaced during reading; read it again once its writer has finished");
    return layer;
  }
  /// Compressed files in parallel, as each is read by one thread.
  std::vector<Layer> read_some(Index first, Index count) const override {
    if (!compressed_) return LayerStream::read_some(first, count);
    std::vector<Layer> layers(count);
    parallel_for(count, [&](std::size_t i) { layers[i] = read(first + static_cast<Index>(i)); });
    return layers;
  }

 private:
  Path directory_;
  NetworkState state_;  ///< before the first layer is read
  FoundLayers found_;
  bool compressed_;
};

}  // namespace

std::optional<LayerFilesStream> open_layer_files(const Path& path, const NetworkRequest& request) {
  if (!is_directory(path)) return std::nullopt;
  NetworkState state(path);
  FoundLayers found = find_layers(path, request);
  LayerFilesStream stream;
  for (const Path& file : found.paths) {
    if (form_of(file) == Form::matrix_market) return std::nullopt;
    stream.compressed = stream.compressed || file.extension() == ".gz";
    if (has_no_text(file)) stream.notes.push_back(file.string() + ": the file is empty: a layer without edges");
  }
  if (request.allow_missing_newline)
    stream.notes.push_back(path.string() + ": layers are read one at a time; a missing final newline is not reported");
  stream.has_bias = found.has_bias();
  stream.layers = std::make_shared<const TextLayers>(path, std::move(state), std::move(found), stream.compressed);
  return stream;
}

/// A network that is replaced while it is read is read again, so that the result never mixes both; during the last
/// attempt, writers wait.
NetworkFile read_layer_files(const Path& path, const NetworkRequest& request) {
  constexpr int kAttempts = 5;
  const Path directory = is_directory(path) ? path : path.has_parent_path() ? path.parent_path() : Path(".");
  for (int attempt = 1;; ++attempt) {
    const Descriptor locked = attempt == kAttempts ? lock_directory(directory, DirectoryLock::shared) : Descriptor();
    const NetworkState before(directory);
    try {
      NetworkFile file = read_once(path, request, before.manifest());
      // Layers that agree with a manifest belong to its network, even if it was replaced since.
      if (before.manifest() || before == NetworkState(directory)) return file;
    } catch (const DataError&) {
      if (before == NetworkState(directory)) throw;
    }
    if (attempt == kAttempts)
      throw DataError(path.string() +
                      ": was replaced repeatedly during reading; read it again once its writers have finished");
  }
}

}  // namespace spdnn
