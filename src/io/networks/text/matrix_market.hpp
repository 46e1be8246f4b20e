#pragma once

#include <filesystem>
#include <optional>

#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

// Matrix Market coordinate files: `%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric`, comments,
// a line `rows columns entries`, then the entries `row column [value]` with ids from 1. Entries of pattern files are 1.
// A symmetric file holds only one of the entries (i, j) and (j, i), usually the one below the diagonal; both are read.
// These readers are as strict as those of TSV, and as tolerant of order, separators and line ends. Use TextSource(name,
// text) to parse from memory.

/// Reads a layer: the challenge's W, inputs x outputs. Given sizes must match the header.
CsrMatrix read_matrix_market_layer(TextSource& source, std::optional<Index> inputs, std::optional<Index> outputs);
/// Reads the header of images, a matrix of images x neurons, and leaves the source at its first entry.
EntryList list_of_images(TextSource& source, std::optional<Index> neurons, std::optional<Index> images);
/// Reads images.
ImageSet read_matrix_market_images(TextSource& source, std::optional<Index> neurons, std::optional<Index> images);

/// The writers use `pattern` if every value is 1, otherwise `real` with enough digits to recover the same fp32 number;
/// layers column by column, as SciPy and the SuiteSparse collection do, and images row by row.
void write_matrix_market_layer(const std::filesystem::path& path, const CsrMatrix& weights);
void write_matrix_market_images(const std::filesystem::path& path, const ImageSet& images);

}  // namespace spdnn
