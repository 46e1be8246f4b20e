"""onnxruntime, by its peer program under node."""

import json
import os
import pathlib
import statistics
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "src/bench/onnxruntime.js"


class Refused(Exception):
    """Why onnxruntime does not load or run a model."""


class Peer:
    """A process of onnxruntime that keeps the loaded model and images."""

    def __init__(self, threads):
        places = [os.environ.get("NODE_PATH"), str(ROOT / "build/onnxruntime")]
        self.process = subprocess.Popen(["node", PROGRAM, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "NODE_PATH": ":".join(filter(None, places))})
        greeting = json.loads(self.process.stdout.readline() or '{"error": "node has ended"}')
        if "error" in greeting:
            raise SystemExit(f"no onnxruntime: {greeting['error']}: make deps")
        self.version = greeting["version"]

    def ask(self, *words):
        print(*words, sep="\t", file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("onnxruntime has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"].strip())
        return answer

    def load(self, model, images):
        self.ask("load", model, images)

    def outputs(self):
        """All of them, by name."""
        return {one["name"]: numpy.array(one["values"], "<f4").reshape(one["shape"]) for one in self.ask("outputs")["outputs"]}

    def output(self):
        """The first one."""
        return next(iter(self.outputs().values()))

    def seconds(self, runs):
        return statistics.median(self.ask("time", runs)["seconds"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
