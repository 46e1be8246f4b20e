#pragma once

#include <filesystem>

#include "io/files/atomic_file.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

// Writers of the challenge's TSV files, byte-identical to the official ones; compressed if the name ends in .gz. Each
// file appears whole or not at all.

/// Writes lines `input, output, weight`, sorted by output and, within it, in the order of the matrix (ascending in
/// official files).
void write_tsv_layer(const std::filesystem::path& path, const CsrMatrix& weights);
/// Writes lines `neuron, bias`, one for each output neuron.
void write_tsv_bias(const std::filesystem::path& path, const Bias& bias, Index outputs);
/// Writes lines `image, neuron, value`, sorted by neuron, then by image.
void write_tsv_images(const std::filesystem::path& path, const ImageSet& images);
/// The same lines for a matrix of images x neurons. The caller commits.
void write_tsv_matrix(AtomicFile& file, const CsrMatrix& images);
/// Writes lines `image`. The caller commits.
void write_tsv_categories(AtomicFile& file, const Categories& categories);

/// The format of the lines `column SEPARATOR row [SEPARATOR value]` in TSV and Matrix Market files.
struct LineFormat {
  char separator = '\t';
  bool with_value = true;
  std::string (*value_of)(float) = nullptr;  ///< formats a value
};
/// Fills `text` with `head` and then rows begin .. end-1 of the matrix in that format.
void format_rows(const CsrMatrix& matrix, Index begin, Index end, const LineFormat& format, const std::string& head,
                 std::string& text);

}  // namespace spdnn
