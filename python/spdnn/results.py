"""The JSON lines of `spdnn infer --json` and of results/, for data frames."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

from . import _arguments
from ._types import Path as _Path
from .errors import DataError

def read_results(paths: _Path | Iterable[_Path]) -> list[dict[str, Any]]:
    """Reads files of JSON lines into flat dicts: {"problem": {"neurons": 1024}} becomes {"problem.neurons": 1024}.

        frame = pandas.DataFrame(spdnn.read_results("results/h200/official.jsonl"))

    Lists stay lists. Each dict also has the `file` and the `line` (from 1) that it comes from. DataError where a line is
    no JSON object, or has two fields of one name, or one of these names.
    """
    if _arguments.is_path(paths):
        paths = [paths]
    if not isinstance(paths, Iterable):
        raise _arguments.wrong_type("paths", "a path or several", paths)
    results = []
    for path in paths:
        name = os.fsdecode(_arguments.path("paths", path))
        number = 0
        try:
            with open(name, "rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        results.append(_unique([("file", name), ("line", number), *_flat("", _record(line))]))
        except OSError as error:
            raise DataError(f"{name}: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"{name}:{number}: expected a JSON object: {error}") from error
        except RecursionError:
            raise DataError(f"{name}:{number}: expected a JSON object: this one is nested too deeply") from None
    return results


def _record(line: bytes) -> dict[str, Any]:
    record = json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
    if not isinstance(record, dict):
        raise ValueError(f"this is a {type(record).__name__}")
    return record


def _unique(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(fields)
    if len(record) < len(fields):
        names = [name for name, _ in fields]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return record


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is no number")
    return float(text)


def _flat(prefix: str, record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield prefix + key, value
