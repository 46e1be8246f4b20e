#!/usr/bin/env python3
"""Prints links and paths in the repository's pages that do not exist; exit status 1 if there are any.

usage: dead_links.py [ROOT]

Pages are README.md, CONTRIBUTING.md, docs/*.md, results/**/*.md and every README.md below src. Checks relative links,
with their #headings, and text in backticks or fenced blocks that begins with a folder of the repository. `a/{b,c}` means
two paths, `*` and NAME any name.
"""

import itertools
import pathlib
import re
import sys

FOLDERS = ("data_scripts/", "docs/", "include/", "jobs/", "make/", "results/", "src/", "tests/")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\s]+)`")
BRACES = re.compile(r"\{([^{}]*)\}")
BLOCK_PATH = re.compile(r"(?:%s)[\w./{},*-]*[\w}*]" % "|".join(FOLDERS))


def pages(root):
    found = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("results/**/*.md"), *root.glob("src/**/README.md")]
    return [page for page in found if page.is_file()]


def expansions(path):
    """The paths that a pattern with {a,b} stands for; `...` in braces stands for nothing that could be checked."""
    parts = BRACES.split(path)
    choices = [[part] if i % 2 == 0 else part.split(",") for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices) if "..." not in choice]


def headings(page):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def link_works(page, link):
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not heading or heading in headings(target)


def path_exists(root, page, path):
    return any(any(base.glob(path.replace("NAME", "*"))) for base in (root, page.parent))


def dead_in(root, page):
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        links = [] if fenced else LINK.findall(line)
        paths = BLOCK_PATH.findall(line) if fenced else [p for p in CODE.findall(line) if p.startswith(FOLDERS)]
        dead = [link for link in links if "://" not in link and not link_works(page, link)]
        dead += [path for each in paths for path in expansions(each.rstrip("/")) if not path_exists(root, page, path)]
        for target in dead:
            yield f"{page.relative_to(root)}:{number}: {target}"


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    dead = [line for page in pages(root) for line in dead_in(root, page)]
    print("\n".join(dead), end="\n" if dead else "")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
