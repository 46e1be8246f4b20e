"""The JSON lines of `spdnn infer --json` and of results/, for data frames."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Union

from .errors import DataError

_Path = Union[str, "os.PathLike[str]"]


def read_results(paths: _Path | Iterable[_Path]) -> list[dict[str, Any]]:
    """Reads files of JSON lines into flat dicts: {"problem": {"neurons": 1024}} becomes {"problem.neurons": 1024}.

        frame = pandas.DataFrame(spdnn.read_results("results/h200/official.jsonl"))

    Lists stay lists. Each dict also has the `file` and the `line` (from 1) that it comes from.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    results = []
    for path in paths:
        name = os.fspath(path)
        number = 0
        try:
            with open(name, "rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        results.append({"file": name, "line": number, **dict(_flat("", _record(line)))})
        except OSError as error:
            raise DataError(f"{name}: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"{name}:{number}: expected a JSON object: {error}") from error
    return results


def _record(line: bytes) -> dict[str, Any]:
    record = json.loads(line.decode("utf-8"))
    if not isinstance(record, dict):
        raise ValueError(f"this is a {type(record).__name__}")
    return record


def _flat(prefix: str, record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield prefix + key, value
