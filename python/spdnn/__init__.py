"""Sparse deep neural network inference, in the terms of the Sparse DNN Graph Challenge.

For each layer, with Y (images x neurons) and the weights W (outputs x inputs):

    Z = Y @ W.T;   Z[i, j] += bias[j] where Z[i, j] != 0;   Y = minimum(cap, maximum(0, Z))

The *categories* are the images with a non-zero after the last layer. Everything is counted from 0 here; files
and reports count from 1.

    network = spdnn.Network([scipy.sparse.csr_array(...), ...], bias=-0.3)
    images = spdnn.Images.from_dense(numpy.random.rand(1000, 1024) < 0.1)
    outcome = spdnn.infer(network, images, verify="all")
    outcome.categories, outcome.verdict, outcome.report["seconds"]["infer"]["median"]
    session = spdnn.plan(network).compile()  # resident, for any number of calls
    categories = session(images)

Arrays are taken over without a copy where their form allows it, and must then not be changed while a network, images or
a plan made of them are in use.

Pruned convolutional networks come from files, and their images are dense arrays:

    model = spdnn.load_model("pruned.onnx")
    outcome = model.infer(numpy.random.rand(8, 3, 224, 224).astype(numpy.float32), verify="all")
    outcome.logits, outcome.predictions, outcome.verdict
    session = model.compile(batch=1)  # once, for any number of calls
    logits = session(numpy.random.rand(1, 3, 224, 224).astype(numpy.float32))
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ._short_waits import _core  # before all else that imports _core
from . import _arguments, _convert
from ._held import Held as _Held
from ._types import Device as _Device
from ._types import Path as _Path
from ._types import Precision as _Precision
from ._types import Progress
from .errors import DataError, DeviceError, Error, Stopped, UsageError
from .models import Model, ModelOutcome, Node, load_model
from .results import read_results
from .sessions import NetworkSession, Session

if int(np.__version__.split(".")[0]) >= 2 and not _core.takes_numpy_2:
    raise ImportError("spdnn was built with a pybind11 that does not know NumPy 2: build it with pybind11 2.12 or later, or "
                      "use NumPy 1")

__all__ = ["DataError", "DeviceError", "Error", "Images", "Model", "ModelOutcome", "Network", "NetworkSession", "Node", "Outcome", "Plan",
           "Session", "Stopped", "UsageError", "infer", "load_model", "plan", "read_results"]
__version__: str = _core.version


def __dir__() -> list[str]:
    """The public names, without imported ones."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


_BiasRule = Literal["non-zeros", "everywhere"]
_CHECKPOINT_EVERY = 900.0


