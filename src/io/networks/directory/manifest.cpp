#include "io/networks/directory/manifest.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <system_error>
#include <tuple>

#include "core/system/descriptor.hpp"
#include "core/threads/parallel.hpp"
#include "io/files/directory_lock.hpp"
#include "io/files/input_file.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::string_view kComplete = "spdnn-network-1 complete";
constexpr std::string_view kIncomplete = "spdnn-network-1 incomplete";
constexpr std::size_t kDigits = 16;                         // length of a digest
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // a million layers

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

[[noreturn]] void fail_at(const Path& file, const std::string& what) {
  throw DataError(fmt::format("{}: {}; write the network again, or delete {} if this is meant", file.string(), what,
                              kManifestName));
}

/// The layers that a manifest lists, whatever format their files have now.
class NamedLayers {
 public:
  NamedLayers(const NetworkManifest& manifest, ReadPart extent) : extent_(extent) {
    for (const auto& [name, digest] : manifest.files) named_.emplace(key(*parse_layer_name(name)), Named{name, digest});
  }

  /// Layer k, with its biases.
  void check(const LayerFiles& files, const Layer& layer, Index k) const {
    const Path& file = files.weights.at(k + 1);
    check(file, weights_digest(layer.weights));
    if (const auto bias = files.biases.find(k + 1); bias != files.biases.end())
      check(bias->second, bias_digest(layer.bias, layer.outputs()));
    else if (const auto name = parse_layer_name(file.filename().string()))
      check_absence(file.parent_path(), {name->neurons, name->layer, true});
  }

  void check_end(const LayerFiles& files, std::size_t layers) const {
    if (extent_ == ReadPart::all_layers)
      check_absence(files.weights.begin()->second.parent_path(),
                    {files.neurons, static_cast<Index>(layers + 1), false});
  }

 private:
  void check(const Path& file, std::uint64_t digest) const {
    const auto name = parse_layer_name(file.filename().string());
    const auto found = name ? named_.find(key(*name)) : named_.end();
    if (found != named_.end() && found->second.digest != digest)
      fail_at(file,
              fmt::format(
                  "differs from its entry in {}: it belongs to another network, or was changed after it was written",
                  kManifestName));
    if (found == named_.end() && extent_ != ReadPart::one_file)
      fail_at(file, fmt::format("is not part of the network listed in {}", kManifestName));
  }

  /// Checks that a layer missing from the directory is missing from the manifest too.
  void check_absence(const Path& directory, const LayerName& layer) const {
    if (const auto found = named_.find(key(layer)); found != named_.end())
      fail_at(directory / found->second.name, fmt::format("no such file, but {} lists it", kManifestName));
  }

 private:
  using Key = std::tuple<Index, Index, bool>;
  struct Named {
    std::string name;
    std::uint64_t digest;
  };
  static Key key(const LayerName& name) { return {name.neurons, name.layer, name.bias}; }

  std::map<Key, Named> named_;
  ReadPart extent_;
};

bool is_complete(const std::optional<NetworkManifest>& manifest) { return !manifest || manifest->complete; }

}  // namespace

std::string NetworkManifest::text() const {
  std::string text = fmt::format("{}\n", complete ? kComplete : kIncomplete);
  for (const auto& [name, digest] : files) text += fmt::format("{:016x}  {}\n", digest, name);
  return text;
}

NetworkManifest parse_manifest(const Path& path, std::string_view text) {
  NetworkManifest manifest;
  const std::string_view head = take_line(text);
  manifest.complete = head == kComplete;
  if (!manifest.complete && head != kIncomplete)
    throw DataError(fmt::format("{}:1:1: expected '{}' or '{}'", path.string(), kComplete, kIncomplete));
  for (std::size_t number = 2; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    std::uint64_t digest = 0;
    const std::string_view digits = line.substr(0, kDigits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
    const bool good = error == std::errc{} && end == digits.data() + kDigits && line.substr(kDigits, 2) == "  ";
    // Only names of layer files are accepted, because a writer removes or replaces the files listed here.
    const std::string name(good ? line.substr(kDigits + 2) : "");
    if (!parse_layer_name(name))
      throw DataError(fmt::format("{}:{}:1: expected a digest of {} digits, two spaces and the name of a layer file",
                                  path.string(), number, kDigits));
    manifest.files[name] = digest;
  }
  return manifest;
}

std::optional<NetworkManifest> read_manifest(const Path& directory) {
  const Path path = directory / kManifestName;
  std::error_code none;
  if (!exists(path, none)) return {};
  const InputFile file(path);
  if (file.size() > kMostBytes)
    throw DataError(fmt::format("{}: {} bytes, expected at most {}", path.string(), file.size(), kMostBytes));
  return parse_manifest(path, text_of(file));
}

void check_manifest(const NetworkManifest& manifest, const LayerFiles& files, const Network& network, ReadPart extent) {
  const NamedLayers named(manifest, extent);
  parallel_for(network.layers.size(),
               [&](std::size_t k) { named.check(files, network.layers[k], static_cast<Index>(k)); });
  named.check_end(files, network.layers.size());
}

void check_manifest(const NetworkManifest& manifest, const LayerFiles& files, const Layer& layer, Index k,
                    ReadPart extent) {
  NamedLayers(manifest, extent).check(files, layer, k);
}

void check_manifest_end(const NetworkManifest& manifest, const LayerFiles& files, std::size_t layers, ReadPart extent) {
  NamedLayers(manifest, extent).check_end(files, layers);
}

NetworkState::NetworkState(const Path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  const auto read = [&] {
    struct stat file {};
    if (::stat((directory / kManifestName).c_str(), &file) == 0)
      manifest_file_ = {static_cast<std::intmax_t>(file.st_ino), file.st_ctim.tv_sec, file.st_ctim.tv_nsec};
    manifest_ = read_manifest(directory);
  };
  read();
  if (is_complete(manifest_)) return;
  const Descriptor locked = lock_directory(directory, DirectoryLock::shared);
  read();
  if (!is_complete(manifest_))
    throw DataError(directory.string() +
                    ": its files were being replaced when the writer was stopped; write the network again");
}

}  // namespace spdnn
