#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/directory/layer_names.hpp"
#include "io/files.hpp"

namespace spdnn {

/// The file that spdnn puts beside the layers of a network in text form, so that layers of different networks are
/// never taken for one. Lines of text: `spdnn-network-1 complete`, then a digest and a name for each layer and bias
/// file. While files are being replaced one by one, the first line is `spdnn-network-1 incomplete` and the names are
/// those of the old and the new network. Directories from elsewhere have none.
inline constexpr const char* kManifestName = "spdnn-network.txt";

struct NetworkManifest {
  bool complete = true;
  std::map<std::string, std::uint64_t> files;  ///< digest of what a file holds, by its name

  std::string text() const;
  bool operator==(const NetworkManifest& other) const = default;
};

/// DataError, which names `path` and the line, where the text is no manifest.
NetworkManifest parse_manifest(const Path& path, std::string_view text);
/// The manifest of a directory, where it has one.
std::optional<NetworkManifest> read_manifest(const Path& directory);

/// What was read of a directory. A single file may also be one that the manifest does not know.
enum class Extent { all_layers, first_layers, one_file };
/// Compares what was read with the manifest. DataError names the first file that is not the one that the manifest
/// means, that is missing, or that is there without being named.
void check_manifest(const NetworkManifest& manifest, const LayerFiles& files, const Network& network, Extent extent);

/// What tells whether a directory, or the network in it, was replaced: which directory it is, and its manifest.
/// Waits for a writer that is replacing its files; DataError where such a writer was stopped before it was done.
class NetworkState {
 public:
  explicit NetworkState(const Path& directory);
  const std::optional<NetworkManifest>& manifest() const { return manifest_; }
  bool operator==(const NetworkState& other) const = default;

 private:
  std::uintmax_t device_ = 0;
  std::uintmax_t inode_ = 0;
  std::optional<NetworkManifest> manifest_;
};

}  // namespace spdnn
