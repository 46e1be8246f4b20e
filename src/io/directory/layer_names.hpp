#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/files.hpp"
#include "spdnn/layer_stream.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// What the name of a layer file says. Names are `nN-lK.tsv`, `.tsv.gz`, `.mtx` or `.mtx.gz`; `-bias` before a TSV
/// ending marks the file of the layer's biases.
struct LayerName {
  Index neurons = 0;
  Index layer = 0;  ///< 1-based, as in the name; 0 only where the name says 0
  bool bias = false;
};
/// Parses such a name; empty for any other.
std::optional<LayerName> parse_layer_name(const std::string& name);
/// The same whatever the case of its letters, as other systems may have changed it: `N64-L1.TSV`.
std::optional<LayerName> parse_layer_name_in_any_case(const std::string& name);
/// Makes such a name. `ending` is, for instance, ".tsv.gz".
std::string layer_name(const LayerName& name, const std::string& ending);

/// The layers found, by 1-based number.
struct LayerFiles {
  std::map<Index, Path> weights;
  std::map<Index, Path> biases;
  std::map<Index, Path> unreadable_biases;  ///< bias files by their name, in a form that is not read
  Index neurons = 0;                        ///< as the names have it
};
/// Finds the layer files of a directory, or the one layer file that `path` names with its biases beside it; only those
/// for `neurons` where that is given. DataError where there are none, where they are for several numbers of neurons, or
/// where a layer is there twice, or under a name that is not in lower case.
LayerFiles find_layer_files(const Path& path, std::optional<Index> neurons);

/// read_network() and write_network() for the text forms.
NetworkFile read_layer_files(const Path& path, const NetworkRequest& request);
/// A directory of TSV layers, left there to be read one at a time.
struct LayerFilesStream {
  /// Their edges are not known before they are read: shapes have as many as the sizes of the files suggest. A DataError
  /// says where the network is replaced meanwhile.
  std::shared_ptr<const LayerStream> layers;
  bool has_bias = false;  ///< there are bias files
  FileNotes notes{};
};
/// Nothing where the path is no directory, or has layers in another form. DataError as read_layer_files().
std::optional<LayerFilesStream> open_layer_files(const Path& path, const NetworkRequest& request);
/// Whether biases are written to files (-bias.tsv). They are only where they differ: a single number for all layers is,
/// like rule and cap, a parameter of the challenge, which is given to `infer`.
bool needs_bias_files(const Network& network);
/// Writes the network into a directory, which directory/replacement.hpp puts in place. DataError where the directory
/// holds layer files that are no part of the network, as it would be read back as another network. Biases are written
/// where needs_bias_files() says so.
void write_layer_files(const Path& directory, Form form, const Network& network, const ProgressCallback& progress);

}  // namespace spdnn
