#!/usr/bin/env python3
"""The overhead of a call from Python beyond the program's phases, and the memory of a large network: the numbers of
docs/python.md. usage: python_calls.py MNIST SPDNN (with PYTHONPATH=build/python)"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import spdnn

CALLS = 20


def extra(network, images, **options):
    """Median milliseconds of infer() beyond the total of its report."""
    def once():
        started = time.perf_counter()
        outcome = spdnn.infer(network, images, device="cpu", **options)
        return time.perf_counter() - started - outcome.report["seconds"]["total"]

    return 1e3 * statistics.median(once() for _ in range(CALLS))


def session_calls(program):
    """Microseconds of a session's call with one image of lenet5, and of the engine alone, the medians of 1000; bytes that
    1000 calls add to the process."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lenet5.onnx"
        subprocess.check_call([program, "generate", "model", "--family", "lenet5", "--out", path])
        model = spdnn.load_model(path)
    image = np.random.default_rng(7).random((1, 1, 28, 28), np.float32)
    alone = model.infer(image, batch=1, threads=1, trials=1000, warm_up=100).report["seconds"]["infer"]["median"]
    session = model.compile(batch=1, threads=1)

    def once():
        started = time.perf_counter()
        session(image)
        return time.perf_counter() - started

    def resident():
        with open("/proc/self/statm", encoding="ascii") as status:
            return int(status.read().split()[1]) * 4096

    for _ in range(100):
        once()
    before = resident()
    return 1e6 * statistics.median(once() for _ in range(1000)), 1e6 * alone, resident() - before


def main():
    call, alone, more = session_calls(sys.argv[2])
    print(f"a session of lenet5, one image: {call:.1f} us, of which the engine {alone:.1f} us; {more} bytes more after 1000")
    images = spdnn.Images.official(sys.argv[1], 1024)
    network = spdnn.Network.official(1024, 120)
    small = spdnn.Images.from_scipy(images.to_scipy()[:100])
    for name, given in {"a network": network, "a plan": spdnn.plan(network)}.items():
        print(f"{name}, 60000 official images: {extra(given, images):.2f} ms, checking them by digest included")
        print(f"{name}, 100 images: {extra(given, small):.2f} ms")
    script = pathlib.Path(__file__).parents[1] / "python/peak_memory.py"
    given, more = map(int, subprocess.check_output([sys.executable, "-B", script, "1000"]).split())
    print(f"a CSR matrix of {given / 1e6:.0f} MB: {more / 1e6:.1f} MB more at the peak")


if __name__ == "__main__":
    main()
