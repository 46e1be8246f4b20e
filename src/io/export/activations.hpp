#pragma once

#include "io/atomic_file.hpp"
#include "io/output_form.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Writes a matrix of images x neurons; the caller commits. npy: a dense array of float32, in which zeros are written
/// out. npz: a CSR matrix, as scipy.sparse.load_npz reads it. tsv: lines `image, neuron, value`, from 1, as the
/// challenge's inputs have them, so that another network can take them as its own.
void write_activations(AtomicFile& file, const CsrMatrix& activations, OutputForm form);

}  // namespace spdnn
