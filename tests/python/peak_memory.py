"""Prints the bytes of a CSR matrix of the given number of megabytes, and how far making a network of it, and a view of that, raised
the peak of this process's memory. usage: peak_memory.py MEGABYTES"""

import resource
import sys

import numpy as np
import scipy.sparse

import spdnn

DEGREE = 50


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    rows = int(sys.argv[1]) * 1000000 // (8 * DEGREE)
    columns = rows
    small = scipy.sparse.csr_array(np.eye(2, dtype=np.float32))
    spdnn.infer(spdnn.Network([small], 0.0), spdnn.Images.from_dense(np.eye(2)), device="cpu")  # what is needed once
    indices = np.empty(rows * DEGREE, np.int32)
    for row in range(DEGREE):  # ascending within each row, and no temporary of the size of all
        indices[row::DEGREE] = row * (columns // DEGREE)
    data = np.empty(rows * DEGREE, np.float32)
    data[::2] = 0.5
    data[1::2] = 0.25
    indptr = np.arange(rows + 1, dtype=np.int32) * DEGREE
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=(rows, columns))
    before = peak()
    network = spdnn.Network([matrix], -0.1)
    view = network.to_scipy()[0]
    assert np.shares_memory(view.data, data) and np.shares_memory(view.indices, indices)
    print(data.nbytes + indices.nbytes, peak() - before)


if __name__ == "__main__":
    main()
