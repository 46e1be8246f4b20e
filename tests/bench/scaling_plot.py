"""Draws the plot of the scaling page. On a light ground of its own, so that it reads the same on a dark page; problems
differ in marker and label as well as in colour."""

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

STYLES = (("#0b5394", "o"), ("#9a4d00", "s"), ("#5b2c83", "^"))
TITLES = {"infer": ("infer, 60000 images shared", "ms"), "strong": ("wall, one trial, 60000 images shared", "s"),
          "weak": ("wall, one trial, 60000 images per GPU", "s")}
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "scaling", "font.family": "sans-serif", "font.size": 10,
            "axes.spines.top": False, "axes.spines.right": False}
DASHES = (0, (4, 2))


def draw_infer(axes, kinds, colour, marker):
    model = kinds["model"]
    axes.plot(*zip(*model[:2]), color=colour, linewidth=1.5)
    axes.plot(*zip(*model[1:]), color=colour, linewidth=1.5, linestyle=DASHES)
    if kinds["one GPU"]:
        axes.plot(*zip(*kinds["one GPU"]), color=colour, marker=marker, markersize=4, linestyle="none")
    axes.plot(*zip(*kinds["measured"]), color=colour, marker=marker, markersize=8, linestyle="none")


def draw_walls(axes, kinds, colour, marker):
    gpus, low = zip(*kinds["low"])
    high = [wall for _, wall in kinds["high"]]
    axes.fill_between(gpus, low, high, color=colour, alpha=0.12, linewidth=0)
    for bound in (low, high):
        axes.plot(gpus, bound, color=colour, linewidth=1.2, linestyle=DASHES, marker=marker, markerfacecolor="white",
                  markersize=4.5, markevery=2)
    if kinds["model"]:
        axes.plot(*zip(*kinds["model"]), color=colour, linewidth=1.5)
    axes.plot(*zip(*kinds["measured"]), color=colour, marker=marker, markersize=8, linestyle="none")


def draw_panel(axes, panel, series):
    for (colour, marker), kinds in zip(STYLES, series.values(), strict=True):
        (draw_infer if panel == "infer" else draw_walls)(axes, kinds, colour, marker)
    title, unit = TITLES[panel]
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([1, 2, 8, 64, 1024])
    axes.set_xticklabels(["1", "2", "8", "64", "1024"])
    axes.set_xlabel("GPUs")
    axes.set_ylabel(unit, rotation=0)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.grid(color="#dddddd", linewidth=0.6)


def legend(figure, names):
    grey = "#444444"
    entries = [Line2D([], [], color=colour, marker=marker, markersize=8, linestyle="none", label=name)
               for (colour, marker), name in zip(STYLES, names, strict=True)]
    entries += [
        Line2D([], [], color=grey, marker="D", markersize=7, linestyle="none", label="measured on 1 and 2 GPUs"),
        Line2D([], [], color=grey, marker="D", markersize=4, linestyle="none", label="measured: 1 GPU, 60000/P images"),
        Line2D([], [], color=grey, label="model, 1 and 2 GPUs"),
        Line2D([], [], color=grey, linestyle=DASHES, label="model, more GPUs than measured"),
        Patch(facecolor=grey, alpha=0.2, label="range of the assumptions, best to worst"),
    ]
    figure.legend(handles=entries, loc="lower center", ncol=3, frameon=False, fontsize=9)


def draw(series, path, digest):
    with matplotlib.rc_context(SETTINGS):
        figure, panels = pyplot.subplots(1, 3, figsize=(11.5, 4.8))
        figure.patch.set_facecolor("white")
        for axes, (panel, of) in zip(panels, series.items(), strict=True):
            draw_panel(axes, panel, of)
        legend(figure, series["infer"])
        figure.tight_layout(rect=(0, 0.19, 1, 1))
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Title": "Scaling, measured and modelled",
                                       "Description": f"values: {digest}"})