class Network(_Held):
    """A chain of sparse layers, with a bias rule and a cap. Cannot be changed.

    weights: for each layer a SciPy sparse matrix of shape (outputs, inputs): row j has the weights of output neuron j,
        as in torch.nn.Linear. (Pass W.T for weights that stand as inputs x outputs; of a CSC matrix that is CSR, and
        costs nothing.) CSR matrices with float32 data, int32 indices and ascending columns are taken without a copy;
        others are converted: data rounded to float32, entries that come twice added up.
    bias: one number for all neurons, or for each layer a number or an array of shape (outputs,); float64. Without it
        there is none.
    cap: the upper bound of activations, or None.
    bias_rule: where the bias is added: to sums that are not zero (the challenge's rule) or everywhere.
    copy: copies all arrays, which may then be changed.

    DataError where the matrices make no network.
    """

    _held: _core.Network
    _instead = "save() the network, and read() it in each process"

    def __init__(self, weights: Iterable[Any],
                 bias: float | Sequence[float | npt.ArrayLike] | npt.NDArray[Any] = 0.0, *,
                 cap: float | None = 32.0, bias_rule: _BiasRule = "non-zeros", copy: bool = False) -> None:
        if scipy.sparse.issparse(weights) or not isinstance(weights, Iterable):
            raise _arguments.wrong_type("weights", "a list with a matrix for each layer", weights)
        copy = _arguments.flag("copy", copy)
        given, matrices = list(weights), []
        for number, matrix in enumerate(given, 1):
            try:
                matrices.append(_convert.matrix(matrix, copy))
            except (DataError, TypeError) as error:
                raise type(error)(f"layer {number}: {error}") from None
        biases = _convert.biases(bias, [matrix.shape[0] for matrix in given])
        self._held = _core.Network(matrices, biases, None if cap is None else _arguments.number("cap", cap),
                                   _arguments.text("bias_rule", bias_rule))

    @classmethod
    def _of(cls, network: _core.Network) -> Network:
        self = cls.__new__(cls)
        self._held = network
        return self

    @classmethod
    def read(cls, path: _Path, *, neurons: int | Sequence[int] = (), layers: int | None = None,
             bias: float | None = None, bias_rule: _BiasRule | None = None, cap: float | None | Literal["file"] = "file",
             allow_missing_newline: bool = False, progress: Progress | None = None) -> Network:
        """Reads a directory of nN-lK.tsv[.gz] or .mtx layers, one such file, or a packed file (.spdnn).

        neurons: of all layers, or the inputs of the first and the outputs of each; without it, as the files have it.
        layers: number of layers to read, from the first on.
        bias, bias_rule, cap: for files that do not bring them; networks of official form have the challenge's bias.
        allow_missing_newline: takes text layers and biases whose last line has no newline; they may be cut off.
        """
        return cls._load(_arguments.path("path", path), neurons, layers, bias, bias_rule, cap,
                         _arguments.flag("allow_missing_newline", allow_missing_newline), progress)

    @classmethod
    def official(cls, neurons: int, layers: int, *, progress: Progress | None = None) -> Network:
        """Makes the Graph Challenge's network of 1024, 4096, 16384 or 65536 neurons, bit for bit."""
        return cls._load(b"", neurons, layers, None, None, "file", False, progress)

    @classmethod
    def _load(cls, path: bytes, neurons: int | Sequence[int], layers: int | None, bias: float | None,
              bias_rule: str | None, cap: float | None | str, allow_missing_newline: bool,
              progress: Progress | None) -> Network:
        numbers = neurons if isinstance(neurons, Iterable) else [neurons]
        given: dict[str, Any] = {
            "path": path, "neurons": [_arguments.count("neurons", number) for number in numbers],
            "layers": None if layers is None else _arguments.count("layers", layers),
            "bias": None if bias is None else _arguments.number("bias", bias),
            "bias_rule": None if bias_rule is None else _arguments.text("bias_rule", bias_rule),
            "allow_missing_newline": allow_missing_newline}
        if not (isinstance(cap, str) and cap == "file"):
            given["cap"] = None if cap is None else _arguments.number("cap", cap)
        network, notes = _core.Network.load(given, _arguments.listener(progress))
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return cls._of(network)

    def save(self, path: _Path, *, progress: Progress | None = None) -> None:
        """Writes a packed file (.spdnn), or TSV layers into the directory of a name without an ending; either is there
        whole or not at all. TSV has neither the bias rule nor the cap, nor a bias that is the same for all neurons."""
        self._held.save(_arguments.path("path", path), _arguments.listener(progress))

    def to_scipy(self) -> list[scipy.sparse.csr_array]:
        """The weights by layer, float32 of shape (outputs, inputs). Read-only views; only weights that all have one
        value, which is stored once, are written out."""
        return [scipy.sparse.csr_array(self._held.arrays(k), shape=self._held.shape(k))
                for k in range(self._held.layers)]

    @property
    def biases(self) -> list[float | npt.NDArray[np.float64]]:
        """For each layer one number, or an array of shape (outputs,)."""
        return [self._held.bias(k) for k in range(self._held.layers)]

    @property
    def neurons(self) -> list[int]:
        """Inputs of the first layer, then outputs of each."""
        shapes = [self._held.shape(k) for k in range(self._held.layers)]
        return [inputs for _, inputs in shapes[:1]] + [outputs for outputs, _ in shapes]

    @property
    def cap(self) -> float | None:
        return self._held.cap

    @property
    def bias_rule(self) -> str:
        return self._held.bias_rule

    @property
    def layers(self) -> int:
        """Their number."""
        return self._held.layers

    @property
    def edges(self) -> int:
        """Stored weights."""
        return self._held.edges

    @property
    def nbytes(self) -> int:
        return self._held.bytes

    def __len__(self) -> int:
        """The number of layers."""
        return self._held.layers

    def __repr__(self) -> str:
        return f"<spdnn.Network: {len(self)} layers, {self.edges} edges>"


