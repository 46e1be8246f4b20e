#pragma once

#include <filesystem>
#include <optional>

#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_entries.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

// Readers of the challenge's TSV files. Ids are 1-based in files and 0-based in results. Lines may come in any order
// and end in LF or CRLF, which may be missing from the last one; columns are separated by tabs or spaces; blank lines
// are ignored. An empty file is a list without lines if the size is known from elsewhere. Anything else is a DataError
// that names the first bad line. Use TextSource(name, text) to parse from memory, as fuzzers do.

/// Reads lines `input, output, weight`. A weight of 0 is an edge: it belongs to the given network and counts in its
/// rate.
CsrMatrix read_tsv_layer(TextSource& source, Index inputs, Index outputs);
/// Reads lines `neuron, bias`, one for each output neuron.
Bias read_tsv_bias(TextSource& source, Index outputs);
/// Reads lines `image, neuron, value`. Values of 0 are dropped. Without `images`, the largest id gives their number,
/// within the limit of claimed_size.hpp.
ImageSet read_tsv_images(TextSource& source, Index neurons, std::optional<Index> images);
/// The N of a name such as `sparse-images-N.tsv`, with any ending.
std::optional<Index> neurons_in_name(const std::filesystem::path& path);
/// Lines `image`.
Categories read_tsv_categories(TextSource& source);

/// A list of matrix entries inside a file, common to TSV and Matrix Market.
struct EntryList {
  EntryColumns columns;
  std::size_t lines_before = 0;     ///< lines of the header
  std::optional<Offset> entries{};  ///< from the header; DataError if the list is longer or shorter
};
/// Reads entries (input, output).
CsrMatrix read_layer_entries(TextSource& source, const EntryList& list);
/// Reads entries (image, neuron).
ImageSet read_image_entries(TextSource& source, const EntryList& list, std::optional<Index> images);

}  // namespace spdnn
