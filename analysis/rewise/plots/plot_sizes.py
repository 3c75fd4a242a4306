"""Figures of the extrapolation to infinite size, one panel per p: crossing temperatures and Binder
ratios of neighbouring sizes against their finite-size terms, with the fits."""

import numpy as np

from . import plot_style as style
from .. import published
from ..files import (array, extents_label, in_formula, rejected_tc, size_label, status_of,
                     total, total_or_statistical, value_and_error)

QUANTITIES = ["binder", "scaled_m2"]


def is_imported(point):
    """Whether the point is an imported graph, whose p is unknown."""
    return any(not size["extents"] for size in point.get("sizes", []))


def p_label(point):
    """Label of a point: p, or the file of an imported graph; in a sweep also the other settings
    that differ."""
    p, others = point["p"], point_label(point)
    if is_imported(point):
        return size_label(point["sizes"][0]) + others
    exponent = int(np.floor(np.log10(p))) if p > 0 else 0
    if exponent > -4:
        return f"$p = {p:g}${others}"
    mantissa = p / 10.0**exponent
    factor = "" if abs(mantissa - 1) < 1e-9 else rf"{mantissa:g}\times "
    return rf"$p = {factor}10^{{{exponent}}}${others}"


def point_label(point):
    """', 2D, swap, 1:1': dimension, rule and schedule, each only if the sweep has several."""
    if not point.get("label"):
        return ""
    words = {f"{point['dim']}d": f"{point['dim']}D", point["rule"]: point["rule"],
             point["schedule"].replace(":", "-"): point["schedule"]}
    return "".join(f", {text}" for word, text in words.items()
                   if f"-{word}-" in f"-{point['label']}-")


def full_title(point):
    """p_label() and, with couplings or fields, the rule, the dimension and the model."""
    text = point.get("model_text")
    if not text:
        return p_label(point)
    known = is_imported(point) or point.get("rule", "") in point_label(point)
    rule = "" if known else f", '{point['rule']}'"
    return f"{p_label(point)}{rule}\n{text}"


def tc_of(point):
    return total(point.get("tc"))


def found(point, quantity):
    return [crossing for crossing in point.get("crossings", [])
            if crossing["quantity"] == quantity and crossing["status"] == "found"]


LEFT_OUT = "left out of the fit"


def draw_crossings(panel, group, abscissa, ordinate, used, index, label):
    """Draws crossings with errors, as filled symbols if the fit used them, else as hollow ones.
    Returns the abscissa with the largest absolute value."""
    widest = 0.0
    for which in (True, False):
        chosen = [c for c in group if c.get(abscissa) is not None and c.get(used, True) == which]
        x = array([c[abscissa] for c in chosen])
        y = np.array([value_and_error(c[ordinate]) for c in chosen]).reshape(-1, 2)
        if not len(x):
            continue
        face = {} if which else {"markerfacecolor": "white"}
        style.points(panel, x, y[:, 0], y[:, 1], index, label, **face)
        label = None
        widest = max([widest, *x], key=abs)
    return widest


def add_legend_notes(panel, point, group, used):
    """Adds legend entries: the meaning of hollow symbols, if there are any, and the sizes without a
    crossing in their window."""
    if any(not c.get(used, True) for c in group):
        panel.plot([], [], linestyle="none", marker="o", color=style.GREY, markerfacecolor="white",
                   label=LEFT_OUT)
    for quantity in QUANTITIES:
        missing = [c for c in point.get("crossings", []) if c["quantity"] == quantity
                   and c["status"] != "found" and len(c["sites"]) == 2]
        if missing and any(c["quantity"] == quantity for c in group):
            sizes = "; ".join(", ".join(size_name(extents) for extents in c["extents"])
                              for c in missing)
            panel.plot([], [], linestyle="none",
                       label=f"no crossing found: {quantity_label(quantity, point)} of {sizes}")


def size_name(extents):
    """32, or 32 x 16."""
    return extents_label(extents).removeprefix("$L = ").replace("$", "")