class Images(_Held):
    """Input images, one row an image, one column a neuron: zeros and ones as bits, other values as CSR. Made by
    from_dense, from_bits, from_scipy, read or official. Cannot be changed."""

    _held: _core.Images
    _instead = "save() the images, and read() them in each process"

    def __init__(self) -> None:
        raise TypeError("use from_dense, from_bits, from_scipy, read or official")

    @classmethod
    def _of(cls, images: _core.Images) -> Images:
        self = cls.__new__(cls)
        self._held = images
        return self

    @classmethod
    def from_dense(cls, array: npt.ArrayLike) -> Images:
        """Of numbers of shape (images, neurons). They are copied, into bits (zeros and ones) or into CSR."""
        dense = _convert.array("array", array)
        if dense.ndim != 2:
            raise DataError(f"array: expected images x neurons, not {dense.ndim} dimensions")
        if dense.dtype.kind == "b" or ((dense == 0) | (dense == 1)).all():
            return cls.from_bits(np.packbits(dense != 0, axis=1, bitorder="little"), neurons=dense.shape[1])
        return cls.from_scipy(scipy.sparse.csr_array(dense))

    @classmethod
    def from_bits(cls, bits: npt.NDArray[np.uint8], neurons: int | None = None) -> Images:
        """Of zeros and ones as numpy.packbits(..., axis=1, bitorder="little") has them: uint8 of shape
        (images, bytes), the neuron of lowest number in the lowest bit. Bits beyond the last neuron are zero. No copy
        where the array is contiguous and bytes is a multiple of 8.

        neurons: without it, 8 * bytes.
        """
        return cls._of(_core.Images(*_convert.bit_words(bits, neurons)))

    @classmethod
    def from_scipy(cls, matrix: Any, *, copy: bool = False) -> Images:
        """Of a SciPy sparse matrix of shape (images, neurons). CSR matrices with float32 data, int32 indices, ascending
        columns and no stored zeros are taken without a copy; others are converted, and ones alone become bits where
        these are smaller."""
        try:
            return cls._of(_core.Images(_convert.matrix(matrix, _arguments.flag("copy", copy), zeros=False)))
        except (DataError, TypeError) as error:
            raise type(error)(f"matrix: {error}") from None

    @classmethod
    def read(cls, path: _Path, *, neurons: int | None = None, images: int | None = None,
             progress: Progress | None = None) -> Images:
        """Reads sparse-images-N.tsv[.gz], .mtx or packed images (.spdnn).

        neurons, images: how many there are; without them, as the file or the largest numbers in it say.
        """
        return cls._load(_arguments.path("path", path), b"", neurons, images, progress)

    @classmethod
    def official(cls, mnist: _Path, neurons: int, *, progress: Progress | None = None) -> Images:
        """Makes the challenge's images of 1024, 4096, 16384 or 65536 neurons from MNIST's training images (IDX[.gz])."""
        return cls._load(b"", _arguments.path("mnist", mnist), neurons, None, progress)

    @classmethod
    def _load(cls, path: bytes, mnist: bytes, neurons: int | None, images: int | None,
              progress: Progress | None) -> Images:
        held, notes = _core.Images.load(path, mnist, None if neurons is None else _arguments.count("neurons", neurons),
                                        None if images is None else _arguments.count("images", images),
                                        _arguments.listener(progress))
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return cls._of(held)

    def save(self, path: _Path) -> None:
        """Writes .tsv, .tsv.gz, .mtx or packed images (.spdnn); the file appears atomically."""
        self._held.save(_arguments.path("path", path))

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The images as float32 CSR of shape (images, neurons); read-only views where they are held as CSR."""
        return scipy.sparse.csr_array(self._held.arrays(), shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(images, neurons)."""
        return self._held.shape

    @property
    def nbytes(self) -> int:
        return self._held.bytes

    def __len__(self) -> int:
        """The number of images."""
        return self.shape[0]

    def __repr__(self) -> str:
        images, neurons = self.shape
        return f"<spdnn.Images: {images} images of {neurons} neurons, as {'bits' if self._held.is_bits else 'CSR'}>"


