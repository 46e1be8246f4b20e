"""What callers give of images for a model, and of an engine for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _arguments, _convert
from .errors import UsageError


def array_of(images: Any, input_names: list[str]) -> Any:
    """The array of {name: array}, or the images themselves. Anything but arrays is left to be refused."""
    if isinstance(images, Mapping):
        if list(images) != input_names:
            raise UsageError(f"images: the model's input is {input_names[0]!r}, not "
                             f"{', '.join(repr(name) for name in images) or 'none'}")
        return images[input_names[0]]
    if _arguments.is_path(images) or isinstance(images, (bytearray, memoryview)):
        raise _arguments.wrong_type("images", "an array of pixels", images,
                                    "numpy.asarray(PIL.Image.open(path)) is that of a picture, numpy.load(path) of .npy")
    return images


def expected(given: Any) -> dict[str, Any]:
    """Arrays of float32 by output; a single one, which needs no name, has the name ""."""
    if not isinstance(given, Mapping):
        given = {"": given}
    elif not given or not all(isinstance(name, str) for name in given):
        raise _arguments.wrong_type("expected", "an array, or {name of an output: array}", given)
    arrays = {}
    for name, array in given.items():  # no comprehension, which older versions of Python count in stacklevel
        arrays[name] = _convert.floats(f"expected[{name!r}]" if name else "expected", array, stacklevel=4)
    return arrays


def outputs(given: Any) -> list[str]:
    """The names of the outputs to compute; none: all."""
    if given is None:
        return []
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Sequence):
        raise _arguments.wrong_type("output", "a name or a list of names", given)
    return [_arguments.text("output", name) for name in given]


def engine(variant: Any, device: Any, precision: Any, batch: Any, threads: Any, host_memory: Any,
           rewrite: Any) -> dict[str, Any]:
    """The settings of an engine, as _core takes them."""
    return {**_arguments.engine(variant, device, precision, batch, threads, host_memory),
            "rewrite": _arguments.text("rewrite", rewrite)}
