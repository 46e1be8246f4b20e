#!/usr/bin/env python3
"""Prints the build commands of a container recipe as a shell script: the RUN lines of a Dockerfile, or the %post of an
Apptainer definition. Exit status 2 if the recipe is neither, or has unknown sections.

usage: recipe_commands.py FILE
"""

import re
import sys

DOCKER = {"FROM", "RUN", "COPY", "ENV", "ENTRYPOINT", "CMD"}
APPTAINER = {"files", "post", "environment", "runscript", "test", "labels", "help"}


def fail(message):
    sys.exit(f"recipe_commands.py: {message}")


def of_dockerfile(text):
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    instructions = [line.split(None, 1) for line in "\n".join(lines).replace("\\\n", " ").splitlines()]
    unknown = {word for word, _ in instructions} - DOCKER
    if unknown or instructions[0][0] != "FROM":
        fail(f"expected FROM and {', '.join(sorted(DOCKER))}, found {', '.join(sorted(unknown)) or instructions[0][0]}")
    return [re.sub(r"\s+", " ", rest) for word, rest in instructions if word == "RUN"]


def of_apptainer(text):
    header, *sections = re.split(r"^%", text, flags=re.MULTILINE)
    if not re.search(r"^Bootstrap: \w+\nFrom: \S+$", header, re.MULTILINE):
        fail("expected Bootstrap: and From:")
    bodies = dict(section.split("\n", 1) for section in sections)
    if set(bodies) - APPTAINER or "post" not in bodies:
        fail(f"expected %post and others of {', '.join(sorted(APPTAINER))}, found {', '.join(sorted(bodies))}")
    return [line.strip() for line in bodies["post"].splitlines() if line.strip()]


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    print("\n".join(of_dockerfile(text) if path.endswith("Dockerfile") else of_apptainer(text)))


if __name__ == "__main__":
    main()
