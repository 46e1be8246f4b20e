"""A model of a run on P GPUs, fitted to the lines of scaling.jsonl: its terms and its errors.

A run takes the sum of its phases (docs/timing.md) and of `launch`, the rest of the whole command. The times on one GPU
are those of the problem's own runs; the additions of a second GPU are fitted to the runs on two GPUs of the official
problems, and tested on those of the structure-free network. Times are in seconds, sizes in MB.
"""

import dataclasses
import math
import statistics

from scaling_lines import BadLine, parse

IMAGES = 60000
NODE_GPUS = 8
STRUCTURE_FREE = "structure-free-16384x120"
OFFICIAL = ("official-1024x120", "official-65536x120", "official-65536x1920")
TAGS = (STRUCTURE_FREE, *OFFICIAL)
SPMM_SHARED = "official-65536x120-spmm_shared"  # measured, not modelled
SCANS = {STRUCTURE_FREE: "scan-sf-16384x120", "official-1024x120": "scan-official-1024x1920"}
FITTED_IMAGES = (60000, 7500, 938, 59)  # the points of a scan to which its model is fitted
PHASES = ("launch", "join", "read", "plan", "start", "share", "upload", "upload images", "infer", "gather", "rest")

# `resident` has a block of two images on each of 132 multiprocessors where layers are 16384 neurons wide.
BLOCK_IMAGES = 2 * 132

# Quantities that one machine cannot show: assumptions, as the best and the worst of a range.
LINK_BEST = 400e3 / 8 * 0.8  # MB/s between nodes: a link of 400 Gb/s at 80 %
LINK_WORST = 100e3 / 8 * 0.5  # a link of 100 Gb/s at 50 %
EDGE_BYTES = 4  # of a plan on its way to another node: a column number per stored edge


def solve(rows, right):
    """The solution of as many linear equations as unknowns, by Gauss and Jordan."""
    system = [[*row, value] for row, value in zip(rows, right)]
    for i in range(len(system)):
        pivot = max(range(i, len(system)), key=lambda j: abs(system[j][i]))
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for j, row in enumerate(system):
            if j != i:
                system[j] = [value - row[i] * base for value, base in zip(row, system[i])]
    return [row[-1] for row in system]


def fit(points):
    """The coefficients that make the sum of squared relative errors least, over pairs of terms and a measured time."""
    rows = [[term / time for term in terms] for terms, time in points]
    columns = list(zip(*rows))
    return solve([[sum(a * b for a, b in zip(x, y)) for y in columns] for x in columns], [sum(x) for x in columns])


def apply(coefficients, terms):
    return sum(a * b for a, b in zip(coefficients, terms, strict=True))


def equal_shares(images):
    """`resident`: the blocks share the images equally, but none takes less than one tile does."""
    return (1, max(1, images / BLOCK_IMAGES))


def whole_tiles(images):
    """The same, were every block to run whole tiles only."""
    return (1, math.ceil(images / BLOCK_IMAGES))


def doublings(images):
    """`cascade`: work per image, and a tail that grows with each doubling, as the last image to retire comes later."""
    return (1, math.log2(images), images)


def line(images):
    return (1, images)


def phases_of(run):
    seconds = run["seconds"]
    phases = {name: seconds[name] for name in ("join", "read", "plan", "share", "gather")}
    phases |= {"launch": run["wall"] - seconds["total"], "start": seconds["start"]["waited"],
               "upload": seconds["upload"] - seconds["upload_images"], "upload images": seconds["upload_images"],
               "infer": seconds["infer"]["sum"], "rest": seconds["load"] + seconds["write"] + seconds["other"]}
    return {name: phases[name] for name in PHASES}


def median_of(runs, value):
    return statistics.median(value(run) for run in runs)


@dataclasses.dataclass
class Error:
    """A prediction beside what was measured; `fitted`: the model was fitted to it."""
    what: str
    images: int
    measured: float
    predicted: float
    fitted: bool

    @property
    def relative(self):
        return self.predicted / self.measured - 1


