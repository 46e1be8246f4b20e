"""Arrays and matrices that callers give, in the forms that _core takes."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import _arguments, _core
from .errors import DataError


def array(name: str, given: Any, kinds: str = "buif", expected: str = "real numbers") -> npt.NDArray[Any]:
    """The array itself, or one of a list; its numbers are of one of NumPy's kinds."""
    try:
        result = np.asarray(given)
    except ValueError:
        raise TypeError(f"{name}: expected rows of equal length") from None
    if isinstance(given, np.ma.MaskedArray):
        raise _arguments.wrong_type(name, "an array without a mask", given)
    if result.dtype.kind not in kinds:
        raise TypeError(f"{name}: expected {expected}, not {result.dtype}")
    return result


def _numbers(given: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
    """The array itself if it can be used as it is."""
    with np.errstate(over="ignore"):  # infinite results are refused later
        return np.require(given, dtype, ["C_CONTIGUOUS", "ALIGNED"])


#: DLPack's numbers of the devices whose memory the processor reads: its own, also where CUDA or ROCm has pinned it.
_HOST = (1, 3, 11)
_DEVICES = {2: "a CUDA device", 10: "a ROCm device", 13: "a CUDA device"}


def _of_dlpack(name: str, given: Any) -> npt.NDArray[Any]:
    """The memory of another library's tensor."""
    try:
        device = int(given.__dlpack_device__()[0])
        shared = np.from_dlpack(given) if device in _HOST else None
    except Exception as error:  # of any kind: it is the other library's
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TypeError(f"{name}: the tensor cannot be shared by DLPack: {reason}") from error
    if shared is None:
        where = _DEVICES.get(device, f"DLPack's device {device}")
        raise TypeError(f"{name}: expected a tensor in the host's memory, not on {where}: copy it to the CPU first")
    return shared


def shared(name: str, given: Any) -> npt.NDArray[Any]:
    """An array, one of a list, or the memory of a tensor of another library."""
    if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack__"):
        given = _of_dlpack(name, given)
    return array(name, given)


def floats(name: str, given: Any, stacklevel: int = 3) -> npt.NDArray[np.float32]:
    """Numbers of any type as float32: the array itself if it can be used as it is. Warns the caller of the caller where
    a number changes."""
    values = shared(name, given)
    if values.ndim == 0:
        raise DataError(f"{name}: a single number, expected an array")
    result = _numbers(values, np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize > 4:
        beyond = np.isinf(result) & np.isfinite(values)
        if beyond.any():
            place = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
            raise DataError(f"{name}: {values[place]} at {[int(i) for i in place]} is beyond the numbers of float32")
    if _changed(values, result):
        warnings.warn(f"{name}: {values.dtype} is rounded to float32; .astype(numpy.float32) does so without this warning",
                      stacklevel=stacklevel)
    return result


def _changed(values: npt.NDArray[Any], rounded: npt.NDArray[np.float32]) -> bool:
    """Whether float32 does not have one of the numbers. NaN stays NaN."""
    if values.dtype.kind == "f":
        return values.dtype.itemsize > 4 and bool(((values != rounded) & (values == values)).any())
    if values.dtype.kind == "b" or values.dtype.itemsize <= 2:
        return False
    return bool((values > 2**24).any() or (values.dtype.kind == "i" and (values < -2**24).any()))


def labels(given: Any) -> npt.NDArray[np.int64]:
    classes = shared("labels", given)
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.ndim != 1 or (classes.size > 0 and classes.dtype.kind not in "biu"):
        raise TypeError("labels: expected one dimension of whole numbers")
    if classes.dtype == np.uint64:
        classes = np.minimum(classes, np.uint64(2**63 - 1))
    return _numbers(classes, np.int64)


def matrix(given: Any, copy: bool, zeros: bool = True) -> _core.Matrix:
    """Of a SciPy matrix, with or without its stored zeros."""
    csr = _csr(given, copy)
    result = _matrix_of(csr)
    if not zeros and csr.data.size != np.count_nonzero(csr.data):
        csr = csr.copy()
        csr.eliminate_zeros()
        result = _matrix_of(csr)
    if result.ascends:
        return result
    csr = csr.copy()
    csr.sum_duplicates()
    return _matrix_of(csr)


#: Of all SciPy's sparse matrices, the arrays that say where an entry is.
_PLACES = ("indptr", "indices", "row", "col", "offsets")


def _csr(given: Any, copy: bool) -> Any:
    """Converted by SciPy, which truncates fractions, and writes where an entry outside the matrix would be."""
    if not scipy.sparse.issparse(given):
        raise TypeError(f"expected a SciPy sparse matrix, not {type(given).__name__}: scipy.sparse.csr_array(array) makes one")
    if given.dtype.kind not in "buif":
        raise TypeError(f"data: expected real numbers, not {given.dtype}")
    for name in _PLACES:
        if hasattr(given, name):
            array(name, getattr(given, name), "iu", "whole numbers")
    if given.format == "csc":
        _matrix_of(given.T)
    if given.format == "coo":
        for name, size in zip(("row", "col"), given.shape):
            places = getattr(given, name)
            if places.shape != given.data.shape or not (places.size == 0 or 0 <= places.min() <= places.max() < size):
                raise DataError(f"{name}: expected a number from 0 to {size - 1} for each entry")
    return given.tocsr(copy=copy)


def _matrix_of(csr: Any) -> _core.Matrix:
    for name in ("data", "indices", "indptr"):
        if getattr(csr, name).ndim != 1:
            raise DataError(f"{name}: expected one dimension, not {getattr(csr, name).ndim}")
    entries = int(csr.indptr[-1]) if csr.indptr.size > 0 else 0  # there may be room for more
    data, indices = csr.data[:max(entries, 0)], csr.indices[:max(entries, 0)]
    if indices.dtype != np.int32 and indices.size > 0 and not 0 <= indices.min() <= indices.max() < 2**31:
        raise DataError("a column is outside the matrix")
    indptr = _numbers(csr.indptr, np.int32 if csr.indptr.dtype == np.int32 else np.int64)
    if max(csr.shape) >= 2**31:
        raise DataError("more than 2^31-1 rows or columns")
    return _core.Matrix(csr.shape, indptr, _numbers(indices, np.int32), _numbers(data, np.float32))


def bit_words(bits: npt.NDArray[np.uint8], neurons: int | None) -> tuple[npt.NDArray[np.uint64], int, int]:
    """Whole 64-bit words for each image, one image after another; images; neurons."""
    bits = array("bits", bits)
    if bits.dtype != np.uint8 or bits.ndim != 2:
        raise TypeError(f"bits: expected uint8 of two dimensions, not {bits.dtype} of {bits.ndim}")
    neurons = 8 * bits.shape[1] if neurons is None else _arguments.count("neurons", neurons, least=0)
    width = (neurons + 63) // 64 * 8
    if neurons > 8 * bits.shape[1]:
        raise DataError(f"{bits.shape[1]} bytes an image hold up to {8 * bits.shape[1]} neurons, not {neurons}")
    if bits[:, width:].any():
        raise DataError("a bit is set beyond the last neuron")
    bits = bits[:, :width]
    if bits.shape[1] < width:
        bits = np.pad(bits, ((0, 0), (0, width - bits.shape[1])))
    if bits.ctypes.data % 8 != 0:
        bits = bits.copy()
    return bits.reshape(-1).view(np.uint64), bits.shape[0], neurons


def biases(bias: Any, outputs: list[int]) -> list[Any]:
    """A number or an array for each layer, given the layers' numbers of outputs."""
    if isinstance(bias, numbers.Number) or (isinstance(bias, np.ndarray) and bias.ndim == 0):
        return [_arguments.number("bias", bias)] * len(outputs)
    if isinstance(bias, (str, bytes)) or not isinstance(bias, Iterable):
        raise _arguments.wrong_type("bias", "a number, or one or an array for each layer", bias)
    by_layer = list(bias)
    if len(by_layer) != len(outputs):
        raise DataError(f"bias: {len(by_layer)} biases for {len(outputs)} layers")
    return [_bias(f"bias: layer {k}", *of_layer) for k, of_layer in enumerate(zip(by_layer, outputs), 1)]


def _bias(name: str, given: Any, outputs: int) -> Any:
    values = array(name, given)
    if values.ndim == 0:
        return float(values)
    if values.shape != (outputs,):
        raise DataError(f"{name}: expected a number or an array of shape ({outputs},), not {values.shape}")
    return np.array(values, dtype=np.float64)


def categories(truth: Any) -> list[int]:
    ids = array("truth", truth)
    if ids.ndim != 1 or (ids.size > 0 and ids.dtype.kind not in "iu"):
        raise TypeError("truth: expected one dimension of whole numbers")
    if ids.size > 0 and (ids.min() < 0 or ids.max() >= 2**31 or (ids[1:] <= ids[:-1]).any()):
        raise DataError("truth: expected ascending numbers from 0")
    return ids.tolist()
