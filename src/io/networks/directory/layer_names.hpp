#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/types/layer_stream.hpp"
#include "spdnn/files.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The parts of a layer file's name. Names are `nN-lK.tsv`, `.tsv.gz`, `.mtx` or `.mtx.gz`; `-bias` before a TSV ending
/// marks the file of the layer's biases.
struct LayerName {
  Index neurons = 0;
  Index layer = 0;  ///< 1-based, as in the name; 0 only if the name has 0
  bool bias = false;
};
/// Parses such a name; empty for any other.
std::optional<LayerName> parse_layer_name(const std::string& name);
/// The same regardless of case, as other systems may have changed it: `N64-L1.TSV`.
std::optional<LayerName> parse_layer_name_in_any_case(const std::string& name);
/// Builds such a name. `ending` is, for instance, ".tsv.gz".
std::string layer_name(const LayerName& name, const std::string& ending);

/// The layers found, by 1-based number.
struct LayerFiles {
  std::map<Index, Path> weights;
  std::map<Index, Path> biases;
  std::map<Index, Path> unreadable_biases;  ///< bias files in an unsupported format, by layer number
  Index neurons = 0;                        ///< as in the names
};
/// Finds the layer files of a directory, or the single layer file that `path` names with the biases beside it; only
/// those for `neurons` if that is given. DataError if there are none, if they are for several numbers of neurons, or if
/// a layer occurs twice or under a name that is not in lower case.
LayerFiles find_layer_files(const Path& path, std::optional<Index> neurons);

/// read_network() and write_network() for the text formats.
NetworkFile read_layer_files(const Path& path, const NetworkRequest& request);
/// A directory of TSV layers, which are read one at a time.
struct LayerFilesStream {
  /// The number of edges is unknown before reading; shapes have estimates from the file sizes. A DataError reports that
  /// the network was replaced meanwhile.
  std::shared_ptr<const LayerStream> layers;
  bool has_bias = false;    ///< there are bias files
  bool compressed = false;  ///< layers are, so that one thread reads each
  FileNotes notes{};
};
/// Empty if the path is no directory, or has layers in another format. DataError as read_layer_files().
std::optional<LayerFilesStream> open_layer_files(const Path& path, const NetworkRequest& request);
/// Whether biases are written to files (-bias.tsv). This is needed only if they differ: a single number for all layers
/// is a parameter of the challenge, like the rule and the cap, and is given to `infer`.
bool needs_bias_files(const Network& network);
/// Writes the network into a directory, which directory/replacement.hpp puts in place. DataError if the directory holds
/// layer files of another network, because they would be read back as part of this one. Biases are written if
/// needs_bias_files() is true.
void write_layer_files(const Path& directory, Form form, const Network& network, const ProgressCallback& progress);

}  // namespace spdnn
