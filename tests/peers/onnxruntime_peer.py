"""onnxruntime, by its peer program under node."""

import json
import pathlib
import statistics
import subprocess

import numpy

PROGRAM = pathlib.Path(__file__).resolve().parent / "onnxruntime_peer.js"


class Refused(Exception):
    """Why onnxruntime does not load or run a model."""


class Peer:
    """Has a model and images in memory once they are loaded."""

    def __init__(self, threads):
        self.process = subprocess.Popen(["node", PROGRAM, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, *words):
        print(*words, sep="\t", file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("onnxruntime has ended; is it installed? make deps")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"].strip())
        return answer

    def load(self, model, images):
        return self.ask("load", model, images)["version"]

    def outputs(self):
        answer = self.ask("outputs")
        return numpy.array(answer["values"], "<f4").reshape(answer["shape"])

    def seconds(self, runs):
        return statistics.median(self.ask("time", runs)["seconds"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
