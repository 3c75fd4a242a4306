"""Figures of a Potts transition by its peaks (SUMMARY.md, "Transitions by peaks"): C and chi of
every size with their maxima, the resulting temperatures against size, and the histograms of the
energy where two phases have equal weight."""

from functools import partial

import numpy as np

from . import plot_style as style
from .plot_sizes import LEFT_OUT
from ..files import array, size_label, value_and_error, with_error

# Temperatures of a size: the key in "peaks", and the label in plots.
TEMPERATURES = {"specific_heat": r"largest $C$", "susceptibility": r"largest $\chi$",
                "weights": r"weights $q:1$"}
# The keys in "peaks" of the same temperatures, determined for each graph and then averaged.
MEANS_OVER_GRAPHS = {"specific_heat": "heat_of_graphs", "susceptibility": "chi_of_graphs",
                     "weights": "weights"}
ORDERS = {"first": "first order", "second": "second order", "undecided": "order undecided"}


def has_peaks(point):
    return bool(point.get("extrapolations"))


def name_of(point):
    return f"p{point['p']:g}"


def plot_peaks(point):
    """C(T) and chi(T): simulated points, reweighted lines, circles at the maxima."""
    figure, axes = style.new_figure(columns=2)
    for panel, quantity in zip(axes[0], ("specific_heat", "susceptibility")):
        for index, size in enumerate(point["sizes"]):
            curve, fine, peak = size[quantity], size["fine"], size["peaks"][quantity]
            style.points(panel, array(size["temperatures"]), array(curve["value"]),
                         array(curve["error"]), index, size_label(size))
            panel.plot(array(fine["temperatures"]), array(fine[quantity]["value"]), linewidth=0.8,
                       color=style.curve_style(index)["color"], zorder=2)
            if peak["inside"]:
                style.circle(panel, *(value_and_error(peak[key])
                                      for key in ("temperature", "height")))
        value, _ = value_and_error(point.get("tc"))
        if np.isfinite(value):
            panel.axvline(value, color=style.GREY, linewidth=0.7)
        style.log_if_wide(panel, [size[quantity]["value"] for size in point["sizes"]])
        panel.set_xlabel(style.TEMPERATURE)
        panel.set_ylabel(style.LABELS[quantity])
    axes[0, 0].legend(title=f"$p = {point['p']:g}$")
    return figure, f"peaks-{name_of(point)}"


def plot_temperatures(point):
    """The temperatures of each size against the width of the transition, T(chi) - T(weights), with
    lines that meet at the limit; the latent heat squared against 1/N."""
    figure, axes = style.new_figure(columns=2)
    left, right = axes[0]
    used = np.array([size["peaks"]["used"] for size in point["sizes"]])
    values = {quantity: np.array([value_and_error(size["peaks"].get(name))
                                  for size in point["sizes"]])
              for quantity, name in MEANS_OVER_GRAPHS.items()}
    width = values["susceptibility"][:, 0] - values["weights"][:, 0]
    for index, (quantity, label) in enumerate(TEMPERATURES.items()):
        t = values[quantity]
        style.points(left, width[used], t[used, 0], t[used, 1], index, label)
        if not used.all():
            style.points(left, width[~used], t[~used, 0], t[~used, 1], index,
                         markerfacecolor="none", label=None if index else LEFT_OUT)
    fit = next((fit for fit in point["extrapolations"]
                if fit["quantity"] == "susceptibility" and "slope" in fit), None)
    if fit is not None and fit["ok"] and used.any():
        limit, _ = value_and_error(fit["limit"])
        line = np.array([0, width[used][fit["first"]:].max()])
        for index, slope in ((1, fit["slope"]), (2, fit["slope"] - 1)):
            left.plot(line, limit + slope * line, linewidth=0.8,
                      color=style.curve_style(index)["color"],
                      label=rf"linear part, $\chi^2/$dof $= {fit['chi2']:.1f}/{fit['dof']}$"
                      if index == 1 else None)
    value, error = value_and_error(point.get("tc"))
    if np.isfinite(value):
        error = float(np.nan_to_num(point["tc"].get("total_error") or error))
        left.axhspan(value - error, value + error, color=style.GREY, alpha=0.3, linewidth=0,
                     label=rf"$T = {with_error(value, error)}$")
    if point.get("tc_exact") is not None:
        left.axhline(point["tc_exact"], color=style.GREY, linewidth=0.7, linestyle=":",
                     label="exact")
    left.set_xlim(left=0)
    left.set_xlabel(r"$T(\chi) - T(\mathrm{weights})$")
    left.set_ylabel(style.TEMPERATURE)
    left.legend(fontsize=6.5)
    x = 1 / array([size["sites"] for size in point["sizes"]])
    latent = np.array([value_and_error(size["peaks"]["latent_squared"]) for size in point["sizes"]])
    style.points(right, x, latent[:, 0], latent[:, 1], 0, r"$4 T^2 C_{\max}/N$")
    distance = [(value_and_error(size["peaks"]["disordered"])[0]
                 - value_and_error(size["peaks"]["ordered"])[0]) ** 2
                if size["peaks"]["two"] else np.nan for size in point["sizes"]]
    style.points(right, x, array(distance), None, 1, "distance of the peaks, squared")
    heat, _ = value_and_error(point["order"].get("latent_heat"))
    if np.isfinite(heat):
        right.axhline(heat**2, color=style.GREY, linewidth=0.7)
    right.margins(y=0.12)
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    right.set_xlabel("$1/N$")
    right.set_ylabel(r"(jump of the energy)$^2$ ($J^2$)")
    exact = " (exact)" if point["order"].get("source") == "exact" else ""
    right.legend(title=ORDERS[point["order"]["verdict"]] + exact)
    return figure, f"transition-{name_of(point)}"


def plot_histograms(point):
    """Histograms of the energy for every size, averaged over graphs. Each graph is taken at the
    temperature where its own C is largest."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    for index, size in enumerate(point["sizes"]):
        histogram = size["histogram"]
        energy, density = array(histogram["energy"]), array(histogram["density"])
        error = np.nan_to_num(array(histogram["error"]))
        colour = style.curve_style(index)["color"]
        panel.plot(energy, density, color=colour, linewidth=0.9,
                   label=size_label(size))
        panel.fill_between(energy, density - error, density + error, color=colour, alpha=0.25,
                           linewidth=0)
    panel.set_xlabel(style.LABELS["energy"])
    panel.set_ylabel("density of the energy")
    panel.set_ylim(bottom=0)
    panel.legend(title=f"$p = {point['p']:g}$")
    return figure, f"histograms-{name_of(point)}"


def jobs(point):
    """Yields one function per figure. Each returns (figure, name)."""
    for draw in (plot_peaks, plot_temperatures, plot_histograms):
        yield partial(draw, point)
