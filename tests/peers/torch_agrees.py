#!/usr/bin/env python3
"""Blocks of well-known CNNs (torch_blocks.py), exported by PyTorch in operator sets 11 and 16, with a fixed and an open
number of images: spdnn reads each file, runs it and verifies it, all outputs must be PyTorch's, and the file that
`convert` writes of it must give the same. Needs Debian's python3-torch.

    torch_agrees.py PROGRAM [--blocks NAME ...] [--sets N ...] [--keep FOLDER]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch

import torch_blocks

# Open files that are refused, and how: the images move to another axis and back.
REFUSED = {"vit": "the batch axis must stay axis 0; give the batch a fixed size"}
FIXED, OPEN = 2, 3  # images; an open file is exported with FIXED ones and run with OPEN


class Differs(Exception):
    """What is wrong with a file."""


def run_program(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Differs(f"{words[1]} ends with {done.returncode}: {done.stderr.strip()}")


def export(module, shape, version, is_open, path):
    names = [f"out{i}" for i in range(len(outputs_of(module, torch.zeros(1, *shape))))]
    axes = {name: {0: "batch"} for name in ["input", *names]} if is_open else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that tracing keeps as constants
        torch.onnx.export(module, torch.rand(FIXED, *shape), path, opset_version=version, input_names=["input"],
                          output_names=names, dynamic_axes=axes)
    return names


def outputs_of(module, images):
    with torch.no_grad():
        found = module(images)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def check(program, name, version, is_open, folder):
    module, shape = torch_blocks.make(name), torch_blocks.BLOCKS[name][1]
    model, images, expected = folder / "model.onnx", folder / "images.npy", folder / "expected.npz"
    names = export(module, shape, version, is_open, model)
    inputs = torch.rand(OPEN if is_open else FIXED, *shape) * 2 - 1
    numpy.save(images, inputs.numpy())
    numpy.savez(expected, **{one: output.numpy() for one, output in zip(names, outputs_of(module, inputs))})
    run_program(program, "convert", model, folder / "written.onnx")
    run_program(program, "convert", model, folder / "written.spdnn")
    for file in ("model.onnx", "written.onnx", "written.spdnn"):
        report = folder / f"{file}.json"
        run_program(program, "infer", "--model", folder / file, "--inputs", images, "--expected", expected, "--verify",
                    "all", "--progress", "never", "--threads", "1", "--json", report)
        line = json.loads(report.read_text())
        if line["verdict"]["status"] != "PASSED":
            raise Differs(f"{file}: {line['verdict']['status']} {line['verdict']['against']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--blocks", nargs="+", default=list(torch_blocks.BLOCKS), metavar="NAME")
    parser.add_argument("--sets", nargs="+", type=int, default=[11, 16], metavar="N")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="for all files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    agree = wrong = refused = 0
    for name in options.blocks:
        for version in options.sets:
            for is_open in (False, True):
                title = f"{name}-{version}-{'open' if is_open else 'fixed'}"
                with tempfile.TemporaryDirectory() as temporary:
                    folder = options.keep / title if options.keep else pathlib.Path(temporary)
                    folder.mkdir(parents=True, exist_ok=True)
                    try:
                        check(options.program, name, version, is_open, folder)
                        agree += 1
                    except Differs as difference:
                        if is_open and name in REFUSED and REFUSED[name] in str(difference):
                            refused += 1
                            continue
                        wrong += 1
                        print(f"{title}: {difference}", flush=True)
    print(f"{agree} of {agree + wrong} files agree, {refused} refused as they should be")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
