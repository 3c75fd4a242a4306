"""Figures of a parameter sweep: thermodynamics of the largest lattice, compared for all p."""

from functools import partial

from . import plot_style as style
from .plot_overlaps import is_glass
from .plot_sizes import p_label, point_label
from ..files import array, size_label

QUANTITIES = ["energy", "abs_magnetisation", "specific_heat", "susceptibility"]
GLASS_QUANTITIES = ["energy", "overlap_m2", "specific_heat", "spin_glass_susceptibility"]


def groups(points):
    """{label: points}: groups of at least two points that differ only in p."""
    found = {}
    for point in points:
        if point.get("sizes") and "label" in point:
            found.setdefault(point["label"], []).append(point)
    return {label: group for label, group in found.items() if len(group) > 1}


def plot_over_p(label, group):
    """e, |m|, C and chi against T, one curve per p; for spin glasses e, <q^2>, C and chi_SG."""
    quantities = GLASS_QUANTITIES if all(map(is_glass, group)) else QUANTITIES
    figure, axes = style.new_figure(columns=2, rows=2, height=2.3, sharex=True)
    largest = [point["sizes"][-1] for point in group]
    for panel, quantity in zip(axes.flat, quantities):
        for index, (point, size) in enumerate(zip(group, largest)):
            temperature = array(size["temperatures"])
            value, error = (array(size[quantity][key]) for key in ("value", "error"))
            name = p_label({"p": point["p"]})
            style.points(panel, temperature, value, error, index, name)
            style.thin_line(panel, temperature, value, index)
        panel.set_ylabel(style.LABELS[quantity])
    style.log_if_wide(axes[1, 1], [size[quantities[3]]["value"] for size in largest])
    for panel in axes[1]:
        panel.set_xlabel(style.TEMPERATURE)
    title = size_label(largest[0]) + point_label(group[0])
    if group[0].get("model_text"):
        rule = group[0]["rule"]
        title += "" if rule in title or rule == "imported" else f", '{rule}'"
        title += "\n" + group[0]["model_text"]
    axes[0, 0].set_title(title, loc="left")
    axes[0, 0].legend(loc="upper left", ncols=1 + (len(group) > 6))
    return figure, f"sweep-{label}" if label else "sweep"


def jobs(points):
    """Yields a function for every group of points. The function returns (figure, name)."""
    for label, group in groups(points).items():
        yield partial(plot_over_p, label, group)
