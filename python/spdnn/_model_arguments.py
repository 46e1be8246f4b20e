"""What callers give of images for a model, and of an engine for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _arguments
from .errors import UsageError


def array_of(images: Any, input_names: list[str]) -> Any:
    """The array of {name: array}, or the images themselves. What is no array is left to be refused."""
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
    return {"variant": _arguments.text("variant", variant), "device": _arguments.text("device", device),
            "precision": None if precision is None else _arguments.text("precision", precision),
            "batch": 0 if batch is None else _arguments.count("batch", batch),
            "threads": 0 if threads is None else _arguments.count("threads", threads, most=1024),
            "host_memory": _arguments.count("host_memory", host_memory, 0, 2**63 - 1),
            "rewrite": _arguments.text("rewrite", rewrite)}
