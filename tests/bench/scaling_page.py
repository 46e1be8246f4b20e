#!/usr/bin/env python3
"""Makes scaling.md, and with --plot scaling.svg, of DIRECTORY/scaling.jsonl; with --check, says whether they agree.

usage: scaling_page.py [--check | --plot] DIRECTORY

--check: status 1 where the page is not what the lines make, or the plot shows other values. --plot needs Matplotlib.
A line that is not understood ends the program with its file and number: exit status 3.
"""

import pathlib
import statistics
import sys

import scaling_model as model
from scaling_model import BLOCK_IMAGES, FITTED_IMAGES, IMAGES, OFFICIAL, PHASES, STRUCTURE_FREE
from scaling_series import digest, plotted
from scaling_lines import BadLine, fixed, table

GPUS = (8, 16, 64, 256, 1024)
SHOWN = (STRUCTURE_FREE, OFFICIAL[0], OFFICIAL[2])  # without 65536x120, to keep tables and plot small

TEXT = pathlib.Path(__file__).with_name("scaling_page.txt")


def ms(seconds):
    return fixed(seconds * 1e3, 3)


def percent(share):
    return f"{100 * share:.1f} %"


def signed(share):
    return f"{100 * share:+.1f} %"


def span(low, high, digits=3):
    return f"{fixed(low, digits)} to {fixed(high, digits)}"


