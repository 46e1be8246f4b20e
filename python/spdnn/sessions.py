"""Sessions: models and networks that stay resident on their device and take images call after call."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import _arguments, _convert, _core, _model_arguments
from ._held import Held
from ._types import Shape

_Array = npt.NDArray[np.float32]
_Self = TypeVar("_Self", bound="_Session")


class _Session(Held):
    """What sessions of models and of networks have in common."""

    _held: Any
    _instead = "compile in each process"

    @property
    def variant(self) -> str:
        """The engine's name."""
        return self._held.variant

    @property
    def precision(self) -> str:
        return self._held.precision

    @property
    def batch(self) -> int | None:
        """Images that the engine takes at a time, at most; None before a first call decides."""
        return self._held.batch or None

    @property
    def threads(self) -> int:
        """Host threads of a run."""
        return self._held.threads

    def close(self) -> None:
        """Gives the memory back, once a run under way is done. A closed session refuses to run."""
        self._held.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"<spdnn.{type(self).__name__}: {self.variant} in {self.precision}, batch {self.batch}, "
                f"threads {self.threads}>")


class Session(_Session):
    """A compiled model, resident on its device. Made by Model.compile(). session(images) returns the output.

    It neither verifies nor reports, as Model.infer() does; its answers have the same bits. Threads that are to run at
    the same time take a session each; others take turns.

        with model.compile(batch=1, threads=4) as session:
            for image in images:
                logits = session(image[np.newaxis])
    """

    _held: _core.Session

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


class NetworkSession(_Session):
    """A planned network, resident on its device. Made by Plan.compile(). session(images) returns the categories.

    It neither verifies nor reports, as infer() does; its answers are the same. The engine stays between calls, and is
    made anew only for images of another kind (bits, other values), or for more of them than any call has brought. Threads
    that are to run at the same time take a session each; others take turns.

        with spdnn.plan(network).compile() as session:
            for images in sets_of_images:
                categories = session(images)
    """

    _held: _core.NetworkSession

    def __init__(self, held: _core.NetworkSession) -> None:
        if not isinstance(held, _core.NetworkSession):
            raise TypeError("use spdnn.plan(network).compile()")
        self._held = held

    def __call__(self, images: Any) -> npt.NDArray[np.int64] | tuple[npt.NDArray[np.int64], scipy.sparse.csr_array]:
        """The images with a non-zero after the last layer, ascending, from 0; and, if the session was compiled with
        activations=True, the activations as Outcome has them.

        images: Images, any number of them.

        UsageError where another thread runs the session, or it is closed; DataError where the images do not fit. Warns
        (RuntimeWarning) where a sum exceeded the precision, so that another order of summation may give other categories.
        """
        categories, kept, overflowing = self._held.run(_arguments.images(images))
        if overflowing:
            warnings.warn(f"sums of {overflowing} images exceeded {self.precision}", RuntimeWarning, stacklevel=2)
        return categories if kept is None else (categories, scipy.sparse.csr_array(kept[0], shape=kept[1]))

    run = __call__
