"""Draws a graph: lattice bonds in grey, rewired bonds in colour."""

import numpy as np

from .errors import UsageError, module

GREY, COLOUR = "#BBBBBB", "#D55E00"


def _places(graph):
    """Coordinates in the plane, [sites, 2]: a ring in one dimension, else the lattice."""
    site = np.arange(graph.sites)
    if graph.dim == 1:
        turn = 2 * np.pi * site / graph.sites
        return np.stack([np.cos(turn), np.sin(turn)], axis=1)
    width = graph.extents[0]
    return np.stack([site % width, site // width], axis=1).astype(float)


def draw(graph, axes, most):
    plt = module("matplotlib.pyplot", "draw()")
    collections = module("matplotlib.collections", "draw()")
    if graph.dim not in (1, 2):
        raise UsageError(f"draw: supports lattices of one or two dimensions, not {graph.title} "
                         "(use to_networkx())")
    if graph.bonds > most:
        raise UsageError(f"draw: {graph.bonds} bonds are more than most={most}")
    if axes is None:
        axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")[1]
    place, edges = _places(graph), graph.edges
    rewired = np.zeros(len(edges), dtype=bool)
    rewired[np.minimum(graph.rewired["bond"], len(edges) - 1).astype(np.int64)] = True
    if graph.rule == "add":
        rewired[:] = np.arange(len(edges)) >= graph.dim * graph.sites
    ends = place[edges]
    short = np.abs(ends[:, 0] - ends[:, 1]).max(axis=1) < (2.1 if graph.dim == 1 else 1.5)
    for shown, colour, width in ((~rewired & short, GREY, 0.4), (rewired, COLOUR, 0.6)):
        axes.add_collection(collections.LineCollection(
            ends[shown], colors=colour, linewidths=width, alpha=0.8))
    axes.autoscale()
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(graph.title, fontsize=9)
    return axes