def draw_fit(panel, limit, widest, accepted=True, least=0.0):
    """Draws the lines limit + amplitude x of an extrapolation, from `least` to `widest`, with an
    error band if the summary has the covariance, and one label with chi^2. If the limit is an
    average over several fits, the lines are those of the fit with the greatest weight."""
    value, error = value_and_error(limit.get("fit_limit", limit))
    label = rf"fit, $N \geq {limit['smallest']:g}$" if limit.get("smallest") else "fit"
    if limit.get("chi2") is not None and limit.get("dof") is not None:
        label += rf", $\chi^2/\mathrm{{dof}} = {limit['chi2']:.1f}/{limit['dof']}$"
    x = np.linspace(1.05 * least, 1.05 * widest, 81)
    lines = [(QUANTITIES.index(fit["quantity"]), *value_and_error(fit.get("amplitude")),
              fit.get("covariance")) for fit in limit.get("fit") or []
             if fit.get("quantity") in QUANTITIES]
    if limit.get("form") == "constant":
        lines = [(None, 0.0, 0.0, 0.0)]
    for number, amplitude, amplitude_error, covariance in lines:
        if not np.isfinite(amplitude):
            continue
        colour = style.GREY if number is None else style.curve_style(number)["color"]
        panel.plot(x, value + amplitude * x, linewidth=0.8, color=colour, zorder=2, label=label,
                   linestyle="-" if accepted else "--")
        label = None
        if covariance is not None and np.isfinite([error, amplitude_error]).all():
            variance = error**2 + 2 * covariance * x + (amplitude_error * x)**2
            band = np.sqrt(np.maximum(variance, 0))
            panel.fill_between(x, value + amplitude * x - band, value + amplitude * x + band,
                               color=colour, alpha=0.2, linewidth=0, zorder=1)


def draw_limit(panel, limit, name, accepted=True):
    """Draws a limit as a star at finite-size term 0; hollow if a check rejected it."""
    value, error = total(limit) if accepted else total_or_statistical(limit)
    if not np.isfinite(value):
        return
    face = {} if accepted else {"markerfacecolor": "white"}
    panel.errorbar(0, value, style.yerror_or_none(np.array([error])), marker="*",
                   markersize=7, color="black" if accepted else style.GREY, capsize=3,
                   clip_on=False, zorder=5, linestyle="none", **face,
                   label=rf"${name} = {in_formula(value, error)}$"
                   + ("" if accepted else ", rejected"))


def start_at_zero(panel, widest, least=0.0):
    """Lets the abscissa begin at 0, or at `least`, with room for the star of the limit."""
    widest = widest or 1.0
    panel.set_xlim(min(-0.06 * widest, 1.08 * least), 1.08 * widest)
    style.plain_offset(panel.xaxis)


def is_regular(point):
    """Whether the exponents are those of the regular lattice (p = 0), not those of mean field."""
    limit = point.get("tc") or point.get("candidate") or {}
    return limit.get("method", "regular" if point["p"] == 0 else "mean-field") == "regular"


def name_panel(panel, point):
    """Writes p above the panel, and the exponents into the label of the abscissa if known."""
    panel.set_title(title_of(point), loc="left")
    scaling = point.get("scaling")
    if scaling and is_regular(point):
        panel.set_title(rf"$y = {scaling['y']:.4g}$, $w = {scaling['w']:.4g}$", loc="right",
                        fontsize=7)


def title_of(point):
    """p, and the reason if there is no Tc."""
    return p_label(point) + ("" if point.get("tc") is not None else f": {status_of(point)}")