class Page:
    def __init__(self, fitted):
        self.model = fitted
        self.problems = list(fitted.problems.values())
        self.measured_problems = [*self.problems, fitted.spmm_shared]

    def measured(self):
        rows = []
        for problem in self.measured_problems:
            one, two = problem.infer_median[1], problem.infer_median[2]
            rows.append([problem.name, f"{len(problem.runs[1])} + {len(problem.runs[2])}", problem.trials, ms(one),
                         ms(two), percent(one / two / 2), fixed(problem.total[1], 3), fixed(problem.total[2], 3),
                         fixed(problem.wall[1], 3), fixed(problem.wall[2], 3),
                         percent(problem.wall[1] / problem.wall[2] / 2)])
        head = ["problem", "runs", "trials", "infer, ms: 1 GPU", "2 GPUs", "efficiency", "total, s: 1 GPU", "2 GPUs",
                "wall, s: 1 GPU", "2 GPUs", "efficiency"]
        return table(head, rows)

    def scans(self):
        scans = self.model.scans
        rows = []
        for images in scans[STRUCTURE_FREE]:
            row = [round(IMAGES / images), images]
            for tag, points in scans.items():
                predicted = self.model.problems[tag].infer(images)
                row += [ms(points[images]), ms(predicted), signed(predicted / points[images] - 1)]
            rows.append(row + ["yes" if images in FITTED_IMAGES else "no"])
        head = ["1 of P", "images", "structure-free, ms", "model", "error", "official 1024x1920, ms", "model", "error",
                "fitted"]
        return table(head, rows)

    def phases(self):
        rows = []
        for name in PHASES:
            row = [name]
            for problem in self.problems:
                row += [fixed(problem.phases[gpus][name], 3) if problem.phases[gpus][name] >= 5e-4 else "0.000"
                        for gpus in (1, 2)]
            rows.append(row)
        rows.append(["wall", *(fixed(problem.wall[gpus], 3) for problem in self.problems for gpus in (1, 2))])
        head = ["s"] + [f"{problem.name}, {gpus}" for problem in self.problems for gpus in (1, 2)]
        return table(head, rows)

    def on_two(self):
        """Phases on two GPUs beside the model's; and the whole."""
        rows = []
        for problem in self.problems:
            predicted = self.model.on_two(problem, problem.trials)
            for name, of in (("launch, join", ("launch", "join")), ("read, plan, start", ("read", "plan", "start")),
                             ("share", ("share",)), ("upload", ("upload", "upload images")), ("infer", ("infer",)),
                             ("wall", PHASES)):
                measured = problem.wall[2] if name == "wall" else sum(problem.phases[2][part] for part in of)
                guess = sum(predicted[part] for part in of)
                alone = name in ("read, plan, start", "infer") or problem.tag == STRUCTURE_FREE
                rows.append([problem.name, name, fixed(measured, 3), fixed(guess, 3), signed(guess / measured - 1),
                             "no" if alone else "in part" if name == "wall" else "yes"])
        return table(["problem", "phase", "measured, s", "model, s", "error", "fitted"], rows)

    def error_row(self, name, errors):
        row = [name]
        for fitted in (True, False):
            sizes = [abs(error.relative) for error in errors if error.fitted == fitted]
            row += [len(sizes), *([percent(max(sizes)), percent(statistics.median(sizes))] if sizes else ["-", "-"])]
        return row

    def errors(self):
        free, small, shallow = (self.model.problems[tag] for tag in (STRUCTURE_FREE, OFFICIAL[0], OFFICIAL[1]))
        on_two = [problem.infer_on_two() for problem in self.problems]
        walls = [self.wall_error(problem) for problem in self.problems]
        rows = [self.error_row("infer, structure-free, scan", free.infer_errors),
                self.error_row("infer, official 1024x1920, scan", small.infer_errors),
                self.error_row("infer, official 65536, the faster rank", shallow.infer_errors),
                self.error_row("infer, the runs on two GPUs", on_two), self.error_row("wall on two GPUs", walls)]
        return table(["", "fitted points", "largest", "median", "other points", "largest", "median"], rows)

    def infer_predictions(self):
        rows = []
        for problem in (self.model.problems[tag] for tag in SHOWN):
            for gpus in GPUS:
                images = -(-IMAGES // gpus)
                low, high = (self.model.infer_bound(problem, images, worst) for worst in (False, True))
                weak = [self.model.infer_bound(problem, IMAGES, worst) for worst in (False, True)]
                one = problem.infer_median[1]
                rows.append([problem.name, gpus, images, span(low * 1e3, high * 1e3),
                             span(100 * one / high / gpus, 100 * one / low / gpus, 2),
                             span(weak[0] * 1e3, weak[1] * 1e3)])
        head = ["problem", "GPUs", "images of each", "strong: infer, ms", "efficiency, %", "weak: infer, ms"]
        return table(head, rows)

    def walls(self, problem, gpus, images):
        return [sum(self.model.beyond(problem, gpus, images, worst).values()) for worst in (False, True)]

    def wall_predictions(self):
        rows = []
        for problem in (self.model.problems[tag] for tag in SHOWN):
            one = problem.wall_of_one_trial(1)
            for gpus in GPUS:
                strong, weak = self.walls(problem, gpus, IMAGES), self.walls(problem, gpus, IMAGES * gpus)
                rows.append([problem.name, gpus, fixed(one, 3), span(*strong),
                             span(one / strong[1], one / strong[0], 2), span(*weak),
                             span(100 * one / weak[1], 100 * one / weak[0], 2),
                             fixed(problem.image_mb * IMAGES * gpus / 1e3, 3)])
        head = ["problem", "GPUs", "1 GPU, s", "strong: wall, s", "speed-up", "weak: wall, s", "efficiency, %",
                "images, GB"]
        return table(head, rows)

    def check_claims(self):
        """Checks the claims of the text in words: a measurement that contradicts one needs another text, not other numbers."""
        claims = {
            "two GPUs are slower than one": all(p.wall_of_one_trial(2) > p.wall_of_one_trial(1) for p in self.problems),
            "efficiency of infer is above 100 % for the structure-free network alone":
                [p.tag for p in self.measured_problems if p.infer_median[1] > 2 * p.infer_median[2]] == [STRUCTURE_FREE],
            "8 GPUs and more are slower than one":
                all(self.best_speedup(p) < 1 for p in self.problems),
            "1024x120 is shorter than a start of MPI":
                self.problems[1].wall[1] < self.model.launch + self.model.join,
            "all official runs PASSED": all(run["verdict"]["status"] == "PASSED" for p in self.measured_problems[1:]
                                            for of in p.runs.values() for run in of),
            "one commit": len({run["build"]["commit"] for run in self.model.runs}) == 1,
        }
        for claim, holds in claims.items():
            if not holds:
                raise BadLine(f"the page says, but the lines do not: {claim}")

    def best_speedup(self, problem):
        return max(problem.wall_of_one_trial(1) / self.walls(problem, gpus, IMAGES)[0] for gpus in GPUS)

    def wall_error(self, problem):
        predicted = sum(self.model.on_two(problem, problem.trials).values())
        return model.Error(problem.tag, IMAGES, problem.wall[2], predicted, problem.tag != STRUCTURE_FREE)

    def weak_share(self, problem, gpus=64):
        phases = self.model.beyond(problem, gpus, IMAGES * gpus, False)
        return percent(phases["share"] / sum(phases.values()))

    def values(self):
        """The numbers that the text of the page names."""
        fitted = self.model
        free, small, shallow, deep = self.problems
        run = free.runs[1][0]
        rounded = [abs(error.relative) for error in fitted.rounded_up_errors() if not error.fitted]
        ends = {f"{short}_{phase.replace(' ', '_')}_{gpus}": fixed(problem.phases[gpus][phase], 3)
                for short, problem in (("free", free), ("small", small), ("shallow", shallow), ("deep", deep))
                for phase in PHASES for gpus in (1, 2)}
        return ends | {
            "measured": self.measured(), "scans": self.scans(), "phases": self.phases(), "on_two": self.on_two(),
            "errors": self.errors(), "infer_predictions": self.infer_predictions(),
            "wall_predictions": self.wall_predictions(),
            "commit": run["build"]["commit"], "device": run["machine"]["device"],
            "spmm_efficiency": percent(fitted.spmm_shared.infer_median[1] / fitted.spmm_shared.infer_median[2] / 2),
            "processors": run["machine"]["threads"], "lines": len(fitted.runs), "block_images": BLOCK_IMAGES,
            "fitted_images": ", ".join(map(str, FITTED_IMAGES[:-1])) + f" and {FITTED_IMAGES[-1]}",
            "free_efficiency": percent(free.infer_median[1] / free.infer_median[2] / 2),
            "floor": ms(min(fitted.scans[STRUCTURE_FREE].values())),
            "floor_118": ms(fitted.scans[STRUCTURE_FREE][118]), "free_fixed": ms(free.infer_fit[0]),
            "free_block": ms(free.infer_fit[1]), "rounded_largest": percent(max(rounded)),
            "rounded_median": percent(statistics.median(rounded)),
            "small_fixed": fixed(small.infer_fit[0] * 1e6, 3), "small_doubling": fixed(small.infer_fit[1] * 1e6, 3),
            "small_image": fixed(small.infer_fit[2] * 1e9, 3), "line_fixed": ms(shallow.infer_fit[0]),
            "line_image": fixed(shallow.infer_fit[1] * 1e9, 3),
            "launch": fixed(fitted.launch, 3), "join": fixed(fitted.join, 3), "gather": ms(fitted.gather),
            "start": fixed(fitted.launch + fitted.join, 2),
            "share_fixed": fixed(fitted.share[0], 3), "share_edges": ms(fitted.share[1]),
            "upload_fixed": fixed(fitted.upload[0], 2),
            "upload_slower": fixed(fitted.upload[1], 3), "upload_mb": ms(fitted.upload_images[1]),
            "read_mb": ms(fitted.read_mb), "node": model.NODE_GPUS, "link_best": fixed(model.LINK_BEST / 1e3, 3),
            "link_worst": fixed(model.LINK_WORST / 1e3, 3), "edge_bytes": model.EDGE_BYTES,
            "shallow_wall_1": fixed(shallow.wall[1], 2), "shallow_wall_2": fixed(shallow.wall[2], 3),
            "deep_wall_1": fixed(deep.wall[1], 3), "deep_wall_2": fixed(deep.wall[2], 3),
            "free_wall_1": fixed(free.wall[1], 3), "free_wall_2": fixed(free.wall[2], 3),
            "free_one_1": fixed(free.wall_of_one_trial(1), 3), "free_one_2": fixed(free.wall_of_one_trial(2), 3),
            "shallow_infer_share": percent(shallow.infer_median[1] / shallow.wall[1]),
            "deep_infer_share": percent(deep.infer_median[1] / deep.wall[1]),
            "free_infer_share": percent(free.infer_median[1] / free.wall_of_one_trial(1)),
            "free_at_best": fixed(free.wall_of_one_trial(1) / (free.wall_of_one_trial(1) - free.infer_median[1]), 3),
            "deep_at_best": fixed(deep.wall[1] / (deep.wall[1] - deep.infer_median[1]), 4),
            "shallow_two_infer": ms(shallow.infer_median[2]), "deep_two_infer": ms(deep.infer_median[2]),
            "official_best_speedup": fixed(max(self.best_speedup(problem) for problem in self.problems[1:]), 2),
            "free_best_speedup": fixed(self.best_speedup(free), 2),
            "free_wall_error": percent(abs(self.wall_error(free).relative)),
            "weak_share_free": self.weak_share(free), "weak_share_deep": self.weak_share(deep),
            "weak_gb": fixed(deep.image_mb * IMAGES * GPUS[-1] / 1e3, 3),
            "shallow_faster": ms(shallow.infer_errors[1].measured),
        }

    def text(self):
        self.check_claims()
        return TEXT.read_text(encoding="utf-8").format_map(self.values())


def read_or_none(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments):
    action = arguments[0] if arguments[:1] in (["--check"], ["--plot"]) else None
    if len(arguments) != 1 + (action is not None):
        print(__doc__, file=sys.stderr)
        return 2
    directory = pathlib.Path(arguments[-1])
    try:
        page = Page(model.Model(model.read_runs(directory / "scaling.jsonl")))
        text = page.text()
    except BadLine as error:
        print(f"scaling_page.py: {error}", file=sys.stderr)
        return 3
    series = plotted(page, SHOWN)
    if action == "--check":
        stale = [name for name, good in (("scaling.md", read_or_none(directory / "scaling.md") == text),
                                         ("scaling.svg", digest(series) in read_or_none(directory / "scaling.svg")))
                 if not good]
        for name in stale:
            print(f"scaling_page.py: {directory / name} is not what the lines make; run make scaling", file=sys.stderr)
        return 1 if stale else 0
    (directory / "scaling.md").write_text(text, encoding="utf-8")
    if action == "--plot":
        import scaling_plot  # here alone, as it needs Matplotlib
        scaling_plot.draw(series, directory / "scaling.svg", digest(series))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
