"""Callers' single arguments, checked: TypeError or UsageError that begins with the argument's name."""

from __future__ import annotations

import numbers
import operator
import os
from typing import Any

import numpy as np

from . import _core
from .errors import UsageError


def wrong_type(name: str, expected: str, given: Any, hint: str = "") -> TypeError:
    return TypeError(f"{name}: expected {expected}, not {type(given).__name__}{': ' if hint else ''}{hint}")


def count(name: str, given: Any, least: int = 1, most: int = 2**31 - 1) -> int:
    try:
        value = operator.index(given)
    except TypeError:
        raise wrong_type(name, "a whole number", given) from None
    if not least <= value <= most:
        raise UsageError(f"{name}: expected a number from {least} to {most}, not {value}")
    return value


def number(name: str, given: Any) -> float:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if not isinstance(given, numbers.Real):
        raise wrong_type(name, "a number", given)
    try:
        return float(given)
    except OverflowError:
        raise UsageError(f"{name}: the number is too large") from None


def seconds(name: str, given: Any) -> float | None:
    return None if given is None else number(name, given)


def flag(name: str, given: Any) -> bool:
    if not isinstance(given, (bool, np.bool_)):
        raise wrong_type(name, "True or False", given)
    return bool(given)


def text(name: str, given: Any) -> str:
    """A name that the library knows, or does not."""
    if not isinstance(given, str):
        raise wrong_type(name, "a string", given)
    return given.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def verify(given: Any) -> tuple[bool, int]:
    """Whether all images are recomputed, and otherwise how many."""
    if isinstance(given, (bool, np.bool_)):
        given = "all" if given else None
    if given is None:
        return False, 0
    return (True, 0) if isinstance(given, str) and given == "all" else (False, count("verify", given))


def size(name: str, given: Any) -> int:
    """Of memory in bytes; 0: no limit."""
    return count(name, given, 0, 2**63 - 1)


def engine(variant: Any, device: Any, precision: Any, batch: Any, threads: Any, host_memory: Any) -> dict[str, Any]:
    """The settings of an engine, as _core takes them."""
    return {"variant": text("variant", variant), "device": text("device", device),
            "precision": None if precision is None else text("precision", precision),
            "batch": 0 if batch is None else count("batch", batch),
            "threads": 0 if threads is None else count("threads", threads, most=1024),
            "host_memory": size("host_memory", host_memory)}


def images(given: Any) -> Any:
    """The form of Images that _core accepts."""
    held = getattr(given, "_held", None)
    if not isinstance(held, _core.Images):
        raise wrong_type("images", "Images", given,
                         "Images.from_dense(array), Images.from_scipy(matrix) and Images.read(path) make them")
    return held


def is_path(given: Any) -> bool:
    return isinstance(given, (str, bytes, os.PathLike))


def path(name: str, given: Any) -> bytes:
    """Of any bytes but zero, at which the system would cut it."""
    try:
        encoded = os.fsencode(given)
    except TypeError:
        raise wrong_type(name, "a path", given) from None
    except UnicodeEncodeError:
        raise UsageError(f"{name}: no file can be called {given!r}") from None
    if not encoded or b"\0" in encoded:
        raise UsageError(f"{name}: no file can be called {os.fsdecode(encoded)!r}")
    return encoded


def listener(given: Any) -> Any:
    if given is not None and not callable(given):
        raise wrong_type("progress", "a function of (work, done, total)", given)
    return given