class Plan(_Held):
    """A network from which the exact passes have removed what need not be computed, for any number of infer() calls and
    sessions. Made by plan()."""

    _held: _core.Plan
    _instead = "plan() the network in each process"

    def __init__(self) -> None:
        raise TypeError("use spdnn.plan(network)")

    @property
    def network(self) -> Network:
        """As given."""
        return Network._of(self._held.network)

    @property
    def passes(self) -> str:
        """Those in force, joined by commas."""
        return self._held.passes

    @property
    def stored_edges(self) -> int:
        """The number of edges that the plan stores."""
        return self._held.stored_edges

    def compile(self, *, batch: int | None = None, threads: int | None = None, variant: str = "auto",
                device: _Device = "auto", precision: _Precision | None = None, host_memory: int = 0,
                device_memory: int = 0, activations: bool = False) -> NetworkSession:
        """Makes the plan resident on its device, for a NetworkSession that takes any number of sets of images. infer()
        does so at each call, and verifies and reports.

        batch: images that the engine takes at a time. None: as many as a call brings, or the memory takes.
        activations: a call returns those after the last layer, too.
        The other arguments are those of infer().

        UsageError or DeviceError, as infer().
        """
        return NetworkSession(self._held.compile({
            **_arguments.engine(variant, device, precision, batch, threads, host_memory),
            "device_memory": _arguments.size("device_memory", device_memory),
            "activations": _arguments.flag("activations", activations)}))

    def describe(self) -> dict[str, Any]:
        """What is left out and why. `layers` has a flat dict for each layer, for a data frame; `dead_from` and
        `saturated_from` are the layers before which images may leave (the number of layers: they may not)."""
        return {"passes": self.passes, "notes": self._held.notes, "edges": self.network.edges,
                "stored_edges": self.stored_edges, "dead_from": self._held.dead_from,
                "saturated_from": self._held.saturated_from, "layers": self._held.describe()}

    def __repr__(self) -> str:
        return f"<spdnn.Plan: {self.passes}, {self.stored_edges} of {self.network.edges} edges>"


@dataclass(frozen=True)
class Outcome:
    """What infer() found.

    categories: the images with a non-zero after the last layer, ascending, from 0; int64 of shape (categories,).
    alive: images with a non-zero after each layer, in a neuron that is not left out; int64 of shape (layers,).
    report: the JSON line of the command line (docs/timing.md), as a dict; times in seconds, rates in edges/s. Images
        (`first_ids`) and layers count from 1 in it, as in files.
    text: the report for people, which counts from 1, too.
    activations: after the last layer, float32 of shape (images, neurons) without zeros, where infer() was asked for them;
        their rows that are not empty are the categories. Read-only.
    """

    categories: npt.NDArray[np.int64]
    alive: npt.NDArray[np.int64]
    report: dict[str, Any]
    text: str
    activations: scipy.sparse.csr_array | None = None

    @property
    def verdict(self) -> str:
        """PASSED, FAILED, or UNVERIFIED where there was nothing to compare with."""
        return str(self.report["verdict"]["status"])

    def __str__(self) -> str:
        return self.text


def _hint_of_network(given: Any) -> str:
    if isinstance(given, Model):
        return "a model runs by model.infer(images)"
    return "Network(weights, bias), of a list of SciPy's matrices, and Network.read(path) make one"


def plan(network: Network, reduce: str = "all", *, device: _Device = "auto") -> Plan:
    """Plans a network, once for any number of infer() calls.

    reduce: the passes: "all" (those that keep every bit), "dead", "none", or names joined by commas.
    device: where equal neurons are looked for; "auto" is the CPU.
    """
    if not isinstance(network, Network):
        raise _arguments.wrong_type("network", "a Network", network, _hint_of_network(network))
    result = Plan.__new__(Plan)
    result._held = _core.Plan(network._held, _arguments.text("reduce", reduce), _arguments.text("device", device))
    return result


