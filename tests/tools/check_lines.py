#!/usr/bin/python3
"""Checks every line of JSON lines files against tests/schema/results.schema.json; prints FILE:LINE: FIELD: REASON for
each invalid one. Exit status: 0, or 1 if there are any. The interpreter is Debian's, which has Debian's jsonschema.
With --schema, checks the schema itself, too, which takes as long as 20 lines.

usage: check_lines.py [--schema] FILE...
"""

import functools
import json
import operator
import pathlib
import sys

import jsonschema

SCHEMA = pathlib.Path(__file__).parents[1] / "schema" / "results.schema.json"


def no_number(text):
    raise ValueError(f"{text} is no number in JSON")


def inlined(part, schema):
    """A part of the schema with its references replaced by what they name, which jsonschema looks up for each value."""
    if isinstance(part, list):
        return [inlined(one, schema) for one in part]
    if not isinstance(part, dict):
        return part
    if set(part) == {"$ref"}:
        return inlined(functools.reduce(operator.getitem, part["$ref"].removeprefix("#/").split("/"), schema), schema)
    return {key: one if key == "$defs" else inlined(one, schema) for key, one in part.items()}


def faults_of(validator, line):
    """The faults of one line, each with its place and reason."""
    try:
        value = json.loads(line, parse_constant=no_number)
    except ValueError as error:
        yield "", str(error)
        return
    for error in validator.iter_errors(value):
        # Of alternatives, such as null or an object, the best match says more than that none fits.
        best = jsonschema.exceptions.best_match([error])
        yield ".".join(map(str, best.absolute_path)), best.message[:200]


def main(paths):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if "--schema" in paths:
        jsonschema.Draft202012Validator.check_schema(schema)
        paths = [path for path in paths if path != "--schema"]
    validator = jsonschema.Draft202012Validator(inlined(schema, schema))
    lines = wrong = 0
    for path in paths:
        for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
            lines += 1
            faults = list(faults_of(validator, line))
            wrong += bool(faults)
            for where, what in faults:
                print(f"{path}:{number}: {where or 'line'}: {what}")
    print(f"{lines} lines, {wrong} that do not fit")
    return 1 if wrong or lines == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
