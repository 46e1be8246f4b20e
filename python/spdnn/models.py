"""Models: pruned convolutional networks of files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import _arguments, _convert, _core, _model_arguments
from ._held import Held
from ._types import Device, Path, Precision, Progress, Shape
from .sessions import Session

@dataclass(frozen=True)
class Node:
    """One operation of a model.

    shape: of its output.
    weights: of convolutions and linear nodes, zeros included; nonzeros: of these. 0 for others.
    """

    name: str
    operation: str
    shape: Shape
    weights: int
    nonzeros: int


class Model(Held):
    """A pruned convolutional network. Made by load_model(). Cannot be changed. model(images) is model.infer(images)."""

    _held: _core.Model
    _instead = "save() the model, and call load_model in each process"

    def __init__(self) -> None:
        raise TypeError("use spdnn.load_model(path)")

    @property
    def path(self) -> str:
        return os.fsdecode(self._held.path)

    @property
    def name(self) -> str:
        """The name in the file; may be empty."""
        return self._held.name

    @property
    def input_shape(self) -> Shape:
        """Images, channels, height, width; of sequences images, channels, length; of vectors images, numbers."""
        return self._held.inputs[0][1]

    @property
    def output_shape(self) -> Shape:
        """Of the only or the first output."""
        return self._held.outputs[0][1]

    @property
    def input_names(self) -> list[str]:
        return [name for name, _ in self._held.inputs]

    @property
    def output_names(self) -> list[str]:
        return [name for name, _ in self._held.outputs]

    @property
    def nodes(self) -> list[Node]:
        """As the file has them, each after those whose outputs it reads."""
        return [Node(*fields) for fields in self._held.nodes]

    def to_scipy(self) -> list[scipy.sparse.csr_array | None]:
        """The weights of each node, float32 of shape (output channels, weights of one), or None where it has none. The
        weights of a convolution's channel are its input channels (of its group) x height x width, one after another.
        Read-only views."""
        matrices = (self._held.matrix(k) for k in range(len(self)))
        return [None if held is None else scipy.sparse.csr_array(held[0], shape=held[1]) for held in matrices]

    def infer(self, images: Any, *, labels: Path | npt.ArrayLike | None = None, min_accuracy: float | None = None,
              expected: Path | Any | None = None, output: str | Sequence[str] | None = None,
              verify: Literal["all"] | bool | int | None = None,
              variant: str = "auto", device: Device = "auto", precision: Precision | None = None,
              batch: int | None = None, threads: int | None = None, trials: int = 1, warm_up: int = 0,
              rewrite: str = "all", profile: bool = False, host_memory: int = 0,
              progress: Progress | None = None) -> ModelOutcome:
        """Runs the model on images.

        images: an array of input_shape, in which axes of length 1 may be left out, or a tensor of another library that
            has __dlpack__, in the host's memory: pixels as the model takes them, with mean and deviation applied.
            Contiguous float32 is not copied; other types are converted, with a warning where a number is rounded.
            {name: array}, where name is that of the input, is taken, too.
        labels: the class of each image, from 0, or a file of them.
        min_accuracy: more than 0, at most 1, of the labels: PASSED from here on.
        expected: the output of the first images, or of all, that is to be met within bound and tolerance; of several
            outputs {name: array}. Or a file: .npz of arrays by name, or .npy of one.
        output: the output to compute, or several, by name; None: all of output_names.
        verify: the number of images, or "all" (or True), that the fp64 reference recomputes for comparison.
        variant: an engine by name ("sparse", "conv_dense", "conv_reference"), or "auto".
        precision: without it, the engine's first.
        batch: images at a time; None: 64, or more small ones, as far as memory suffices.
        threads: on the host; None: all processors that the process may use.
        trials, warm_up: how often the inference is repeated, and how often before that without being counted.
        rewrite: the exact rewrites: "all", "none", or names joined by commas. Reference and bound are always of the model
            as given.
        profile: times each node.
        host_memory: bytes that an engine on the CPU may take; 0: what is free.
        progress: see Progress; called after each node.

        Other Python threads run meanwhile, and may call infer() themselves, of the same model too. Ctrl-C ends a run
        after the node that is being computed.

        UsageError, DataError or DeviceError where something does not fit together, is malformed, or is not there.
        """
        verify_all, verify_sample = _arguments.verify(verify)
        in_file = {"labels": _arguments.is_path(labels), "expected": _arguments.is_path(expected)}
        found = self._held.infer(_convert.floats("images", _model_arguments.array_of(images, self.input_names)), {
            "labels_path": _arguments.path("labels", labels) if in_file["labels"] else b"",
            "labels": None if labels is None or in_file["labels"] else _convert.labels(labels),
            "min_accuracy": None if min_accuracy is None else _arguments.number("min_accuracy", min_accuracy),
            "expected_path": _arguments.path("expected", expected) if in_file["expected"] else b"",
            "expected": {} if expected is None or in_file["expected"] else _model_arguments.expected(expected),
            "outputs": _model_arguments.outputs(output),
            "verify_all": verify_all, "verify_sample": verify_sample,
            **_model_arguments.engine(variant, device, precision, batch, threads, host_memory, rewrite),
            "trials": _arguments.count("trials", trials), "warm_up": _arguments.count("warm_up", warm_up, 0),
            "profile": _arguments.flag("profile", profile)}, _arguments.listener(progress))
        return ModelOutcome(found["outputs"], found["predictions"], json.loads(found["json"]), found["text"])

    __call__ = infer

    def compile(self, *, batch: int | None = None, threads: int | None = None, variant: str = "auto",
                device: Device = "auto", precision: Precision | None = None, rewrite: str = "all",
                host_memory: int = 0) -> Session:
        """Rewrites and compiles the model once, for a Session that answers any number of batches. infer() does so at
        each call, and verifies and reports.

        batch: images that the engine takes at a time, for which kernels are chosen: 1 where each call brings a single
            image. None: 64, or more small ones, as far as memory suffices; of a model for a fixed number of images, that
            number.
        The other arguments are those of infer().

        UsageError, DataError or DeviceError, as infer().
        """
        return Session(self._held.compile(
            _model_arguments.engine(variant, device, precision, batch, threads, host_memory, rewrite)),
            self._held.inputs, self._held.outputs)

    def save(self, path: Path) -> None:
        """Writes a file: .onnx, .spdnn, or .safetensors with architecture.json beside it. load_model() reads it again.

        DataError for any other name, or if the format cannot express the model.
        """
        self._held.save(_arguments.path("path", path))

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._held.nodes)

    def __repr__(self) -> str:
        nodes = self.nodes
        weights, nonzeros = sum(node.weights for node in nodes), sum(node.nonzeros for node in nodes)
        return f"<spdnn.Model: {len(nodes)} nodes, {nonzeros} of {weights} weights are not zero>"


@dataclass(frozen=True)
class ModelOutcome:
    """What Model.infer() found.

    outputs: by name, float32 with the images on axis 0.
    predictions: the class of the largest logit of each image, from 0; int64 of shape (images,). None where the output
        is no list of classes. They are those of the first output.
    report: the JSON line of the command line (results/README.md), as a dict; times in seconds. Images (`first_ids`,
        `near_ties`) count from 1 in it.
    text: the report for people, which counts from 1, too.
    """

    outputs: dict[str, npt.NDArray[np.float32]]
    predictions: npt.NDArray[np.int64] | None
    report: dict[str, Any]
    text: str

    @property
    def logits(self) -> npt.NDArray[np.float32]:
        """The only or the first output."""
        return next(iter(self.outputs.values()))

    @property
    def verdict(self) -> str:
        """PASSED, FAILED, or UNVERIFIED if nothing was compared or the comparison is not conclusive."""
        return str(self.report["verdict"]["status"])

    def __str__(self) -> str:
        return self.text


def load_model(path: Path, shape: Sequence[int | None] | None = None) -> Model:
    """Reads an ONNX (.onnx), TensorFlow Lite (.tflite) or packed (.spdnn) file, or .safetensors with architecture.json
    beside it.

    shape: of the input, where the file leaves it open or says another; None on axis 0 is any number of images.
    """
    if isinstance(path, (bytes, bytearray)) and (b"\0" in path or len(path) > 4096) or hasattr(path, "read"):
        raise _arguments.wrong_type("path", "the name of a file", path, "what it holds has to be in a file")
    model = Model.__new__(Model)
    model._held = _core.Model.load(_arguments.path("path", path), _extents(shape))
    return model


def _extents(shape: Any) -> list[int] | None:
    if shape is None:
        return None
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise _arguments.wrong_type("shape", "a list of lengths", shape)
    return [-1 if axis == 0 and extent is None else _arguments.count("shape", extent)
            for axis, extent in enumerate(shape)]
