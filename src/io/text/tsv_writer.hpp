#pragma once

#include <filesystem>

#include "io/atomic_file.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

// Writers of the challenge's TSV files, byte for byte as the official ones; compressed where the name ends in .gz.
// Each file comes into being whole or not at all.

/// Lines `input, output, weight`, sorted by output, within it in the order of the matrix (official: ascending).
void write_tsv_layer(const std::filesystem::path& path, const CsrMatrix& weights);
/// Lines `neuron, bias` for each output neuron.
void write_tsv_bias(const std::filesystem::path& path, const Bias& bias, Index outputs);
/// Lines `image, neuron, value`, sorted by neuron, then image.
void write_tsv_images(const std::filesystem::path& path, const ImageSet& images);
/// Lines `image`. The caller commits.
void write_tsv_categories(AtomicFile& file, const Categories& categories);

/// Rows begin .. end-1 of a matrix as lines `column SEPARATOR row [SEPARATOR value]`, behind `head`: what TSV and
/// Matrix Market files share. `value_of` gives the text of a value.
struct LineFormat {
  char separator = '\t';
  bool with_value = true;
  std::string (*value_of)(float) = nullptr;
};
void format_rows(const CsrMatrix& matrix, Index begin, Index end, const LineFormat& format, const std::string& head,
                 std::string& text);

}  // namespace spdnn
