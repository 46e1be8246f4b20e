#pragma once

#include <optional>

#include "io/text/source.hpp"
#include "io/text/tsv_entries.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

// The challenge's TSV files. Ids are 1-based there and 0-based in what is returned. Lines may come in any order and end
// in LF or CRLF, the last one need not end; columns are separated by tabs or spaces; blank lines count for nothing.
// A file without a byte is a list without lines, where something else tells the size.
// Anything else that is not as expected is a DataError with the first bad line. Parsing from memory, as fuzzers do:
// TextSource(name, text).

/// Lines `input, output, weight`. A weight of 0 is an edge: it is part of the network as given and counts in its rate.
CsrMatrix read_tsv_layer(TextSource& source, Index inputs, Index outputs);
/// Lines `neuron, bias`, one for each output neuron.
Bias read_tsv_bias(TextSource& source, Index outputs);
/// Lines `image, neuron, value`. A value of 0 says what is so anyway: it is dropped. Without `images` the largest id
/// says how many there are; see claimed_size.hpp for how far it is believed.
ImageSet read_tsv_images(TextSource& source, Index neurons, std::optional<Index> images);
/// Lines `image`.
Categories read_tsv_categories(TextSource& source);

/// A list of matrix entries inside a file: what TSV and Matrix Market files share.
struct EntryList {
  EntryColumns columns;
  std::size_t lines_before = 0;     ///< the header's
  std::optional<Offset> entries{};  ///< what the header promises; DataError where the list is longer or shorter
};
/// Entries (input, output).
CsrMatrix read_layer_entries(TextSource& source, const EntryList& list);
/// Entries (image, neuron).
ImageSet read_image_entries(TextSource& source, const EntryList& list, std::optional<Index> images);

}  // namespace spdnn
