"""What callers give of images for a model, and of an engine for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _arguments
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


def engine(variant: Any, device: Any, precision: Any, batch: Any, threads: Any, host_memory: Any,
           rewrite: Any) -> dict[str, Any]:
    """The settings of an engine, as _core takes them."""
    return {**_arguments.engine(variant, device, precision, batch, threads, host_memory),
            "rewrite": _arguments.text("rewrite", rewrite)}
