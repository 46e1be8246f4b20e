#!/usr/bin/env python3
"""Checks that all forms of a report hold the same tables, cell by cell. usage: forms_agree.py STEM

STEM.md, STEM.csv (the table `submission`), STEM.tex and STEM.html are reports of the same lines. LaTeX says in the caption what
is the same in all rows; the other forms show every column.
"""

import csv
import html.parser
import pathlib
import re
import sys


class Page(html.parser.HTMLParser):
    """The tables of a page, by id, as lists of rows of text; those of charts' numbers are left out."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.rows, self.cell, self.values = {}, None, None, {}
        self.feed(text)
        self.tables = {name: rows for name, rows in self.tables.items() if not name.endswith("-numbers")}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.rows = self.tables.setdefault(attributes["id"], [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""
            self.value = attributes.get("data-value")

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell)
            if self.value is not None:
                self.check(float(self.value), self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def check(self, value, text):
        """The number by which a table is sorted is the one that is shown, unrounded."""
        shown = re.match(r"-?[0-9.]+", text)
        decimals = len(shown[0].partition(".")[2]) if shown else 0
        if shown and not re.search(r"[0-9]-", text) and abs(value - float(shown[0])) > 0.5001 * 10**-decimals:
            sys.exit(f"a cell shows {text} and is sorted as {value}")


def markdown(text):
    tables, rows = [], None
    for line in text.split("\n"):
        if not line.startswith("|"):
            rows = None
            continue
        if rows is None:
            tables.append(rows := [])
        cells = [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        rows.append([cell.replace("&lt;", "<").replace("&amp;", "&") for cell in cells])
    return [[rows[0], *rows[2:]] for rows in tables]


def latex(text):
    """The parts of a table that goes on over several pages are put together again."""
    tables = []
    for page in re.findall(r"\\begin\{minipage\}.*?\\end\{minipage\}", text, re.DOTALL):
        body = re.search(r"\\begin\{tabular\}\{[rl]*\}\n(.*)\\end\{tabular\}", page, re.DOTALL)[1]
        rows = [[plain(cell.strip()) for cell in line.removesuffix(" \\\\").split(" & ")]
                for line in body.split("\n")[:-1] if line != "\\hline"]
        if "(continued)" in page:
            tables[-1] += rows[1:]
        else:
            tables.append(rows)
    return tables


def plain(text):
    """What a cell of LaTeX shows."""
    words = {"\\textbackslash{}": "\\", "\\textasciitilde{}": "~", "\\textasciicircum{}": "^", "\\textless{}": "<",
             "\\textgreater{}": ">", "\\textbar{}": "|", "{[}": "[", "{]}": "]", "-{}": "-", "`{}": "`"}
    pattern = "|".join(map(re.escape, words))
    return re.sub(rf"({pattern})|\\([{{}}$&#_%])", lambda match: words.get(match[1], match[2]), text)


def in_ascii(text):
    return re.sub(r"[^ -~]", "?", text.replace('"', "''"))


def name_in_csv(head):
    name = head.replace("%", "percent").replace("/", "_per_")
    return re.sub("_+", "_", re.sub("[^A-Za-z0-9.+=@-]", "_", name)).strip("_")


def same(name, ours, theirs):
    if ours != theirs:
        for a, b in zip(ours, theirs):
            if a != b:
                sys.exit(f"{name}: {a}\nis not   {b}")
        sys.exit(f"{name}: {len(ours)} rows, not {len(theirs)}")


def main(stem):
    read = lambda suffix: pathlib.Path(stem + suffix).read_text(encoding="utf-8")
    page = Page(read(".html")).tables
    in_markdown, in_latex = markdown(read(".md")), latex(read(".tex"))
    if not len(page) == len(in_markdown) == len(in_latex):
        sys.exit(f"{len(page)} tables in HTML, {len(in_markdown)} in Markdown, {len(in_latex)} in LaTeX")
    for (name, rows), in_md, in_tex in zip(page.items(), in_markdown, in_latex):
        same(f"{name} in Markdown", in_md, rows)
        columns = [i for i, head in enumerate(rows[0]) if head in in_tex[0]]
        same(f"{name} in LaTeX", in_tex, [[in_ascii(row[i]) for i in columns] for row in rows])
        for i in set(range(len(rows[0]))) - set(columns):
            if len({row[i] for row in rows[1:]}) != 1:
                sys.exit(f"{name} in LaTeX: {rows[0][i]} is left out, but varies")
    in_csv = [[re.sub("^'(?= *[-=+@])", "", cell) for cell in row] for row in csv.reader(read(".csv").split("\n")[:-1])]
    heads = [name_in_csv(head) for head in page["submission"][0]]
    same("submission in CSV", [in_csv[0]], [heads])
    same("submission in CSV", [[cell or "-" for cell in row] for row in in_csv[1:]], page["submission"][1:])
    print(f"{len(page)} tables, {sum(map(len, page.values()))} rows: the same in all forms")


if __name__ == "__main__":
    main(sys.argv[1])
