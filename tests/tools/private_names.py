#!/usr/bin/env python3
"""Names of private functions that a later file of the same unit has too, or calls as those of a header.

make compiles the files of a directory a few at a time, as one unit. There, two functions of one name in anonymous
namespaces overload one another, and a private function hides one that a neighbour calls, so that a call may quietly
reach the wrong one. Reads the units from stdin (make print-units), prints UNIT: NAME, FILE, FILE for each such name, and
ends with 1 if there is one. usage: make -s print-units | private_names.py
"""

import pathlib
import re
import sys

FUNCTION = re.compile(r"(?:template.*> )?(?:\[\[\w+\]\] )?(?:inline |static |constexpr )*[A-Za-z][\w:<>,&* ]*[ &*](\w+)\(")


def private_functions(path):
    private = False
    for line in path.read_text().splitlines():
        if line == "namespace {":
            private = True
        elif line == "}  // namespace":
            private = False
        elif private and not line.startswith(("TEST", "using ", "return ")) and (match := FUNCTION.match(line)):
            yield match.group(1)


OVERLOADS = {"fields"}  # of each type that ranks exchange, by design (src/cluster/parcel.hpp)
CALL = re.compile(r"(?<![\w.>:~])(\w+)\(")


def calls(path):
    text = re.sub(r"//.*", "", path.read_text())
    return set(CALL.findall(re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)))


def declared(roots=("include", "src", "tests")):
    """Names of free functions that headers declare."""
    texts = (path.read_text() for root in roots for path in pathlib.Path(root).rglob("*.hpp"))
    return {match.group(1) for text in texts for line in text.splitlines() if (match := FUNCTION.match(line))}


def main():
    found = 0
    headers = declared()
    for line in sys.stdin:
        unit, names = line.strip().split("=")
        files = [pathlib.Path(name) for name in names.split(":")]
        private = {path: set(private_functions(path)) for path in files}
        called = {path: calls(path) & headers for path in files}
        for k, path in enumerate(files):
            for later in files[k + 1:]:
                for name in sorted(private[path] & (private[later] | called[later]) - OVERLOADS):
                    print(f"{unit}: {name}, {path.name}, {later.name}")
                    found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
