#!/usr/bin/env python3
"""Makes DIRECTORY/tables.md of the JSON lines in DIRECTORY/*.jsonl; with --check, only says whether it is up to date.

usage: tables.py [--check] DIRECTORY...

Lines are what `spdnn infer --json` and `spdnn bench layers --json` write. Of lines with the same configuration the last
one counts. A line that is not understood ends the program with its file and number: exit status 3. --check: status 1
where a table is not what its lines make.
"""

import itertools
import json
import math
import pathlib
import sys

NUMBER = (int, float)
SIZES = {1024: "-0.3", 4096: "-0.35", 16384: "-0.4", 65536: "-0.45"}  # official neurons: official bias
DEPTHS = (120, 480, 1920)
IMAGES = 60000
DEGREE = 32
SPGEMM = ("unbuffered", "buffered", "filtered")

ORIGIN_FIELDS = {
    "machine.cpu": str, "machine.threads": int, "build.version": str, "build.commit": str, "build.dirty": bool,
}
RUN_FIELDS = ORIGIN_FIELDS | {
    "problem.neurons": (int, list), "problem.layers": int, "problem.bias": str, "problem.images": int,
    "problem.edges": int, "variant": str, "passes": str, "precision": str, "trials": int, "batch": int,
    "stored_edges": int, "seconds.infer.min": NUMBER, "seconds.infer.median": NUMBER, "seconds.infer.max": NUMBER,
    "seconds.total": NUMBER, "rate": NUMBER, "rate_end_to_end": NUMBER, "verdict.status": str, "verdict.against": str,
    "verdict.categories": int,
}
LAYER_FIELDS = ORIGIN_FIELDS | {
    "variant": str, "neurons": int, "degree": int, "weights": str, "layers": int, "images": int, "trials": int,
    "seconds_per_layer.min": NUMBER, "seconds_per_layer.median": NUMBER, "seconds_per_layer.max": NUMBER,
    "edges_per_second": NUMBER, "bytes": int, "share_of_ceiling": NUMBER,
}
SCHEMAS = {"spdnn-run-1": RUN_FIELDS, "spdnn-layers-1": LAYER_FIELDS}

COUNTED = """\
Made by `make results` of the JSON lines beside it, one line a run of `spdnn infer --json` (or a measurement of
`spdnn bench layers --json`); of runs of one configuration the last line counts. `-`: not measured. Times are in ms
unless they say otherwise.

**What is counted.** `infer` is wall-clock time from "plan and images are resident on the device" to "the host knows the
categories": the median over the trials of one process, `min` and `max` their extremes. Every layer, every pass that
depends on images, launches, synchronisation and the way of the categories to the host are in it. **What is not** has
phases of its own: `load` (the program), `read` (network and images read or generated), `plan` (the passes over the
weights), `start waited` (for the CUDA device; `start took` goes on beside reading and planning), `upload` (both in the
engine's form and on its device, `upload_images` of it for the images; tuning of libraries, and the start of CUDA where
that has no column, are in it), `gather`, `write` and `other`; `total` is process start to the end of `write`, with all
trials. Checking the categories is in no phase.

TE/s is 1e12 edges/s: images x edges *of the network as given* / infer, the challenge's definition, whatever the exact
passes named in `passes` left out; `TE/s of total` divides by `total`. A run of one trial includes what libraries do at
their first call. PASSED: the whole list of categories is the official one, by its digest. Nothing is extrapolated."""

END_TO_END = "end_to_end"
SCALING = "scaling"  # has a page of its own, made by scaling_page.py
TITLES = {
    "default": """\
## Official networks, default passes

60000 images; `--reduce all`, of which `passes` names those in force.""",
    "unsaturated": """\
## Official networks without `saturated` and `identical`

The same, but images at the cap are computed to the last layer, each by itself.""",
    "dead": """\
## Variants on 120 layers, `--reduce dead`

Every given edge of every image that is not all zero, as published systems compute it.""",
    "spgemm": """\
## SpGEMM, three methods

Y and W sparse, by cuSPARSE, as in tables IV to IX of Wang et al., HPEC 2019: workspace taken for each product
(`unbuffered`), kept (`buffered`), kept and zeros and dead images dropped before the next product (`filtered`).
`--reduce dead`, 60000 images. `N only`: the first N layers, where 120 would have taken too long.""",
    END_TO_END: """## End to end

From packed files in the page cache, a process a line, in the order of the runs: `total` is process start to report, with
one trial. Where `read` is next to nothing the network's file holds its plan, which is loaded instead.""",
    "others": """\
## Other runs

Other networks, other passes, and variants that a later line of another variant has replaced in the tables above.""",
    "layers": """\
## Single layers

Synthetic layers without structure, `spdnn bench layers`. `ceiling`: the least traffic of the layer (weights once, every
activation read and written once) over the time, as a share of what a plain copy on the device moves; an engine that
keeps activations on chip from layer to layer can exceed it.""",
    "machines": """\
## Machines and builds""",
}


