#!/usr/bin/env python3
"""Kills writers at random moments, lets two write the same thing at once and lets others read meanwhile.

After every trial the old or the new output must be there whole: a directory is read back by `spdnn convert`, files are
compared byte for byte. A directory whose files have to be replaced one by one may also be refused by the reader, with
the error that says so, and so may a model in two files. After a kill the next writer must succeed and leave no temporary name behind. The counts are
printed; any failure is printed too, and the exit status is 1.

    outputs.py SPDNN [--kills 500] [--pairs 200] [--readers 100] [--depths 40,40] [--seed 1]

Everything is written under TMPDIR.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

OTHER_WEIGHTS = "it was written with other weights"
HALF_WAY = "its files were being replaced when the writer was stopped"
BIAS = ["--bias", "-0.2"]


class Series:
    """The program, its inputs, and counters."""

    def __init__(self, options, place):
        self.options = options
        self.program = options.program.resolve()
        self.place = place
        self.random = random.Random(options.seed)
        self.counts = collections.Counter()
        self.failures = []
        self.sources = {}
        for name, seed, depth in zip("AB", (1, 2), options.depths):
            path = place / f"{name}.spdnn"
            self.must(["generate", "network", "--family", "random", "--neurons", 256, "--layers", depth, "--degree", 8,
                       "--seed", seed, *BIAS, "--out", path])
            self.sources[name] = path
        for name, images in (("A", 300), ("B", 400)):
            self.must(["generate", "inputs", "--family", "digits", "--neurons", 256, "--images", images, "--seed", 3,
                       "--out", place / f"images-{name}.spdnn"])
            self.must(["generate", "model", "--family", "lenet5", "--seed", images, "--out", place / f"model-{name}.spdnn"])

    def start(self, arguments):
        return subprocess.Popen([self.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.place)

    def run(self, arguments):
        process = self.start(arguments)
        _, errors = process.communicate()
        return process.returncode, errors.strip()

    def must(self, arguments):
        code, errors = self.run(arguments)
        if code != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: exit {code}: {errors}")

    def fail(self, what):
        self.counts["FAILED"] += 1
        self.failures.append(what)
        print("FAILED:", what, flush=True)

    def seconds(self, arguments):
        begin = time.perf_counter()
        self.must(arguments)
        return time.perf_counter() - begin


class Target:
    """One kind of output: how it is written, and whether it is the old or the new one."""

    may_be_half_way = False

    def __init__(self, series, name):
        self.series = series
        self.path = series.place / name / "out"
        self.path.parent.mkdir()
        self.state = None  # what was seen last

    def prepare(self):
        """Before each trial."""

    def seen(self):
        """The letter of the complete output; another word for other valid states; None for a mixture or nothing."""
        raise NotImplementedError

    def left_behind(self):
        return [str(path) for path in self.path.parent.rglob(".*")]


class Directory(Target):
    """A network as TSV; it is exchanged with the old one."""

    def write(self, letter):
        return ["convert", self.series.sources[letter], self.path]

    def seen(self):
        back = self.path.parent / "back.spdnn"
        code, errors = self.series.run(["convert", self.path, back, *BIAS])
        found = [letter for letter, source in self.series.sources.items()
                 if code == 0 and back.read_bytes() == source.read_bytes()]
        back.unlink(missing_ok=True)
        if code == 3 and HALF_WAY in errors and self.may_be_half_way:
            return "refused"
        return found[0] if found else None


class SharedDirectory(Directory):
    """It holds other files, so that its layers are replaced one by one."""

    may_be_half_way = True

    def prepare(self):
        self.path.mkdir(exist_ok=True)
        (self.path / "notes").write_text("must survive\n")

    def seen(self):
        if (self.path / "notes").read_text() != "must survive\n":
            return None
        return super().seen()


class NewDirectory(Directory):
    """Nothing is there before."""

    def prepare(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def seen(self):
        return super().seen() if self.path.exists() else "nothing yet"


class File(Target):
    """A packed network, or images."""

    def __init__(self, series, name, kind, ending):
        super().__init__(series, name)
        self.kind = kind
        self.path = self.path.with_name(f"{'sparse-images-256' if kind == 'images' else 'out'}{ending}")
        self.expected = {}
        for letter in "AB":
            series.must(self.write(letter))
            self.expected[letter] = self.path.read_bytes()

    def write(self, letter):
        return ["convert", self.series.place / f"images-{letter}.spdnn" if self.kind == "images" else
                self.series.sources[letter], self.path]

    def seen(self):
        content = self.path.read_bytes()
        return next((letter for letter in "AB" if self.expected[letter] == content), None)


class Model(Target):
    """A model as safetensors, with its graph beside it: two files."""

    def __init__(self, series, name):
        super().__init__(series, name)
        self.path = self.path.with_name("model.safetensors")
        self.expected = {letter: (series.place / f"model-{letter}.spdnn").read_bytes() for letter in "AB"}
        series.must(self.write("A"))

    def write(self, letter):
        return ["convert", self.series.place / f"model-{letter}.spdnn", self.path]

    def seen(self):
        back = self.path.parent / "back.spdnn"
        code, errors = self.series.run(["convert", self.path, back])
        found = [letter for letter, content in self.expected.items() if code == 0 and back.read_bytes() == content]
        back.unlink(missing_ok=True)
        if code == 3 and OTHER_WEIGHTS in errors:
            return "refused"
        return found[0] if found else None


class Results(Target):
    """The category list and the JSON line of a run."""

    def __init__(self, series, name):
        super().__init__(series, name)
        self.list = self.path.with_name("categories.tsv")
        self.path = self.line = self.path.with_name("run.json")
        self.expected = {}
        for letter in "AB":
            series.must(self.write(letter))
            self.expected[letter] = self.list.read_bytes()

    def write(self, letter):
        return ["infer", "--network", self.series.sources["A"], "--inputs", self.series.place / f"images-{letter}.spdnn",
                "--categories", self.list, "--json", self.line]

    def seen(self):
        content = self.list.read_bytes()
        listed = next((letter for letter in "AB" if self.expected[letter] == content), None)
        line = {300: "A", 400: "B"}[json.loads(self.line.read_text())["problem"]["images"]]
        return listed if listed == line or listed is None else "one of two"


def kill_trial(series, target, letter, longest):
    target.prepare()
    if not target.path.exists():
        target.state = "nothing yet"
    number = series.random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    delay = series.random.uniform(0.1, 1.1) * longest
    before = target.state
    process = series.start(target.write(letter))
    time.sleep(delay)
    process.send_signal(number)
    process.communicate()
    series.counts["killed before it was done" if process.returncode == -number else "done before it was killed"] += 1
    if process.returncode not in (0, -number):
        series.fail(f"{target.path}: exit {process.returncode} after {number.name}")
    what = target.seen()
    after_kill = number == signal.SIGKILL
    series.counts[f"{number.name}: {'old' if what == before else 'new' if what == letter else what}"] += 1
    allowed = {before, letter} | ({"refused", "one of two"} if after_kill else set())
    if what is None or what not in allowed:
        series.fail(f"{target.path}: {what} after {number.name} at {delay * 1e3:.1f} ms")
    if not after_kill and target.left_behind():
        series.fail(f"{target.path}: {number.name} left {target.left_behind()}")
    code, errors = series.run(target.write(letter))
    target.state = target.seen()
    if code != 0 or target.state != letter:
        series.fail(f"{target.path}: the next writer: exit {code}, {target.state}: {errors}")
    if target.left_behind():
        series.fail(f"{target.path}: still there after the next writer: {target.left_behind()}")
        for path in target.left_behind():
            shutil.rmtree(path, ignore_errors=True)
            pathlib.Path(path).unlink(missing_ok=True)


def kills(series, targets):
    longest = {}
    for target in targets:
        target.prepare()
        longest[target] = sorted(series.seconds(target.write("AB"[i % 2])) for i in range(5))[2]
        target.state = target.seen()
    for i in range(series.options.kills):
        target = targets[i % len(targets)]
        kill_trial(series, target, "BA"[i // len(targets) % 2], longest[target])


def pairs(series, targets):
    for i in range(series.options.pairs):
        target = targets[i % len(targets)]
        target.prepare()
        writers = [series.start(target.write(letter)) for letter in "AB"]
        errors = [writer.communicate()[1].strip() for writer in writers]
        codes = [writer.returncode for writer in writers]
        what = target.seen()
        series.counts[f"pairs: {what}"] += 1
        if codes != [0, 0] or what not in ("A", "B"):
            series.fail(f"{target.path}: two writers: exits {codes}, {what} {errors}")
        if target.left_behind():
            series.fail(f"{target.path}: two writers left {target.left_behind()}")


def readers(series, targets):
    for target in targets:
        target.prepare()
        series.must(target.write("A"))
        over = threading.Event()

        def rewrite():
            letter = "A"
            while not over.is_set():
                letter = "B" if letter == "A" else "A"
                code, errors = series.run(target.write(letter))
                series.counts["networks written beside readers"] += 1
                if code != 0:
                    series.fail(f"{target.path}: the writer beside readers: exit {code}: {errors}")

        writer = threading.Thread(target=rewrite)
        writer.start()
        for _ in range(series.options.readers // len(targets)):
            what = target.seen()
            series.counts[f"readers: {what}"] += 1
            if what not in ("A", "B"):
                series.fail(f"{target.path}: a reader beside a writer: {what}")
        over.set()
        writer.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--depths", type=lambda text: [int(part) for part in text.split(",")], default=[40, 40])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spdnn-hostile-") as place:
        series = Series(options, pathlib.Path(place))
        directories = [Directory(series, "exchanged"), SharedDirectory(series, "shared")]
        new = NewDirectory(series, "new")
        files = [File(series, "packed", "network", ".spdnn"), File(series, "images", "images", ".tsv")]
        models = [Model(series, "model")]
        for target in directories:
            target.prepare()
            series.must(target.write("A"))
        begin = time.monotonic()
        kills(series, [*directories, new, *files, *models, Results(series, "results")])
        pairs(series, [*directories, new, *files, *models])
        readers(series, [*directories, *models])
        for what, count in sorted(series.counts.items()):
            print(f"{count:6}  {what}")
        print(f"{time.monotonic() - begin:.0f} s, seed {options.seed}, {len(series.failures)} failures")
    return 1 if series.failures else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # writers must not inherit that it is ignored
    os.environ["OMP_WAIT_POLICY"] = "passive"  # writers that wait do not take the processors from one another
    sys.exit(main())
