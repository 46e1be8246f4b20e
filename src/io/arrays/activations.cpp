#include "io/arrays/activations.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/arrays/npy_header.hpp"
#include "io/arrays/npz.hpp"
#include "io/networks/text/tsv_writer.hpp"

namespace spdnn {

namespace {

/// Writes a few megabytes at a time, so that the dense form is never in memory as a whole.
void write_dense_rows(AtomicFile& file, const CsrMatrix& matrix) {
  constexpr std::size_t kNumbers = std::size_t{1} << 20U;
  file.write(npy_header("<f4", {Extent{matrix.rows}, Extent{matrix.cols}}));
  const auto at_once = static_cast<Index>(std::max<std::size_t>(1, kNumbers / std::max<Index>(1, matrix.cols)));
  for (Index first = 0; first < matrix.rows; first += std::min(at_once, matrix.rows - first)) {
    const std::vector<float> rows = dense_rows(matrix, first, first + std::min(at_once, matrix.rows - first));
    file.write(std::as_bytes(std::span(rows)));
  }
}

template <class T>
NpzMember member(const char* name, const char* type, std::span<const T> numbers) {
  return {name, npy_header(type, {static_cast<Extent>(numbers.size())}), std::as_bytes(numbers)};
}

/// Names and types follow scipy.sparse.save_npz.
void write_sparse(AtomicFile& file, const CsrMatrix& matrix) {
  const std::vector<float> same(matrix.uniform() ? matrix.entries() : 0, matrix.value);
  const std::vector<std::int64_t> shape{matrix.rows, matrix.cols};
  const std::string format = "csr";
  const std::span<const float> values = matrix.uniform() ? std::span(same) : matrix.values.span();
  file.write(npz_archive({member("indices", "<i4", matrix.indices.span()),
                          member("indptr", "<i8", matrix.offsets.span()),
                          {"format", npy_header("|S3", {}), std::as_bytes(std::span(format))},
                          member("shape", "<i8", std::span<const std::int64_t>(shape)),
                          member("data", "<f4", values)}));
}

}  // namespace

void write_activations(AtomicFile& file, const CsrMatrix& activations, OutputForm form) {
  if (form == OutputForm::npy)
    write_dense_rows(file, activations);
  else if (form == OutputForm::npz)
    write_sparse(file, activations);
  else if (form == OutputForm::tsv)
    write_tsv_matrix(file, activations);
  else
    throw std::logic_error("activations are written as npy, npz or tsv");
}

}  // namespace spdnn
