"""What Python callers give, in the forms that _core takes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import _core
from .errors import DataError, UsageError


def count(name: str, number: Any, most: int = 2**31 - 1) -> int:
    value = operator.index(number)
    if not 1 <= value <= most:
        raise UsageError(f"{name}: expected a number from 1 to {most}, not {value}")
    return value


def check_kind(array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in "buif":
        raise TypeError(f"expected real numbers, not {array.dtype}")


def _numbers(array: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
    """The array itself if it can be used as it is."""
    with np.errstate(over="ignore"):  # what becomes infinite is refused later
        return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def matrix(given: Any, copy: bool) -> _core.Matrix:
    if not scipy.sparse.issparse(given):
        raise TypeError(f"expected a SciPy sparse matrix, not {type(given).__name__}")
    check_kind(given)
    csr = given.tocsr(copy=copy)
    result = _matrix_of(csr)
    if result.ascends:
        return result
    csr = csr.copy()
    csr.has_canonical_format = False  # SciPy may remember what is no longer true
    csr.has_sorted_indices = False
    csr.sum_duplicates()
    return _matrix_of(csr)


def _matrix_of(csr: Any) -> _core.Matrix:
    entries = int(csr.indptr[-1])  # there may be room for more
    data, indices = csr.data[:max(entries, 0)], csr.indices[:max(entries, 0)]
    if indices.dtype != np.int32 and indices.size > 0 and not 0 <= indices.min() <= indices.max() < 2**31:
        raise DataError("a column is outside the matrix")
    indptr = _numbers(csr.indptr, np.int32 if csr.indptr.dtype == np.int32 else np.int64)
    if max(csr.shape) >= 2**31:
        raise DataError("more than 2^31-1 rows or columns")
    return _core.Matrix(csr.shape, indptr, _numbers(indices, np.int32), _numbers(data, np.float32))


def without_zeros(given: Any) -> Any:
    """The matrix as CSR without stored zeros; what is no sparse matrix as it is."""
    csr = given.tocsr() if scipy.sparse.issparse(given) else given
    if scipy.sparse.issparse(csr) and csr.data.size != np.count_nonzero(csr.data):
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def bit_words(bits: npt.NDArray[np.uint8], neurons: int | None) -> tuple[npt.NDArray[np.uint64], int, int]:
    """Whole 64-bit words for each image, one image after another; images; neurons."""
    bits = np.asarray(bits)
    if bits.dtype != np.uint8 or bits.ndim != 2:
        raise TypeError(f"expected uint8 of two dimensions, not {bits.dtype} of {bits.ndim}")
    neurons = 8 * bits.shape[1] if neurons is None else operator.index(neurons)
    width = (neurons + 63) // 64 * 8
    if not 0 <= neurons <= 8 * bits.shape[1]:
        raise DataError(f"{bits.shape[1]} bytes an image hold up to {8 * bits.shape[1]} neurons, not {neurons}")
    if bits[:, width:].any():
        raise DataError("a bit is set beyond the last neuron")
    bits = bits[:, :width]
    if bits.shape[1] < width:
        bits = np.pad(bits, ((0, 0), (0, width - bits.shape[1])))
    bits = np.ascontiguousarray(bits)
    if bits.ctypes.data % 8 != 0:
        bits = bits.copy()
    return bits.reshape(-1).view(np.uint64), bits.shape[0], neurons


def biases(bias: Any, layers: int) -> list[Any]:
    if isinstance(bias, (int, float, np.number)):
        return [float(bias)] * layers
    by_layer = list(bias)
    if len(by_layer) != layers:
        raise DataError(f"{len(by_layer)} biases for {layers} layers")
    return [float(b) if np.ndim(b) == 0 else np.array(b, dtype=np.float64) for b in by_layer]


def categories(truth: Any) -> list[int]:
    numbers = np.asarray(truth)
    if numbers.ndim != 1 or (numbers.size > 0 and numbers.dtype.kind not in "iu"):
        raise TypeError("truth: expected one dimension of whole numbers")
    if numbers.size > 0 and (numbers.min() < 0 or numbers.max() >= 2**31 or (numbers[1:] <= numbers[:-1]).any()):
        raise DataError("truth: expected ascending numbers from 0")
    return [int(number) for number in numbers]
