"""Writes snapshots of spins: NumPy files (.npy) and pictures of two-dimensional lattices (.png)."""

import pathlib

import numpy as np

from .errors import UsageError, module


def write(path, spins, temperatures):
    """spins: [temperature, *extents reversed]."""
    ending = pathlib.Path(path).suffix
    if ending == ".npy":
        with open(path, "wb") as file:
            np.save(file, spins)
    elif ending == ".png":
        draw(path, spins, temperatures)
    else:
        raise UsageError(f"path: '{path}' must end in .npy or .png")


def draw(path, spins, temperatures):
    """One panel per temperature."""
    if spins.ndim != 3:
        raise UsageError(f"path: '{path}': .png requires a two-dimensional lattice (.npy "
                         "supports any graph)")
    figure_of = module("matplotlib.figure", "a snapshot as .png").Figure
    count = len(spins)
    columns = int(np.ceil(np.sqrt(count)))
    rows = -(-count // columns)
    figure = figure_of(figsize=(3 * columns, 3.2 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    low, high = (-1, 1) if spins.dtype == np.int8 else (0, max(1, int(spins.max())))
    for panel in panels[count:]:
        panel.set_axis_off()
    for panel, one, temperature in zip(panels, spins, temperatures):
        panel.imshow(one, cmap="gray" if (low, high) == (-1, 1) else "viridis", vmin=low, vmax=high,
                     origin="lower", interpolation="nearest")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_title(f"T = {temperature:.6g}", fontsize=9)
    figure.savefig(path, dpi=150)
