#!/usr/bin/env python3
"""Prunes models to several shares of zeros with `spdnn prune`, and compares for each what the planner chose with all zeros
multiplied and with zeros skipped wherever a kernel does (choice_bench.cpp), which prints a line for each model. Exit status 1
if a chosen program is more than 3 % slower than the better one of the others.

    tests/bench/choice_sweep.py --build build/release --sparsity 0,0.5,0.9 MODEL...[=SHAPE]

A SHAPE such as N,3,224,224 is that of a model whose own is open. --also takes models that are compared as they are."""

import argparse
import pathlib
import subprocess
import sys
import tempfile


def pruned(options, model, share, folder):
    path, _, shape = model.partition("=")
    out = folder / f"{pathlib.Path(path).stem}-{pathlib.Path(path).parent.name}-{share}.spdnn"
    command = [options.build / "spdnn", "prune", path, out, "--sparsity", share, "--threads", "1"]
    subprocess.run(command + (["--shape", shape] if shape else []), check=True, stdout=subprocess.DEVNULL)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--sparsity", default="0,0.5,0.6,0.7,0.8,0.9,0.95")
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--turns", default="40")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = [pruned(options, model, share, pathlib.Path(folder))
                for model in options.models for share in options.sparsity.split(",")]
        bench = [options.build / "choice_bench", "--turns", options.turns]
        return subprocess.run([*bench, *made, *options.also]).returncode


sys.exit(main())
