#include <fmt/format.h>

#include <cerrno>
#include <functional>
#include <stdexcept>

#include "core/system/out_of_memory.hpp"
#include "core/system/system_failure.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/claimed_size.hpp"
#include "io/files/path_kind.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/notes.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "io/packed/read_write.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

constexpr const char* kReading = "cannot read";
constexpr const char* kWriting = "cannot write";

ImageSet read_text_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images,
                          FileNotes* notes) {
  const auto named = neurons_in_name(path);
  if (neurons && named && *neurons != *named)
    throw DataError(fmt::format("{}: the images are for {} neurons, expected {}", path.string(), *named, *neurons));
  if (!neurons && !named)
    throw DataError(
        path.string() +
        ": the name lacks the number of neurons, expected sparse-images-<neurons>.tsv, or an explicit number");
  TextSource source(path);
  if (!neurons) check_claimed_size(source.name(), *named, "neurons", source.expected_bytes());
  ImageSet set = read_tsv_images(source, neurons ? *neurons : *named, images);
  add_notes(source, "images of zeros", notes);
  return set;
}

/// Refuses to write data that readers would refuse.
void check_writable(const Path& path, const std::function<void()>& validate) {
  try {
    validate();
  } catch (const std::invalid_argument& error) {
    throw DataError(path.string() + ": cannot write: " + error.what());
  }
}

}  // namespace

namespace {

/// A hint on the right option for a file that is not a network.
std::string other_use(const Path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".onnx" || ending == ".tflite" || ending == ".safetensors") return "; a model is given as --model";
  if (ending == ".npy" || ending == ".npz") return "; arrays are inputs of models, given with --model";
  if (path.filename().string().find("idx") != std::string::npos) return "; --mnist makes inputs from MNIST's images";
  return {};
}

}  // namespace

Form form_of(const Path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".tsv")) return Form::tsv;
  if (name.ends_with(".tsv.gz")) return Form::tsv_gz;
  if (name.ends_with(".mtx") || name.ends_with(".mtx.gz")) return Form::matrix_market;
  if (name.ends_with(".spdnn")) return Form::packed;
  throw DataError(path.string() + ": unknown format, expected a name that ends in .tsv, .tsv.gz, .mtx or .spdnn" +
                  other_use(path));
}

NetworkFile read_network(const Path& path, const NetworkRequest& request) {
  return with_memory_for(path.native(), kReading, [&] {
    const PathKind kind = path_kind(path);
    if (kind == PathKind::missing) throw_system_failure(path, kReading, ENOENT);
    if (kind == PathKind::directory || form_of(path) != Form::packed) return read_layer_files(path, request);
    NetworkFile file = read_packed_network(path, request);
    std::vector<LayerShape> shapes;
    for (const Layer& layer : file.network.layers) shapes.push_back(shape_of(layer));
    refuse_empty(path.string(), shapes);
    return file;
  });
}

ImageSet read_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images, FileNotes* notes) {
  return with_memory_for(path.native(), kReading, [&] {
    switch (form_of(path)) {
      case Form::packed:
        return read_packed_images(path, neurons, images);
      case Form::matrix_market: {
        TextSource source(path);
        ImageSet set = read_matrix_market_images(source, neurons, images);
        add_notes(source, "images of zeros", notes);
        return set;
      }
      default:
        return read_text_images(path, neurons, images, notes);
    }
  });
}

Categories read_categories(const Path& path, FileNotes* notes) {
  return with_memory_for(path.native(), kReading, [&] {
    TextSource source(path);
    Categories categories = read_tsv_categories(source);
    add_notes(source, "no image is a category", notes);
    return categories;
  });
}

void write_network(const Path& path, Form form, const Network& network, const ProgressCallback& progress) {
  with_memory_for(path.native(), kWriting, [&] {
    if (form == Form::packed)
      write_packed_network(path, network, progress);
    else {
      check_writable(path, [&] { network.validate(); });
      write_layer_files(path, form, network, progress);
    }
  });
}

void write_images(const Path& path, const ImageSet& images) {
  if (!images.is_bits()) check_writable(path, [&] { images.sparse().validate(); });
  with_memory_for(path.native(), kWriting, [&] {
    switch (form_of(path)) {
      case Form::packed:
        return write_packed_images(path, images);
      case Form::matrix_market:
        return write_matrix_market_images(path, images);
      default:
        return write_tsv_images(path, images);
    }
  });
}

void write_categories(const Path& path, const Categories& categories) {
  AtomicFile file(path);
  write_tsv_categories(file, categories);
  file.commit();
}

void write_text(const Path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace spdnn