def plot_extrapolation(points):
    """Crossing temperatures of neighbouring sizes against their finite-size shift. On the left are
    the temperatures where U has its limit, whose shift is negative. The lines show the fit that
    gives Tc at N = infinity, with its error band. The fit did not use hollow symbols; a hollow star
    is a value that a check rejected."""
    figure, axes = style.grid(len(points), height=2.5)
    for panel, point in zip(axes.flat, points):
        pairs = {quantity: [c for c in found(point, quantity) if len(c["sites"]) == 2]
                 for quantity in QUANTITIES}
        widest = max(draw_crossings(panel, pairs[quantity], "shift", "temperature", "used",
                                    index, quantity_label(quantity, point) + ", two sizes")
                     for index, quantity in enumerate(QUANTITIES))
        with_limit = [c for c in found(point, "binder") if len(c["sites"]) == 1]
        least = draw_crossings(panel, with_limit, "shift", "temperature", "used", len(QUANTITIES),
                               r"$U = U^*$, one size")
        accepted = point.get("tc") is not None
        limit = point["tc"] if accepted else rejected_tc(point)
        if limit is not None:
            draw_fit(panel, limit, widest, accepted, least)
            draw_limit(panel, limit, r"T_{\mathrm{c}}", accepted)
        add_legend_notes(panel, point, [*pairs["binder"], *pairs["scaled_m2"], *with_limit], "used")
        pair_shift = r"$s = (N_1^{-w} - N_2^{-w})\,/\,(N_2^{\,y} - N_1^{\,y})$" \
            if is_regular(point) else r"$s = (N_1 N_2)^{-1/2}$"
        panel.set_xlabel(f"two sizes: {pair_shift}"
                         + ("\none size: $s = -1/N$" if with_limit else ""))
        if with_limit:  # the line separates the two abscissas
            panel.axvline(0, color=style.GREY, linewidth=0.5, zorder=0)
        panel.set_ylabel(r"crossing temperature $T_\times$ ($J/k_{\mathrm{B}}$)")
        start_at_zero(panel, widest, least)
        name_panel(panel, point)
        panel.legend(**style.SMALL_LEGEND)
    return figure, "extrapolation"


def quantity_label(quantity, point):
    return r"$U$" if quantity == "binder" else m2_scaling(point)[1]


def regular_eta(dim, q):
    """eta of the regular lattice, <m^2> ~ L^-(d - 2 + eta) at Tc, or None. In four dimensions
    N^(1/2) <m^2> is independent of the size at Tc, as in mean field (p > 0)."""
    if (dim, q) == (2, 3):
        return 4 / 15
    return published.ETA.get(dim) if q == 2 or (dim, q) == (2, 4) else None


def m2_scaling(point, q=2):
    """(x, label) of the quantity N^x <m^2> whose curves cross at Tc. x is None if this quantity is
    scaled_m2 of the summary, so that nothing has to be rescaled."""
    sizes = point.get("sizes", [])
    dims = {len(size["extents"]) for size in sizes}
    dim = dims.pop() if len(dims) == 1 else None
    power = sizes[0].get("scaled_m2_power") if sizes else None
    eta = regular_eta(dim, q) if point["p"] == 0 else None
    if power == 0.5 or (power is None and eta is None) or not dim:
        return None, style.LABELS["scaled_m2"]
    exponent = dim * power if power is not None else dim - 2 + eta
    fractions = [text for x, text in ((1 / 4, "1/4"), (4 / 15, "4/15")) if abs(exponent - x) < 1e-9]
    prefix = "" if exponent == 0 else rf"L^{{{(fractions or [f'{exponent:.4g}'])[0]}}}\,"
    return exponent / dim if power is None else None, rf"${prefix}\langle m^2\rangle$"


def plot_binder_limit(points):
    """U at the crossings against its finite-size term, with the fit, its error band, and the
    expected universal value of the limit."""
    figure, axes = style.grid(len(points), height=2.5)
    for panel, point in zip(axes.flat, points):
        pairs = [c for c in found(point, "binder") if len(c["sites"]) == 2]
        widest = draw_crossings(panel, pairs, "height_shift", "height", "height_used", 0,
                                r"$U$ at the crossings")
        add_legend_notes(panel, point, pairs, "height_used")
        limit = point.get("binder_limit")
        if limit is not None:
            draw_fit(panel, limit, widest)
            draw_limit(panel, limit, r"U(N \to \infty)")
        if point.get("binder_expected") is not None:
            panel.axhline(point["binder_expected"], color=style.GREY, linewidth=0.7, linestyle=":",
                          label=rf"theory, $U^* = {point['binder_expected']:.4f}$")
        panel.set_xlabel(r"$N_1^{-w} + N_1^{\,y}\,s$, $s = (N_1^{-w} - N_2^{-w})\,/\,"
                         r"(N_2^{\,y} - N_1^{\,y})$"
                         if is_regular(point) else r"$N_1^{-1/2} + N_2^{-1/2}$")
        panel.set_ylabel(style.LABELS["binder"])
        start_at_zero(panel, widest)
        name_panel(panel, point)
        panel.legend(**style.SMALL_LEGEND)
    return figure, "binder-limit"
