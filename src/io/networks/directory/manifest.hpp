#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/networks/directory/layer_names.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

/// The manifest: a file that spdnn puts beside the layers of a network in text form, so that layers of different
/// networks are never mixed. Its first line is `spdnn-network-1 complete`; each further line has a digest and the name
/// of a layer or bias file. While files are being replaced one by one, the first line is `spdnn-network-1 incomplete`,
/// and the names are those of both the old and the new network. Directories written by other programs have no manifest.
inline constexpr const char* kManifestName = "spdnn-network.txt";

struct NetworkManifest {
  bool complete = true;
  std::map<std::string, std::uint64_t> files;  ///< the digest of each file's contents, by file name

  std::string text() const;
  bool operator==(const NetworkManifest& other) const = default;
};

/// Parses a manifest. A DataError names `path` and the first invalid line.
NetworkManifest parse_manifest(const Path& path, std::string_view text);
/// The manifest of a directory; empty if it has none.
std::optional<NetworkManifest> read_manifest(const Path& directory);

/// The part of a directory that was read. A single file need not be in the manifest.
enum class ReadPart { all_layers, first_layers, one_file };
/// Compares the layers that were read with the manifest. The DataError names the first file that differs from its
/// entry, is missing, or has no entry.
void check_manifest(const NetworkManifest& manifest, const LayerFiles& files, const Network& network, ReadPart extent);
/// The same for one layer, number k from 0.
void check_manifest(const NetworkManifest& manifest, const LayerFiles& files, const Layer& layer, Index k,
                    ReadPart extent);
/// The remaining check after all layers: the last one of `layers` is the network's last.
void check_manifest_end(const NetworkManifest& manifest, const LayerFiles& files, std::size_t layers, ReadPart extent);

/// Detects whether a directory, or the network in it, was replaced: it compares the identity of the directory, its
/// manifest, and the identity of the manifest file, so that even an equal network in its place is detected.
/// Waits for a writer that is replacing files; DataError if such a writer was stopped before it finished.
class NetworkState {
 public:
  explicit NetworkState(const Path& directory);
  const std::optional<NetworkManifest>& manifest() const { return manifest_; }
  bool operator==(const NetworkState& other) const = default;

 private:
  std::uintmax_t device_ = 0;
  std::uintmax_t inode_ = 0;
  std::array<std::intmax_t, 3> manifest_file_{};  ///< inode, seconds and nanoseconds of its last change
  std::optional<NetworkManifest> manifest_;
};

}  // namespace spdnn
