"""Sessions: models compiled once, which answer batch after batch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _convert, _core, _model_arguments
from ._held import Held
from ._types import Shape

_Array = npt.NDArray[np.float32]


class Session(Held):
    """A compiled model, resident on its device. Made by Model.compile(). session(images) returns the output.

    It neither verifies nor reports, as Model.infer() does; its answers have the same bits. Threads that are to run at
    the same time take a session each; others take turns.

        with model.compile(batch=1, threads=4) as session:
            for image in images:
                logits = session(image[np.newaxis])
    """

    _held: _core.Session
    _instead = "compile the model in each process"

    def __init__(self, held: _core.Session, inputs: list[tuple[str, Shape]], outputs: list[tuple[str, Shape]]) -> None:
        if not isinstance(held, _core.Session):
            raise TypeError("use spdnn.load_model(path).compile()")
        self._held, self._inputs, self._outputs = held, inputs, outputs

    def __call__(self, images: Any) -> _Array | tuple[_Array, ...]:
        """The model's output, or a tuple of all where it has several: float32, the images on axis 0.

        images: any number of them, as Model.infer() takes them; the engine runs at most `batch` at a time.

        UsageError where another thread runs the session, or it is closed; DataError where the images do not fit. Warns
        (RuntimeWarning) where numbers within the model may have exceeded the precision.
        """
        outputs, overflow = self._held.run(
            _convert.floats("images", _model_arguments.array_of(images, self.input_names)))
        if overflow:
            warnings.warn(f"numbers may have exceeded {self.precision} from {overflow} on", RuntimeWarning, stacklevel=2)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    run = __call__

    @property
    def input_names(self) -> list[str]:
        return [name for name, _ in self._inputs]

    @property
    def input_shape(self) -> Shape:
        """As Model.input_shape."""
        return self._inputs[0][1]

    @property
    def output_names(self) -> list[str]:
        return [name for name, _ in self._outputs]

    @property
    def output_shapes(self) -> list[Shape]:
        """Of each output; None is the number of images."""
        return [shape for _, shape in self._outputs]

    @property
    def variant(self) -> str:
        """The engine's name."""
        return self._held.variant

    @property
    def precision(self) -> str:
        return self._held.precision

    @property
    def batch(self) -> int:
        """Images that the engine takes at a time, at most."""
        return self._held.batch

    @property
    def threads(self) -> int:
        """Host threads of a run."""
        return self._held.threads

    def close(self) -> None:
        """Gives the memory back, once a run under way is done. A closed session refuses to run."""
        self._held.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<spdnn.Session: {self.variant} in {self.precision}, batch {self.batch}, threads {self.threads}>"
