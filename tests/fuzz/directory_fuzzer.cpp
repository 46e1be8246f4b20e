// Directories of files, as text. A line `>NAME` begins a file (`>NAME/` makes a directory), and the lines that follow
// are its contents, compressed where the name ends in .gz. Lines `<nLIST`, `<lCOUNT` and `<iCOUNT` are --neurons,
// --layers and --images. Everything that can be read is read; it is then written in every form and must read the same
// again.

#include <algorithm>
#include <filesystem>

#include "cli/options.hpp"
#include "fuzz/harness.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/files.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace spdnn;
using fuzz::attempt;
using fuzz::require;
namespace fs = std::filesystem;

constexpr Index kMost = 1000;  ///< neurons, layers or images that are asked for, and written again

/// A directory that is emptied after each input.
struct Scratch {
  void clean() const {
    for (const TemporaryDirectory* directory : {&input, &output})
      for (const auto& entry : fs::directory_iterator(directory->path())) fs::remove_all(entry);
  }
  TemporaryDirectory input;
  TemporaryDirectory output;
};

void write(const fs::path& path, std::string text) {
  if (path.extension() == ".gz") text = fuzz::gzip_members(text, 1 + text.size() % 3);
  fuzz::write_aged(path, text);  // or no file: the name is too long, or that of a directory
}

struct Input {
  NetworkRequest request;
  std::optional<Index> images;
  std::vector<fs::path> files;
};

void take_option(std::string_view line, Input& input) {
  const std::string value(line.substr(std::min<std::size_t>(2, line.size())));
  attempt([&] {
    std::vector<Index> counts = cli::parse_counts("neurons", value);
    if (*std::max_element(counts.begin(), counts.end()) > kMost) return;
    if (line.starts_with("<l")) input.request.layers = counts[0];
    if (line.starts_with("<i")) input.images = counts[0];
    if (line.starts_with("<n")) input.request.neurons = std::move(counts);
  });
}

Input make_files(std::string_view text, const fs::path& directory) {
  Input input;
  fs::path file;
  std::string content;
  const auto finish = [&] {
    if (!file.empty()) write(file, std::exchange(content, {}));
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with('<')) {
      take_option(line, input);
    } else if (line.starts_with('>')) {
      finish();
      std::string name(line.substr(1));
      const bool is_directory = name.ends_with('/');
      if (is_directory) name.pop_back();
      file.clear();
      if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\0", 2)) != name.npos)
        continue;
      std::error_code none;
      if (is_directory)
        fs::create_directory(directory / name, none);
      else
        input.files.push_back(file = directory / name);
    } else {
      content.append(line).append(1, '\n');
    }
  }
  finish();
  return input;
}

void require_written(const fs::path& directory, const Network& network) {
  for (const Layer& layer : network.layers)
    if (layer.inputs() > kMost || layer.outputs() > kMost) return;
  const fs::path packed = directory / "network.spdnn";
  write_network(packed, Form::packed, network);
  fuzz::age(packed);
  require(network_digest(read_network(packed, {}).network) == network_digest(network),
          "a packed network reads the same");
  const PackedContents contents = packed_contents(packed);
  require(contents.network && !contents.images && !contents.plan && contents.layers == network.layers.size() &&
              contents.edges == network.edges() && contents.network_digest == network_digest(network),
          "a header says what the file holds");
  NetworkRequest request{.neurons = {network.inputs()}};
  for (const Layer& layer : network.layers) request.neurons.push_back(layer.outputs());
  for (const Form form : {Form::tsv, Form::matrix_market}) {
    const fs::path layers = directory / "layers";
    write_network(layers, form, network);
    fuzz::age(layers);
    const Network again = read_network(layers, request).network;
    for (std::size_t k = 0; k < network.layers.size(); ++k)
      require(fuzz::digest_of(again.layers[k].weights) == fuzz::digest_of(network.layers[k].weights),
              "layers of text read the same");
    fs::remove_all(layers);
  }
}

void require_written(const fs::path& directory, const ImageSet& images) {
  if (images.images() > kMost || images.neurons() > kMost) return;
  const std::uint64_t digest = fuzz::digest_of(images.to_csr());
  for (const char* const name : {"images.spdnn", "images.tsv", "images.mtx"}) {
    write_images(directory / name, images);
    fuzz::age(directory / name);
    const ImageSet again = read_images(directory / name, images.neurons(), images.images());
    require(fuzz::digest_of(again.to_csr()) == digest, "images read the same");
    require(image_digest(again) == image_digest(images), "images are the same whatever their form");
  }
}

void read_all(const Input& input, const Scratch& scratch) {
  const auto network = [&](const fs::path& path) {
    attempt([&] {
      const Network read = read_network(path, input.request).network;
      read.validate();
      require_written(scratch.output.path(), read);
    });
  };
  network(scratch.input.path());
  for (const fs::path& file : input.files) {
    network(file);
    attempt([&] {
      const ImageSet images = read_images(file, {}, input.images);
      fuzz::require_sound(images);
      require_written(scratch.output.path(), images);
    });
    attempt([&] { read_categories(file); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  const fuzz::MemoryPeak peak(size);
  const Input input = make_files({reinterpret_cast<const char*>(data), size}, scratch.input.path());
  read_all(input, scratch);
  scratch.clean();
  return 0;
}
