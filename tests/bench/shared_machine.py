#!/usr/bin/env python3
"""How runs slow down while other programs keep the processors busy: several builds or settings of spdnn, in turns.

    shared_machine.py --mnist IDX [--vgg8 MODEL.onnx] old=/path/to/spdnn new=build/spdnn passive='OMP_WAIT_POLICY=passive build/spdnn'

For each load it starts that number of busy loops, then runs each problem by each contender in turns, and prints the
least and the median time of inference and of the whole process, the median ratio of neighbouring runs to the first
contender's, and the slow-down over the contender's time at the first load. Other programs add to the load: the mean of
/proc/loadavg over each block is printed beside it. Files are made once, in --folder. Root can measure an idle machine
on a busy one: `chrt -f 10 shared_machine.py --loads 0 ...` runs before all else. Give GOMP_SPINCOUNT then, as the
program still sees that the machine is busy.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import time


def make_problems(options, spdnn):
    """Arguments of `spdnn infer` by name; files that are missing are made."""
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)

    def made(name, *arguments):
        if not (folder / name).exists():
            subprocess.run([*spdnn, "generate", *arguments, "--out", folder / name], check=True, stdout=sys.stderr)
        return str(folder / name)

    problems = {}
    if options.mnist:
        official = ["--family", "official", "--neurons", "1024"]
        problems["1024x120"] = [
            "--network", made("n1024.spdnn", "network", *official, "--layers", "120"),
            "--inputs", made("i1024.spdnn", "inputs", *official, "--mnist", options.mnist), "--device", "cpu"]
    problems["lenet5 x 1000"] = [
        "--model", made("lenet5.onnx", "model", "--family", "lenet5", "--sparsity", "0.9"),
        "--inputs", made("lenet5.npy", "tensors", "--shape", "1000,1,28,28")]
    problems["resnet50 x 1"] = [
        "--model", made("resnet50.spdnn", "model", "--family", "resnet50"),
        "--inputs", made("resnet50.npy", "tensors", "--shape", "1,3,224,224")]
    if options.vgg8:
        problems["vgg8 x 1"] = [
            "--model", options.vgg8, "--inputs", made("vgg8.npy", "tensors", "--shape", "1,1,28,28")]
    return {name: problems[name] for name in problems if not options.only or name in options.only}


@contextlib.contextmanager
def busy(loops):
    """`loops` processes that never sleep."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))) for _ in range(loops)]
    try:
        time.sleep(1 if running else 0)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(command, problem, trials):
    """Seconds of inference (median of the trials) and of the whole process."""
    begin = time.monotonic()
    printed = subprocess.run([*command, "infer", *problem, "--trials", str(trials), "--json", "-"], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    wall = time.monotonic() - begin
    line = next(line for line in printed.splitlines() if line.startswith('{"schema"'))
    return json.loads(line)["seconds"]["infer"]["median"], wall


def measure(contenders, problem, options):
    """Lists of (infer, wall) by contender, whose runs take turns."""
    times = {name: [] for name in contenders}
    for _ in range(options.runs):
        for name, command in contenders.items():
            times[name].append(run(command, problem, options.trials))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="+", metavar="NAME=COMMAND", help="COMMAND may begin with VARIABLE=VALUE")
    parser.add_argument("--loads", default="0,5,10", help="numbers of busy loops")
    parser.add_argument("--runs", type=int, default=15, help="processes per contender, problem and load")
    parser.add_argument("--trials", type=int, default=3, help="trials in each of them")
    parser.add_argument("--mnist", help="MNIST's training images, for the official problem")
    parser.add_argument("--vgg8", help="the model vgg8-90")
    parser.add_argument("--only", action="append", help="a problem by name")
    parser.add_argument("--folder", default="build/bench/shared_machine")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and so ends the busy loops
    named = dict(contender.split("=", 1) for contender in options.contenders)
    contenders = {name: ["env", *shlex.split(command)] for name, command in named.items()}
    problems = make_problems(options, next(iter(contenders.values())))

    print(f"{'problem':<14} {'busy':>4} {'load':>5} {'contender':<10} {'infer: min':>11} {'median':>9} {'ratio':>6} "
          f"{'slower':>6} | {'process: min':>12} {'median':>9} {'ratio':>6}   times in ms")
    idle = {}
    for loops in map(int, options.loads.split(",")):
        with busy(loops):
            for problem, arguments in problems.items():
                before = os.getloadavg()[0]
                times = measure(contenders, arguments, options)
                load = (before + os.getloadavg()[0]) / 2
                first = next(iter(times.values()))
                for name, own in times.items():
                    columns = []
                    for which in (0, 1):
                        seconds = [one[which] for one in own]
                        ratio = statistics.median(one[which] / other[which] for one, other in zip(own, first))
                        columns.append((min(seconds) * 1e3, statistics.median(seconds) * 1e3, ratio))
                    infer, wall = columns
                    slower = infer[1] / idle.setdefault((problem, name), infer[1])
                    print(f"{problem:<14} {loops:>4} {load:>5.1f} {name:<10} {infer[0]:>11.2f} {infer[1]:>9.2f} "
                          f"{infer[2]:>6.2f} {slower:>6.1f} | {wall[0]:>12.2f} {wall[1]:>9.2f} {wall[2]:>6.2f}",
                          flush=True)


if __name__ == "__main__":
    main()
