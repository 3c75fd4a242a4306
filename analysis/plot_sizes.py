"""Figures of the way to infinite size, one panel per p: crossing temperatures and Binder ratios of
neighbouring sizes against their finite-size terms."""

import numpy as np

import plot_style as style
from rewise_data import array, value_and_error, with_error

QUANTITIES = ["binder", "scaled_m2"]


def p_label(point):
    """The point's p, and what else tells it from others of a sweep."""
    p, others = point["p"], point_label(point)
    exponent = int(np.floor(np.log10(p))) if p > 0 else 0
    if exponent > -4:
        return f"$p = {p:g}${others}"
    mantissa = p / 10.0**exponent
    factor = "" if abs(mantissa - 1) < 1e-9 else rf"{mantissa:g}\times "
    return rf"$p = {factor}10^{{{exponent}}}${others}"


def point_label(point):
    """', 2D, swap, 1:1': dimension, rule and schedule, as far as a sweep has several."""
    if not point.get("label"):
        return ""
    words = {f"{point['dim']}d": f"{point['dim']}D", point["rule"]: point["rule"],
             point["schedule"].replace(":", "-"): point["schedule"]}
    return "".join(f", {text}" for word, text in words.items()
                   if f"-{word}-" in f"-{point['label']}-")


def whole(entry):
    """A limit and its whole error: the statistical one and the spread of the alternatives."""
    value, error = value_and_error(entry)
    return value, float(np.hypot(error, (entry or {}).get("systematic") or 0.0))


def tc_of(point):
    return whole(point.get("tc"))


def grid(count, **keywords):
    """Panels for `count` values of p, two a row; the surplus panel is blanked."""
    columns = 1 if count == 1 else 2
    figure, axes = style.new_figure(columns=columns, rows=-(-count // columns), height=2.3,
                                    **keywords)
    for panel in axes.flat[count:]:
        panel.set_axis_off()
    return figure, axes


def found(point, quantity):
    return [crossing for crossing in point.get("crossings", [])
            if crossing["quantity"] == quantity and crossing["status"] == "found"]


def plot_extrapolation(points):
    """Crossing temperatures of neighbouring sizes against their finite-size shift, with the fit
    that gives Tc at N = infinity. Open symbols were left out of the fit."""
    figure, axes = grid(len(points))
    for panel, point in zip(axes.flat, points):
        tc, tc_error = tc_of(point)
        widest = 0.0
        for index, quantity in enumerate(QUANTITIES):
            crossings = found(point, quantity)
            for used in (True, False):
                group = [c for c in crossings if c.get("used", True) == used]
                x = array([c["shift"] for c in group])
                t = np.array([value_and_error(c["temperature"]) for c in group]).reshape(-1, 2)
                face = {} if used else {"markerfacecolor": "none"}
                style.points(panel, x, t[:, 0], t[:, 1], index,
                             style.LABELS[quantity] if used else None, **face)
                widest = max([widest, *x])
        for fit in (point.get("tc") or {}).get("fit", []):
            amplitude, _ = value_and_error(fit.get("amplitude"))
            if fit["quantity"] in QUANTITIES and np.isfinite(amplitude):
                x = np.array([0, 1.05 * widest])
                panel.plot(x, tc + amplitude * x, linewidth=0.8,
                           color=style.look(QUANTITIES.index(fit["quantity"]))["color"])
        if np.isfinite(tc):
            panel.errorbar(0, tc, tc_error, marker="*", markersize=7, color="black", capsize=3,
                           clip_on=False, zorder=5, linestyle="none",
                           label=rf"$T_{{\mathrm{{c}}}} = {with_error(tc, tc_error)}$")
        regular = (point.get("tc") or {}).get("method") == "regular"
        panel.set_xlim(left=-0.03 * widest if widest else None)
        panel.set_xlabel(r"finite-size shift $s(N_1, N_2)$" if regular
                         else r"$(N_1 N_2)^{-1/2}$")
        panel.set_ylabel(r"crossing $T_\times$ ($J/k_{\mathrm{B}}$)")
        panel.ticklabel_format(axis="x", style="sci", scilimits=(-2, 3))
        panel.legend(title=p_label(point))
    return figure, "extrapolation"


def plot_binder_limit(points):
    """U at the crossings against its finite-size term, with the universal value expected."""
    figure, axes = grid(len(points))
    for panel, point in zip(axes.flat, points):
        crossings = found(point, "binder")
        x = array([c.get("height_shift") for c in crossings])
        u = np.array([value_and_error(c["height"]) for c in crossings]).reshape(-1, 2)
        style.points(panel, x, u[:, 0], u[:, 1], 0, r"$U$ at the crossings")
        limit, error = whole(point.get("binder_limit"))
        if np.isfinite(limit):
            panel.errorbar(0, limit, error, marker="*", markersize=7, color="black", capsize=3,
                           linestyle="none", zorder=5, clip_on=False,
                           label=rf"$U(N \to \infty) = {with_error(limit, error)}$")
        if point.get("binder_expected") is not None:
            panel.axhline(point["binder_expected"], color=style.GREY, linewidth=0.7, linestyle=":",
                          label=rf"$U^* = {point['binder_expected']:.4f}$")
        panel.set_xlim(left=-0.03 * np.nanmax(x, initial=0) or None)
        regular = (point.get("tc") or {}).get("method") == "regular"
        panel.set_xlabel(r"finite-size term of $U$" if regular else r"$N_1^{-1/2} + N_2^{-1/2}$")
        panel.set_ylabel(style.LABELS["binder"])
        panel.legend(title=p_label(point))
    return figure, "binder-limit"
