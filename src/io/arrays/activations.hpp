#pragma once

#include "io/files/atomic_file.hpp"
#include "io/files/output_form.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Writes a matrix of images x neurons; the caller commits. npy: a dense float32 array. npz: a CSR matrix for
/// scipy.sparse.load_npz. tsv: lines `image, neuron, value`, counted from 1, as in the challenge's inputs, so that
/// another network can read them.
void write_activations(AtomicFile& file, const CsrMatrix& activations, OutputForm form);

}  // namespace spdnn
