#pragma once

#include <filesystem>
#include <optional>

#include "io/text/source.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

// Matrix Market coordinate files: `%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric`, comments,
// a line `rows columns entries`, then the entries `row column [value]`, ids from 1 on. Entries of pattern files are 1.
// A symmetric file holds one of the entries (i, j) and (j, i), as a rule that below the diagonal; both are read. As
// strict as the TSV readers and as open to order, separators and line ends. Parsing from memory: TextSource(name,
// text).

/// A layer: the challenge's W, inputs x outputs. The sizes, where given, must be those of the header.
CsrMatrix read_matrix_market_layer(TextSource& source, std::optional<Index> inputs, std::optional<Index> outputs);
/// Images x neurons.
ImageSet read_matrix_market_images(TextSource& source, std::optional<Index> neurons, std::optional<Index> images);

/// Writers: `pattern` where every value is 1, else `real` with digits that give the same fp32 back. Column by column
/// for layers (as SciPy and the SuiteSparse collection have it), row by row for images.
void write_matrix_market_layer(const std::filesystem::path& path, const CsrMatrix& weights);
void write_matrix_market_images(const std::filesystem::path& path, const ImageSet& images);

}  // namespace spdnn