def table(head, rows):
    """Aligned Markdown. Rows may be short: what is missing is `-`. Columns of numbers stand right."""
    cells = [[str(cell) for cell in row] + ["-"] * (len(head) - len(row)) for row in rows]
    widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
    numeric = [all(row[i][:1].isdigit() or row[i] == "-" for row in cells) for i in range(len(head))]
    widths = [max(width, 3) for width in widths]
    rule = ["-" * (width - 1) + ":" if right else "-" * width for width, right in zip(widths, numeric)]
    lines = [[text.rjust(width) if right else text.ljust(width) for text, width, right in zip(line, widths, numeric)]
             for line in [head, *cells]]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class BadLine(Exception):
    pass


def field(line, path):
    """The value at a path such as seconds.infer.median; None where there is none."""
    for name in path.split("."):
        if not isinstance(line, dict) or name not in line:
            return None
        line = line[name]
    return line


def refuse_constant(name):
    raise BadLine(f"{name} is no number")


def check_fields(line, fields):
    for path, kind in fields.items():
        value = field(line, path)
        if value is None:
            raise BadLine(f"no field {path}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadLine(f"{path} is {json.dumps(value)}")


def check_run(run):
    """Phases are numbers, and a rate is the one of the line's own numbers."""
    for name, seconds in run["seconds"].items():
        if name == "infer":
            continue
        for part in seconds.values() if isinstance(seconds, dict) else [seconds]:
            if not isinstance(part, NUMBER) or isinstance(part, bool):
                raise BadLine(f"seconds.{name} is {json.dumps(seconds)}")
    images = run["problem"]["images"] - run["problem"].get("empty_images", 0)
    work = images * run["problem"]["edges"]
    for name, seconds in (("rate", run["seconds"]["infer"]["median"]), ("rate_end_to_end", run["seconds"]["total"])):
        if seconds <= 0 or not math.isclose(run[name] * seconds, work, rel_tol=1e-6):
            raise BadLine(f"{name} is {run[name]}, which is not images x edges / {seconds} s")


def parse(text):
    try:
        line = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg} in column {error.colno}") from None
    schema = field(line, "schema")
    if schema not in SCHEMAS:
        raise BadLine(f"schema is {json.dumps(schema)}; expected one of {', '.join(SCHEMAS)}")
    check_fields(line, SCHEMAS[schema])
    if schema == "spdnn-run-1":
        check_run(line)
    return line


def read(directory):
    """The lines of all files, by name and then as they stand, by schema; those of end_to_end.jsonl by themselves."""
    lines = {kind: [] for kind in (*SCHEMAS, END_TO_END)}
    for path in sorted(path for path in directory.glob("*.jsonl") if path.stem != SCALING):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                line = parse(text)
            except BadLine as error:
                raise BadLine(f"{path}:{number}: {error}") from None
            lines[END_TO_END if path.stem == END_TO_END else line["schema"]].append(line)
    return lines


def passes_class(run):
    """What counts as one setting, though the passes in force differ from engine to engine."""
    passes = run["passes"].split(",")
    if "merge" in passes or "twins" not in passes:
        return run["passes"]
    if "saturated" in passes:
        return "default"
    return "unsaturated" if "identical" not in passes else run["passes"]


def newest(lines, key):
    """The last line of each key, in the order of the keys' first lines."""
    last = {}
    for line in lines:
        last[key(line)] = line
    return last


def configuration(run):
    problem = json.dumps([run["problem"][name] for name in ("neurons", "layers", "bias", "images", "edges")])
    return problem, run["variant"], passes_class(run), run["precision"]


def is_official(run):
    """An official network, of any depth, on as many images as the challenge has."""
    problem = run["problem"]
    neurons = problem["neurons"]
    return (isinstance(neurons, int) and SIZES.get(neurons) == problem["bias"] and problem["images"] == IMAGES
            and problem["edges"] == neurons * DEGREE * problem["layers"])


def fixed(value, digits=4):
    """So many significant digits, never with an exponent."""
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def phases_of(run):
    """Seconds by phase, in the order of the report; a phase of several parts, such as start, has a name for each."""
    phases = {}
    for name, seconds in run["seconds"].items():
        if isinstance(seconds, dict):
            phases |= {f"{name} {part}": value for part, value in seconds.items()}
        else:
            phases[name] = seconds
    return {name: value for name, value in phases.items() if not name.startswith("infer ") and name != "total"}


