#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "io/files.hpp"

namespace spdnn {

/// What the name of a layer file says: `nN-lK.tsv`, `.tsv.gz`, `.mtx` or `.mtx.gz`; with `-bias` before a TSV ending,
/// the layer's biases.
struct LayerName {
  Index neurons = 0;
  Index layer = 0;  ///< from 1 on, as in the name; 0 where the name says so
  bool bias = false;
};
/// Empty for any other name.
std::optional<LayerName> parse_layer_name(const std::string& name);
/// `ending` as in ".tsv.gz".
std::string layer_name(const LayerName& name, const std::string& ending);

/// The layers found, by number from 1 on.
struct LayerFiles {
  std::map<Index, Path> weights;
  std::map<Index, Path> biases;
  std::map<Index, Path> unreadable_biases;  ///< named as biases are, but in a form that is not read
  Index neurons = 0;                        ///< what the names say
};
/// The layer files of a directory, or the one file named with its biases beside it; those for `neurons` where given.
/// DataError where there are none, where they are for several numbers of neurons, or where a layer is there twice.
LayerFiles find_layer_files(const Path& path, std::optional<Index> neurons);

/// The text forms of read_network() and write_network().
NetworkFile read_layer_files(const Path& path, const NetworkRequest& request);
/// Do biases go into files (-bias.tsv)? Only where they differ: a single number for all layers is, like rule and cap, a
/// parameter of the challenge, which is given to `infer`.
bool needs_bias_files(const Network& network);
/// A directory that is new or empty appears at once and complete; into any other the files are put one by one, each
/// whole or not at all. DataError where it holds layer files that are no part of the network: read back, the directory
/// would be another network. Biases are written where needs_bias_files() says so.
void write_layer_files(const Path& directory, Form form, const Network& network, ProgressMode progress);

}  // namespace spdnn
