#!/usr/bin/env python3
"""Random ONNX graphs: spdnn reads each, runs it and writes it again; onnxruntime loads the file given and the file
written. All outputs must agree within 1e-4 of the largest one, and the verdict against the reference in fp64 must be
PASSED. A refusal by spdnn must name its node. Needs node, onnxruntime (`make deps`) and protoc.

onnxruntime refuses some graphs, as its shapes of pools with ceil_mode contradict each other, and as it turns padding in
front of a pool into padding that it then refuses.

    onnxruntime_agrees.py PROGRAM [--first SEED] [--graphs COUNT] [--keep FOLDER]
    onnxruntime_agrees.py PROGRAM --model MODEL:SHAPE

The second form takes a model of any format: all outputs that spdnn computes, and those that onnxruntime computes with
the ONNX file that spdnn writes of it. SHAPE is of the images, like 1,3,640,640.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

import onnxruntime_peer
import random_onnx

PROTO = pathlib.Path("/usr/include/onnx/onnx.proto")
TOLERANCE = 1e-4  # of the largest output


class Differs(Exception):
    """A fault of a graph."""


class Refused(Exception):
    """The line by which spdnn refuses a graph, and names its node."""


def run_program(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 3 and re.search(r" node '[^']+'( \(\w+\): |;)", done.stderr) and done.stderr.count("\n") == 1:
        raise Refused(done.stderr.strip())
    if done.returncode != 0:
        raise Differs(f"{words[1]} ends with {done.returncode}: {done.stderr.strip()}")


def require_near(found, expected, what):
    if found.shape != expected.shape:
        raise Differs(f"{what}: the shape {found.shape}, expected {expected.shape}")
    apart = numpy.abs(found.astype(float) - expected)
    if not apart.max() <= TOLERANCE * max(1e-3, numpy.abs(expected).max()):
        raise Differs(f"{what}: {apart.max():.3g} apart, the largest output is {numpy.abs(expected).max():.3g}")


def check(program, peer, graph, folder):
    given, written, images = folder / "given.onnx", folder / "written.onnx", folder / "images.npy"
    with open(given, "wb") as file:
        subprocess.run(["protoc", f"--proto_path={PROTO.parent}", "--encode=onnx.ModelProto", PROTO], check=True,
                       input=graph.text().encode(), stdout=file)
    numpy.save(images, graph.make_input())
    peer.load(given, images)
    expected = peer.output()
    report, logits, again = folder / "report.json", folder / "logits.npy", folder / "again.npy"
    run_program(program, "infer", "--model", given, "--inputs", images, "--verify", "all", "--logits", logits, "--json",
                report, "--progress", "never", "--threads", "1")
    require_near(numpy.load(logits), expected, "spdnn and onnxruntime")
    verdict = json.loads(report.read_text())["verdict"]["status"]
    if verdict != "PASSED":
        raise Differs(f"the verdict is {verdict}")
    run_program(program, "convert", given, written)
    require_near(outputs_of_written(peer, written, images), expected, "the file written and the one given, in onnxruntime")
    run_program(program, "convert", given, written, "--weights", "sparse")
    require_near(outputs_of_written(peer, written, images), expected, "sparse initializers and dense ones, in onnxruntime")
    run_program(program, "infer", "--model", written, "--inputs", images, "--logits", again, "--progress", "never",
                "--threads", "1")
    require_near(numpy.load(again), expected, "sparse initializers in spdnn, and onnxruntime")


def all_of_written(peer, written, images):
    try:
        peer.load(written, images)
        return peer.outputs()
    except onnxruntime_peer.Refused as problem:
        if "Pad should be smaller than kernel" in str(problem):  # which onnxruntime made of a Pad in front of a pool
            raise
        raise Differs(f"the file written: {problem}") from problem


def outputs_of_written(peer, written, images):
    """The first of them."""
    return next(iter(all_of_written(peer, written, images).values()))


def check_model(program, peer, model, shape, folder):
    written, images, outputs = folder / "written.onnx", folder / "images.npy", folder / "outputs.npz"
    run_program(program, "generate", "tensors", "--shape", shape, "--seed", "1", "--out", images)
    run_program(program, "infer", "--model", model, "--inputs", images, "--logits", outputs, "--progress", "never")
    run_program(program, "convert", model, written)
    expected, found = numpy.load(outputs), all_of_written(peer, written, images)
    if list(found) != list(expected):
        raise Differs(f"{model}: the outputs {list(found)}, expected {list(expected)}")
    for name, values in found.items():
        require_near(values, expected[name], f"{name} of {model} in onnxruntime and in spdnn")
    print(f"{model}: onnxruntime agrees on {', '.join(found)}")


def check_graphs(options, peer):
    counts = collections.Counter()
    for seed in range(options.first, options.first + options.graphs):
        graph = random_onnx.RandomGraph(seed)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            try:
                check(options.program, peer, graph, folder)
                kind, problem = "agree", ""
            except Refused as refusal:
                kind, problem = "refused", f"refused: {refusal}"
            except onnxruntime_peer.Refused as refusal:
                kind, problem = "without", f"refused by onnxruntime: {refusal}"
            except Differs as difference:
                kind, problem = "differ", str(difference)
            counts[kind] += 1
            if problem:
                print(f"seed {seed}, set {graph.opset}: {problem}", flush=True)
            if kind == "differ" and options.keep:
                shutil.copytree(folder, options.keep / f"seed{seed}", dirs_exist_ok=True)
    print(f"{counts['agree']} of {options.graphs} graphs agree, {counts['refused']} are refused by the name of a node, "
          f"{counts['without']} by onnxruntime, {counts['differ']} differ")
    # Too many refusals would make the comparison worthless.
    most = max(1, options.graphs // 50)
    if counts["differ"] > 0 or counts["without"] > most or counts["refused"] > 4 * most:
        raise Differs("too few graphs agree")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--graphs", type=int, default=300, metavar="COUNT")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="for the files of graphs that differ")
    parser.add_argument("--model", metavar="MODEL:SHAPE")
    options = parser.parse_args()
    peer = onnxruntime_peer.Peer(1)
    try:
        if options.model:
            with tempfile.TemporaryDirectory() as name:
                check_model(options.program, peer, *options.model.rsplit(":", 1), pathlib.Path(name))
        else:
            check_graphs(options, peer)
    except (Differs, Refused) as problem:
        sys.exit(str(problem))
    finally:
        peer.close()


if __name__ == "__main__":
    main()
