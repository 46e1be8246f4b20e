"""Lines of scaling.jsonl, and how numbers and tables are written in the page made of them."""

import json
import math


class BadLine(Exception):
    pass


def refuse_constant(name):
    raise BadLine(f"{name} is no number")


def parse(text):
    """One run of spdnn infer; `spdnn report`, which reads the same lines, checks its fields."""
    try:
        line = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg} in column {error.colno}") from None
    if not isinstance(line, dict) or line.get("schema") != "spdnn-run-1":
        raise BadLine("expected a line of schema spdnn-run-1")
    return line


def fixed(value, digits=4):
    """A number with `digits` significant digits, never with an exponent."""
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def table(head, rows):
    """Aligned Markdown. Missing cells at the end of a row become `-`. Columns of numbers are right-aligned."""
    cells = [[str(cell) for cell in row] + ["-"] * (len(head) - len(row)) for row in rows]
    widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
    numeric = [all(row[i][:1].isdigit() or row[i] == "-" for row in cells) for i in range(len(head))]
    widths = [max(width, 3) for width in widths]
    rule = ["-" * (width - 1) + ":" if right else "-" * width for width, right in zip(widths, numeric)]
    lines = [[text.rjust(width) if right else text.ljust(width) for text, width, right in zip(line, widths, numeric)]
             for line in [head, *cells]]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