def infer(network: Network | Plan, images: Images, *, variant: str = "auto", device: _Device = "auto",
          reduce: str | None = None, precision: _Precision | None = None,
          trials: int = 1, batch: int | None = None, threads: int | None = None,
          verify: Literal["all"] | bool | int | None = None, truth: _Path | npt.ArrayLike | None = None,
          compare: bool = False, activations: bool = False, host_memory: int = 0, device_memory: int = 0,
          checkpoint: _Path | None = None, checkpoint_every: float | None = _CHECKPOINT_EVERY,
          max_time: float | None = None, progress: Progress | None = None) -> Outcome:
    """Runs a network, or a plan of it, on images.

    variant: an engine by name ("cpu_openmp", "cpu_reference", "resident", ...).
    reduce: the passes, for a Network; a Plan has its own.
    precision: without it, the engine's first.
    trials: how often the inference is repeated; times are of all.
    batch: images at a time; None: as many as the memory takes.
    threads: on the host; None: all processors that the process may use.
    verify: the number of images, or "all" (or True), that the fp64 reference recomputes for comparison.
    truth: the true categories: numbers from 0, ascending, or a file of them (from 1). Official problems are compared
        with the official list in any case.
    compare: times reduce="dead" as well.
    activations: keeps those after the last layer, which are those of the network as given, whatever the passes.
    host_memory, device_memory: limits in bytes; 0: the free memory.
    checkpoint: a file that the run writes what it knows to, and that the same call continues from if it is there; with the
        activations of images under way in a file beside it. Removed when infer() returns an outcome. Goes neither with
        `trials` nor with `activations`.
    checkpoint_every: seconds from one checkpoint to the next; None: none is written but where max_time ends the run.
    max_time: seconds after which the run raises Stopped, with its checkpoint written, unless it is done; None: no limit.
        The time for the last checkpoint is included, that for verifying is not.
    progress: see Progress; called at the end of each batch and trial.

    Other Python threads run meanwhile, and may call infer() themselves: each call then takes `threads` threads. Ctrl-C
    ends a run on the CPU within a layer, one on a CUDA device within a batch, and planning at its end; the last checkpoint
    stays. A checkpoint that cannot be written while the run goes on is a warning.

    UsageError, DataError or DeviceError where something does not fit together, is malformed, or is not there.
    """
    if not isinstance(network, (Network, Plan)):
        raise _arguments.wrong_type("network", "a Network or a Plan", network, _hint_of_network(network))
    given_images = _arguments.images(images)
    if isinstance(network, Plan) and reduce is not None:
        raise UsageError("reduce: a plan has its own passes")
    every = _arguments.seconds("checkpoint_every", checkpoint_every)
    if checkpoint is None and every != _CHECKPOINT_EVERY:
        raise UsageError("checkpoint_every: needs a checkpoint")
    verify_all, verify_sample = _arguments.verify(verify)
    in_file = _arguments.is_path(truth)
    found = _core.infer(network._held, given_images, {
        "reduce": "all" if reduce is None else _arguments.text("reduce", reduce),
        **_arguments.engine(variant, device, precision, batch, threads, host_memory),
        "device_memory": _arguments.size("device_memory", device_memory), "trials": _arguments.count("trials", trials),
        "compare": _arguments.flag("compare", compare), "activations": _arguments.flag("activations", activations),
        "checkpoint": b"" if checkpoint is None else _arguments.path("checkpoint", checkpoint),
        "checkpoint_every": every, "max_time": _arguments.seconds("max_time", max_time),
        "verify_all": verify_all, "verify_sample": verify_sample,
        "truth_path": _arguments.path("truth", truth) if in_file else b"",
        "truth": None if truth is None or in_file else _convert.categories(truth)}, _arguments.listener(progress))
    kept = found["activations"]
    return Outcome(found["categories"], found["alive"], json.loads(found["json"]), found["text"],
                   None if kept is None else scipy.sparse.csr_array(kept[0], shape=kept[1]))