def ms(seconds):
    return fixed(seconds * 1e3)


def tera(rate):
    return fixed(rate / 1e12)


def label(run):
    return run["variant"] if run["precision"] == "fp32" else f"{run['variant']} {run['precision']}"


def verdict(run):
    """A sample of images that agree leaves a run unverified; the rest is a comparison of whole lists."""
    text = f"{run['verdict']['status']} {run['verdict']['categories']}"
    return text if run["verdict"]["status"] == "PASSED" else f"{text} ({run['verdict']['against']})"


class Tables:
    """Sections take the lines they show out of `left`; the last one shows what no other wanted."""

    def __init__(self, directory, lines):
        self.directory = directory
        self.all_runs = lines["spdnn-run-1"]
        self.processes = lines[END_TO_END]
        self.left = newest(self.all_runs, configuration)
        layer_key = ("variant", "neurons", "degree", "weights", "layers", "images")
        self.layers = newest(lines["spdnn-layers-1"], lambda line: tuple(line[name] for name in layer_key))
        self.origins = []

    def take(self, wanted):
        taken = {key: run for key, run in self.left.items() if wanted(run)}
        for key in taken:
            del self.left[key]
        return list(taken.values())

    def take_official(self, setting):
        """The newest line of each official problem, whatever its variant; older variants stay for the last section."""
        candidates = [run for run in self.left.values() if is_official(run) and run["problem"]["layers"] in DEPTHS
                      and passes_class(run) == setting and not run["variant"].startswith("cusparse_spgemm")]
        order = {id(run): place for place, run in enumerate(self.all_runs)}
        candidates.sort(key=lambda run: order[id(run)])
        best = newest(candidates, lambda run: (run["problem"]["neurons"], run["problem"]["layers"], run["precision"]))
        chosen = {id(run) for run in best.values()}
        self.take(lambda run: id(run) in chosen)
        return best

    def origin(self, line):
        """The number of a machine and build in the last table."""
        machine, build = line["machine"], line["build"]
        origin = (machine.get("device") or "none", machine.get("driver") or "-", machine.get("cuda") or "-",
                  machine["cpu"], machine["threads"], build["version"],
                  build["commit"] + (" with changes" if build["dirty"] else ""))
        if origin not in self.origins:
            self.origins.append(origin)
        return self.origins.index(origin) + 1

    def official(self, setting):
        best = self.take_official(setting)
        if not best:
            return []
        by_problem = {(neurons, layers): [] for neurons in SIZES for layers in DEPTHS}
        for key, run in best.items():
            by_problem[key[:2]].append(run)
        return [TITLES[setting], self.with_phases(by_problem)]

    def end_to_end(self):
        """All of them: each is a process of its own."""
        by_problem = {}
        for run in self.processes:
            by_problem.setdefault((run["problem"]["neurons"], run["problem"]["layers"]), []).append(run)
        return [TITLES[END_TO_END], self.with_phases(by_problem)] if by_problem else []

    def with_phases(self, by_problem):
        phases = []
        for run in itertools.chain(*by_problem.values()):
            phases += [name for name in phases_of(run) if name not in phases]
        rows = []
        for problem, runs in by_problem.items():
            rows += [self.official_row(run, phases) for run in runs] or [list(problem)]
        head = ["neurons", "layers", "infer", "min", "max", "TE/s", *phases, "total", "TE/s of total", "variant",
                "passes", "trials", "verdict", "run on"]
        return table(head, rows)

    def official_row(self, run, phases):
        seconds, infer = run["seconds"], run["seconds"]["infer"]
        taken = phases_of(run)
        return [run["problem"]["neurons"], run["problem"]["layers"], ms(infer["median"]), ms(infer["min"]),
                ms(infer["max"]), tera(run["rate"]), *[ms(taken[p]) if p in taken else "-" for p in phases],
                ms(seconds["total"]), tera(run["rate_end_to_end"]), label(run), run["passes"], run["trials"],
                verdict(run), self.origin(run)]

    def dead(self):
        runs = self.take(lambda run: is_official(run) and run["problem"]["layers"] == DEPTHS[0]
                         and run["passes"] == "dead" and not run["variant"].startswith("cusparse_spgemm"))
        if not runs:
            return []
        names = list(dict.fromkeys(label(run) for run in runs))
        rows = []
        for neurons in SIZES:
            for name in names:
                found = [run for run in runs if run["problem"]["neurons"] == neurons and label(run) == name]
                rows.append(self.dead_row(found[0]) if found else [neurons, name])
        head = ["neurons", "variant", "infer", "min", "max", "edges/s", "TE/s", "upload", "trials", "batch", "verdict",
                "run on"]
        return [TITLES["dead"], table(head, rows)]

    def dead_row(self, run):
        seconds, infer = run["seconds"], run["seconds"]["infer"]
        return [run["problem"]["neurons"], label(run), ms(infer["median"]), ms(infer["min"]), ms(infer["max"]),
                f"{run['rate']:.3e}", tera(run["rate"]), ms(seconds["upload"]), run["trials"], run["batch"],
                verdict(run), self.origin(run)]

    def spgemm(self):
        runs = self.take(lambda run: is_official(run) and run["variant"].startswith("cusparse_spgemm_")
                         and run["passes"] == "dead")
        if not runs:
            return []
        parts = [TITLES["spgemm"]]
        head = ["neurons", "layers", "infer (s)", "edges/s", "TE/s", "trials", "verdict", "run on"]
        for method in SPGEMM:
            of_method = [run for run in runs if run["variant"] == f"cusparse_spgemm_{method}"]
            rows = [row for neurons in SIZES for row in self.spgemm_rows(of_method, neurons)]
            parts += [f"### {method}", table(head, rows)]
        return parts

    def spgemm_rows(self, runs, neurons):
        """The challenge's depths; and where not even its least was measured, what was, named."""
        by_depth = {run["problem"]["layers"]: run for run in runs if run["problem"]["neurons"] == neurons}
        rows = []
        if DEPTHS[0] not in by_depth:
            rows = [self.spgemm_row(by_depth[layers], f"{layers} only") for layers in sorted(by_depth)
                    if layers not in DEPTHS][-1:]
        for layers in DEPTHS:
            rows.append(self.spgemm_row(by_depth[layers], layers) if layers in by_depth else [neurons, layers])
        return rows

    def spgemm_row(self, run, layers):
        return [run["problem"]["neurons"], layers, fixed(run["seconds"]["infer"]["median"]), f"{run['rate']:.3e}",
                tera(run["rate"]), run["trials"], verdict(run), self.origin(run)]

    def others(self):
        runs = self.take(lambda run: True)
        if not runs:
            return []
        rows = [[json.dumps(run["problem"]["neurons"]), run["problem"]["layers"], run["problem"]["images"],
                 run["problem"]["edges"], run["problem"]["bias"], label(run), run["passes"],
                 ms(run["seconds"]["infer"]["median"]), tera(run["rate"]), run["trials"], verdict(run),
                 self.origin(run)] for run in runs]
        head = ["neurons", "layers", "images", "edges", "bias", "variant", "passes", "infer", "TE/s", "trials",
                "verdict", "run on"]
        return [TITLES["others"], table(head, rows)]

    def single_layers(self):
        if not self.layers:
            return []
        rows = [[line["neurons"], line["degree"], line["weights"], line["images"], line["variant"],
                 ms(line["seconds_per_layer"]["median"]), fixed(line["edges_per_second"] / 1e12),
                 f"{line['bytes'] / 1e6:.1f}", f"{100 * line['share_of_ceiling']:.1f} %", line["trials"],
                 self.origin(line)]
                for line in self.layers.values()]
        rows.sort(key=lambda row: row[:2] + [row[2], -row[3]])
        head = ["neurons", "degree", "weights", "images", "variant", "a layer", "TE/s", "MB", "ceiling", "trials",
                "run on"]
        return [TITLES["layers"], table(head, rows)]

    def machines(self):
        head = ["run on", "device", "driver", "CUDA", "processor", "threads", "version", "commit"]
        return [TITLES["machines"], table(head, [[i, *origin] for i, origin in enumerate(self.origins, 1)])]

    def text(self):
        parts = [f"# Results: {self.directory.name}", COUNTED, *self.official("default"),
                 *self.official("unsaturated"), *self.end_to_end(), *self.dead(), *self.spgemm(), *self.others(),
                 *self.single_layers()]
        return "\n\n".join(parts + self.machines()) + "\n"


def main(arguments):
    check = arguments[:1] == ["--check"]
    stale = False
    directories = [pathlib.Path(argument) for argument in arguments[check:]]
    if not directories:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for directory in directories:
            text = Tables(directory.resolve(), read(directory)).text()
            target = directory / "tables.md"
            if not check:
                target.write_text(text, encoding="utf-8")
            elif not target.exists() or target.read_text(encoding="utf-8") != text:
                print(f"tables.py: {target} is not what the lines beside it make; run make results", file=sys.stderr)
                stale = True
    except BadLine as error:
        print(f"tables.py: {error}", file=sys.stderr)
        return 3
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
