#!/usr/bin/env python3
"""What a call from Python costs beyond the program's phases, and what memory a large network takes: the numbers of
docs/python.md. usage: python_calls.py MNIST (with PYTHONPATH=build/python)"""

import pathlib
import statistics
import subprocess
import sys
import time

import spdnn

CALLS = 20


def extra(network, images, **options):
    """Median milliseconds of infer() beyond the total of its report."""
    def once():
        started = time.perf_counter()
        outcome = spdnn.infer(network, images, device="cpu", **options)
        return time.perf_counter() - started - outcome.report["seconds"]["total"]

    return 1e3 * statistics.median(once() for _ in range(CALLS))


def main():
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
