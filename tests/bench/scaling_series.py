"""What the plot of the scaling page shows, as points by panel and problem; and their digest, which the plot carries."""

import hashlib
import json

from scaling_model import IMAGES

GPUS = [2**i for i in range(11)]


def panel_of_infer(page, tags):
    """Infer, the images of 60000 shared: milliseconds."""
    series = {}
    for tag in tags:
        problem = page.model.problems[tag]
        scan = page.model.scans.get(tag, {})
        series[problem.name] = {
            "measured": [(gpus, problem.infer_median[gpus] * 1e3) for gpus in (1, 2)],
            "one GPU": [(IMAGES / images, time * 1e3) for images, time in scan.items() if images < IMAGES],
            "model": [(gpus, problem.infer(-(-IMAGES // gpus)) * 1e3) for gpus in GPUS],
        }
    return series


def panel_of_walls(page, tags, weak):
    """The whole command with one trial: seconds. One and two GPUs are modelled as they were measured, strong only."""
    series = {}
    for tag in tags:
        problem = page.model.problems[tag]
        walls = [page.walls(problem, gpus, IMAGES * (gpus if weak else 1)) for gpus in GPUS[3:]]
        one = problem.wall_of_one_trial(1)
        two = sum(page.model.on_two(problem, 1).values())
        series[problem.name] = {
            "measured": [(1, one)] if weak else [(1, one), (2, problem.wall_of_one_trial(2))],
            "model": [] if weak else [(1, one), (2, two)],
            "low": [(gpus, wall[0]) for gpus, wall in zip(GPUS[3:], walls)],
            "high": [(gpus, wall[1]) for gpus, wall in zip(GPUS[3:], walls)],
        }
    return series


def plotted(page, tags):
    """Panels in the order in which they stand, of four significant digits."""
    panels = {"infer": panel_of_infer(page, tags), "strong": panel_of_walls(page, tags, False),
              "weak": panel_of_walls(page, tags, True)}
    return {panel: {problem: {kind: [(float(f"{x:.4g}"), float(f"{y:.4g}")) for x, y in points]
                              for kind, points in kinds.items()} for problem, kinds in series.items()}
            for panel, series in panels.items()}


def digest(series):
    return hashlib.sha256(json.dumps(series, sort_keys=True).encode()).hexdigest()
