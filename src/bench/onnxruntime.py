"""onnxruntime under Python, with the commands and answers of onnxruntime.js."""

import json
import math
import sys
import time


def say(found):
    print(json.dumps(found), flush=True)


def numbers(values):
    return [value if math.isfinite(value) else None for value in map(float, values.ravel())]


class Loaded:
    """A model and an input in memory."""

    def __init__(self, ort, numpy, model, images, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feeds = {self.session.get_inputs()[0].name: numpy.load(images)}

    def run(self):
        return self.session.run(None, self.feeds)

    def outputs(self):
        names = [output.name for output in self.session.get_outputs()]
        return [{"name": name, "shape": values.shape, "values": numbers(values)} for name, values in zip(names, self.run())]

    def seconds(self):
        before = time.perf_counter()
        self.run()
        return time.perf_counter() - before


def main(threads):
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        say({"error": str(error)})
        return
    say({"version": onnxruntime.__version__})
    loaded = None
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            if command == "load":
                loaded = Loaded(onnxruntime, numpy, *words, threads)
                say({})
            elif command == "outputs":
                say({"outputs": loaded.outputs()})
            else:
                say({"seconds": [loaded.seconds() for _ in range(int(words[0]))]})
        except Exception as error:  # onnxruntime's have no common class
            say({"error": str(error)})


main(int(sys.argv[-1]))
