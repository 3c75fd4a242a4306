"""Figure of the speed of a lattice that GPUs share, and the cost model beside it.

    PYTHONPATH=analysis python3 tests/bench/gpu_scaling.py tests/bench/gpu-scaling.csv --out FOLDER

The table has speeds in updates of sites per ns (`rewise bench --device cuda:0`, `cuda:0+1` and
`cuda:0+1+2+3`). The model of one update of a lattice of N sites on G GPUs is

    time = N / (G v) + t0 + N p c (G - 1) / G^2

v: speed of one GPU; t0: time of an exchange of border rows, which does not depend on the size; c:
time per shortcut whose ends are on different GPUs. Each of the G GPUs has N p / G shortcuts, and a
fraction (G - 1) / G of these leads to another GPU. v is the largest measured speed of one GPU. t0
follows from two GPUs and the smallest lattice at p = 0, c from the largest lattice with p > 0.
Prints the speeds of the model for 2, 4 and 8 GPUs, and writes gpu-scaling.png.
"""

import argparse
import csv
import pathlib
import sys

import numpy as np

from rewise.plots import plot_style as style


def table(path):
    """{(series, p): {size: {GPUs: updates per ns}}}"""
    found = {}
    with open(path, encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            sizes = found.setdefault((row["series"], float(row["p"])), {})
            sizes.setdefault(int(row["size"]), {})[int(row["gpus"])] = float(row["updates_per_ns"])
    return found


class Model:
    """The cost model of one series (see the docstring of the module). Times are in ns."""

    def __init__(self, series, p, found):
        measured = found[(series, p)]
        self.p = p
        self.alone = max(speeds[1] for speeds in measured.values())
        plain = found[(series, 0.0)]
        size = min(plain)
        self.fixed = size**2 / plain[size][2] - size**2 / (2 * plain[size][1])
        self.crossing = 0.0
        if p > 0:
            size = max(measured)
            excess = size**2 / measured[size][2] - size**2 / (2 * self.alone) - self.fixed
            self.crossing = 4 * excess / (size**2 * p)

    def speed(self, size, gpus):
        sites = size**2
        time = sites / (gpus * self.alone)
        if gpus > 1:
            time += self.fixed + sites * self.p * self.crossing * (gpus - 1) / gpus**2
        return sites / time


def draw(found, folder):
    figure, axes = style.new_figure(columns=2, height=2.9)
    size_axis, gpu_axis = axes[0]
    for index, ((series, p), measured) in enumerate(found.items()):
        model = Model(series, p, found)
        label = f"{series}, p = {p:g}"
        colour = style.COLOURS[index]
        sizes = sorted(measured)
        gain = [measured[size][2] / measured[size][1] for size in sizes]
        size_axis.plot(sizes, gain, style.MARKERS[index], color=colour, label=label)
        line = np.geomspace(4096, 524288, 100)
        size_axis.plot(line, [model.speed(size, 2) / model.alone for size in line], "-",
                       color=colour, linewidth=0.8)
        # The size measured with the most numbers of GPUs; if there are several, the largest.
        largest = max(sizes, key=lambda size: (len(measured[size]), size))
        gpus = np.array([1, 2, 4, 8])
        gpu_axis.plot(gpus, [model.speed(largest, g) / model.alone for g in gpus], "-",
                      color=colour, linewidth=0.8)
        gpu_axis.plot(list(measured[largest]),
                      [speed / measured[largest][1] for speed in measured[largest].values()],
                      style.MARKERS[index], color=colour, label=f"{label}, L = {largest}")
        print(f"{label}: {model.alone:g} per ns on one GPU, t0 = {model.fixed / 1000:.1f} us, "
              f"c = {model.crossing:.2f} ns; L = {largest}: "
              + ", ".join(f"{model.speed(largest, g):.0f} on {g}" for g in (2, 4, 8)))
    size_axis.set_xscale("log", base=2)
    size_axis.set_xticks([4096, 16384, 65536, 262144], ["4096", "16384", "65536", "262144"])
    size_axis.set_xlabel("edge $L$")
    size_axis.set_ylabel("speed of two GPUs over one")
    size_axis.set_ylim(1, 2.1)
    gpu_axis.plot([1, 8], [1, 8], color=style.GREY, linestyle="--", linewidth=0.8, label="ideal")
    gpu_axis.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    gpu_axis.set_xlabel("GPUs (symbols: measured; lines: model)")
    gpu_axis.set_ylabel("speed over one GPU")
    size_axis.legend(loc="lower right", fontsize=6)
    gpu_axis.legend(loc="upper left", fontsize=6)
    return style.save(figure, folder, "gpu-scaling")


def main(arguments):
    parser = argparse.ArgumentParser(description="Speed of a lattice that GPUs share.")
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)
    draw(table(options.table), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