class Problem:
    """The runs of one tag: medians over them, and the model of `infer`."""

    def __init__(self, tag, runs):
        self.tag = tag
        self.runs = {gpus: [run for run in runs if run["tag"] == tag and run["machine"]["ranks"] == gpus]
                     for gpus in (1, 2)}
        if not self.runs[1] or not self.runs[2]:
            raise BadLine(f"{tag}: no runs on {2 if self.runs[1] else 1} GPUs")
        first = self.runs[1][0]
        self.neurons = first["problem"]["neurons"]
        self.edges = first["stored_edges"]
        self.trials = first["trials"]
        self.image_mb = self.neurons / 8 / 1e6
        self.phases = {gpus: {name: median_of(of, lambda run: phases_of(run)[name]) for name in PHASES}
                       for gpus, of in self.runs.items()}
        self.wall = {gpus: median_of(of, lambda run: run["wall"]) for gpus, of in self.runs.items()}
        self.total = {gpus: median_of(of, lambda run: run["seconds"]["total"]) for gpus, of in self.runs.items()}
        self.infer_median = {gpus: median_of(of, lambda run: run["seconds"]["infer"]["median"])
                             for gpus, of in self.runs.items()}
        self.start_took = median_of(self.runs[1], lambda run: run["seconds"]["start"]["took"])
        self.infer_terms, self.infer_fit, self.infer_errors = None, None, []

    @property
    def name(self):
        return self.tag.replace("-", " ").replace("structure free", "structure-free")

    @property
    def plan_mb(self):
        return self.edges * EDGE_BYTES / 1e6

    def wall_of_one_trial(self, gpus):
        return self.wall[gpus] - self.phases[gpus]["infer"] * (1 - 1 / self.trials)

    def fit_infer(self, terms, points, fitted):
        """`points`: images -> seconds."""
        self.infer_terms = terms
        self.infer_fit = fit([(terms(images), points[images]) for images in fitted])
        self.infer_errors = [Error(self.tag, images, time, self.infer(images), images in fitted)
                             for images, time in points.items()]

    def infer(self, images):
        return apply(self.infer_fit, self.infer_terms(images))

    def infer_on_two(self):
        return Error(self.tag, IMAGES, self.infer_median[2], self.infer(IMAGES // 2), False)


class Model:
    def __init__(self, runs):
        self.runs = runs
        self.problems = {tag: Problem(tag, runs) for tag in TAGS}
        self.spmm_shared = Problem(SPMM_SHARED, runs)
        self.scans = {tag: self.scan(name) for tag, name in SCANS.items()}
        self.fit_infer()
        self.fit_machine()

    def scan(self, name):
        of = [run for run in self.runs if run["tag"] == f"{name}-{run['problem']['images']}"]
        points = {run["problem"]["images"]: run["seconds"]["infer"]["median"] for run in of}
        if not set(FITTED_IMAGES) <= set(points):
            raise BadLine(f"{name}: a point that the model is fitted to is missing")
        return points

    def fit_infer(self):
        free, small, deep = (self.problems[tag] for tag in (STRUCTURE_FREE, OFFICIAL[0], OFFICIAL[2]))
        free.fit_infer(equal_shares, self.scans[free.tag], FITTED_IMAGES)
        small.fit_infer(doublings, self.scans[small.tag], FITTED_IMAGES)
        shallow = self.problems[OFFICIAL[1]]  # without a scan: one GPU, and the rank of two that was not held up
        half = median_of(shallow.runs[2], lambda run: run["ranks"]["infer"]["min"])
        deep_half = median_of(deep.runs[2], lambda run: run["ranks"]["infer"]["min"])
        points = {IMAGES: shallow.infer_median[1], IMAGES // 2: half}
        shallow.fit_infer(line, points, points)
        deep.fit_infer(line, points, points)
        deep.infer_errors = [Error(deep.tag, images, time, deep.infer(images), False)
                             for images, time in ((IMAGES, deep.infer_median[1]), (IMAGES // 2, deep_half))]
        shallow.infer_errors += deep.infer_errors

    def fit_machine(self):
        """What a second GPU adds, fitted to the official problems."""
        of = [self.problems[tag] for tag in OFFICIAL]
        second = [problem.phases[2] for problem in of]
        self.launch = statistics.median(p.phases[2]["launch"] - p.phases[1]["launch"] for p in of)
        self.join = statistics.median(phases["join"] for phases in second)
        self.gather = statistics.median(phases["gather"] for phases in second)
        self.share = fit([((1, p.edges / 1e6), p.phases[2]["share"]) for p in of])
        self.upload = fit([((1, p.phases[1]["upload"]), p.phases[2]["upload"]) for p in of])
        self.upload_images = fit([((1, p.image_mb * IMAGES / 2), p.phases[2]["upload images"]) for p in of])
        scan = [run for run in self.runs if run["tag"].startswith(SCANS[STRUCTURE_FREE])]
        image_mb = self.problems[STRUCTURE_FREE].image_mb
        sizes = [run["problem"]["images"] * image_mb for run in scan]
        self.read_mb = statistics.linear_regression(sizes, [run["seconds"]["read"] for run in scan]).slope

    def read(self, problem, images):
        """Seconds in which a rank reads its part of the file, which has the size of `images` images."""
        return max(0, problem.phases[1]["read"] + self.read_mb * problem.image_mb * (images - IMAGES))

    def on_two(self, problem, trials):
        """The phases of a run on the two GPUs of the machine that was measured."""
        mb = problem.image_mb * IMAGES / 2
        one = problem.phases[1]
        return {
            "launch": one["launch"] + self.launch, "join": self.join, "read": self.read(problem, IMAGES // 2),
            "plan": one["plan"], "start": max(0, problem.start_took - self.read(problem, IMAGES // 2) - one["plan"]),
            "share": apply(self.share, (1, problem.edges / 1e6)),
            "upload": apply(self.upload, (1, one["upload"])), "upload images": apply(self.upload_images, (1, mb)),
            "infer": trials * problem.infer(IMAGES // 2), "gather": self.gather, "rest": one["rest"],
        }

    def beyond(self, problem, gpus, images, worst):
        """The phases of a run of one trial on nodes of eight GPUs, `images` of all together."""
        one = problem.phases[1]
        doublings_of_gpus = math.log2(gpus) if worst else 1
        here = min(gpus, NODE_GPUS)
        steps = math.ceil(math.log2(math.ceil(gpus / NODE_GPUS)))
        mb = problem.image_mb * images / gpus
        link = LINK_WORST if worst else LINK_BEST
        slower = 1 + (self.upload[1] - 1) * (here - 1) if worst else 1
        read = self.read(problem, images / gpus) + (here * mb / link if worst else 0)
        crowd = max(1, here / 2)
        return {
            "launch": one["launch"] + self.launch * doublings_of_gpus, "join": self.join * doublings_of_gpus,
            "read": read, "plan": one["plan"], "start": max(0, problem.start_took - read - one["plan"]),
            "share": apply(self.share, (1, problem.edges / 1e6)) + steps * problem.plan_mb / link,
            "upload": (self.upload[0] if worst else 0) + slower * one["upload"],
            "upload images": self.upload_images[1] * mb * crowd if worst
            else one["upload images"] * images / gpus / IMAGES,
            "infer": self.infer_bound(problem, math.ceil(images / gpus), worst),
            "gather": self.gather * (gpus - 1 if worst else 1), "rest": one["rest"],
        }

    def infer_bound(self, problem, images, worst):
        """`infer` if the model is off by its largest error: too fast if `worst`, otherwise too slow."""
        of = [self.problems[tag] for tag in OFFICIAL[1:]] if problem.tag in OFFICIAL[1:] else [problem]
        most = max(abs(error.relative) for one in of for error in [*one.infer_errors, one.infer_on_two()])
        return problem.infer(images) / (1 - most if worst else 1 + most)

    def rounded_up_errors(self):
        """Those of the structure-free scan, were blocks to run whole tiles only."""
        points = self.scans[STRUCTURE_FREE]
        coefficients = fit([(whole_tiles(images), points[images]) for images in FITTED_IMAGES])
        return [Error(STRUCTURE_FREE, images, time, apply(coefficients, whole_tiles(images)), images in FITTED_IMAGES)
                for images, time in points.items()]


def read_runs(path):
    runs = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            run = parse(text)
            for name, kind in (("tag", str), ("wall", float), ("launched", int)):
                if not isinstance(run.get(name), kind):
                    raise BadLine(f"no field {name}, or not what it should be")
        except BadLine as error:
            raise BadLine(f"{path}:{number}: {error}") from None
        runs.append(run)
    return runs
