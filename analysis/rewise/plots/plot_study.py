"""Figures of a study from its summary.json (analysis/SUMMARY.md): Tc(p), its shift with local
exponents, and per p the Binder ratio with its crossings, thermodynamics and tau_int."""

from functools import partial

import numpy as np

from . import plot_overlaps, plot_peaks, plot_sweep
from . import plot_style as style
from .plot_sizes import (QUANTITIES, found, full_title, is_imported, m2_scaling, p_label,
                         plot_binder_limit, plot_extrapolation, tc_of, title_of)
from .. import published
from ..files import (array, in_formula, rejected_tc, schedule_label, size_label, status_of,
                     total, total_or_statistical, value_and_error, with_error)

MOST_ANNOTATED = 6  # largest number of points whose values are written beside them
# Tc(p) - Tc(0) ~ p^(1/gamma) for small p (Hastings 2003); in four dimensions with logarithms.
ONE_OVER_GAMMA = {dim: 1 / published.GAMMA[dim] for dim in (2, 3)}


def p_name(point):
    """The part of a plot's file name that identifies the point."""
    label = (point.get("label") or "").replace("/", "_")
    if is_imported(point):
        graph = point["sizes"][0].get("graph", "graph").replace("/", "_")
        return label if label.startswith(graph) else "-".join(filter(None, (graph, label)))
    return f"p{point['p']:g}" + (f"-{label}" if label else "")


def window_of(point):
    """The range of temperatures to show around a crossing: all measured ones or, if they span
    more than three times the narrowest range of a size, that range and half its width more on each
    side."""
    ranges = [(min(size["temperatures"]), max(size["temperatures"])) for size in point["sizes"]
              if size["temperatures"]]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    narrow = min(ranges, key=lambda r: r[1] - r[0])
    width = narrow[1] - narrow[0]
    if width > 0 and high - low > 3 * width:
        low, high = max(low, narrow[0] - width / 2), min(high, narrow[1] + width / 2)
    margin = 0.03 * (high - low) or 0.01 * high  # the second term is for a single temperature
    return low - margin, high + margin


def draw_curve(axes, size, quantity, index, window, label=None):
    """Draws the points of one size inside the window, and a line through them: the reweighted
    curve if the summary has one, otherwise thin straight lines."""
    curve = size.get(quantity)
    if not curve:
        return
    temperature = array(size["temperatures"])
    value, error = array(curve["value"]), array(curve["error"])
    shown = (temperature >= window[0]) & (temperature <= window[1])
    style.points(axes, temperature[shown], value[shown], error[shown], index,
                 label or size_label(size))
    fine = size.get("fine") or {}
    if quantity not in fine:
        return style.thin_line(axes, temperature[shown], value[shown], index)
    x, y = array(fine["temperatures"]), array(fine[quantity]["value"])
    inside = (x >= window[0]) & (x <= window[1])
    axes.plot(x[inside], y[inside], color=style.curve_style(index)["color"], linewidth=0.8,
              zorder=2)


def mark_crossings(axes, point, quantity):
    for crossing in point.get("crossings", []):
        if (crossing["quantity"] != quantity or crossing["status"] != "found"
                or len(crossing["sites"]) == 1):  # U of one size meets a constant, no second curve
            continue
        style.circle(axes, *(value_and_error(crossing[key]) for key in ("temperature", "height")))


def mark_tc(axes, point):
    """Draws Tc with its error as a solid line, and a value that a check rejected as a dashed
    line."""
    value, error = tc_of(point)
    candidate = total_or_statistical(rejected_tc(point))
    if np.isfinite(candidate[0]):
        axes.axvline(candidate[0], color=style.GREY, linewidth=0.7, linestyle="--",
                     label=rf"{status_of(point)}: ${in_formula(*candidate)}$")
    style.mark_temperature(axes, value, error,
                           rf"$T_{{\mathrm{{c}}}} = {in_formula(value, error)}$")


def scaled_size(size, exponent):
    """A copy of `size` with N^exponent <m^2> instead of N^(1/2) <m^2>. It has no reweighted curve
    of this quantity. Returns `size` itself if `exponent` is None."""
    if exponent is None or not size.get("m2"):
        return size
    fine = {key: curve for key, curve in (size.get("fine") or {}).items() if key != "scaled_m2"}
    return size | {"scaled_m2": plot_overlaps.scaled(size, "m2", exponent), "fine": fine}


def plot_crossings(point, q=2):
    """U(T) and scaled m^2(T) of every size; circles mark where neighbouring sizes cross."""
    figure, axes = style.new_figure(columns=2)
    window = window_of(point)
    exponent, scaled_label = m2_scaling(point, q)
    for panel, quantity in zip(axes[0], QUANTITIES):
        for index, size in enumerate(point["sizes"]):
            shown = size if quantity == "binder" else scaled_size(size, exponent)
            draw_curve(panel, shown, quantity, index, window)
        # The crossings of the summary are those of N^(1/2) m^2, not of N^exponent m^2.
        if quantity == "binder" or exponent is None:
            mark_crossings(panel, point, quantity)
        mark_tc(panel, point)
        panel.set_xlim(window)
        panel.set_xlabel(style.TEMPERATURE)
        panel.set_ylabel(style.LABELS["binder"] if quantity == "binder" else scaled_label)
    expected = point.get("binder_expected")
    if expected is not None:
        axes[0, 0].axhline(expected, color=style.GREY, linewidth=0.7, linestyle=":",
                           label=rf"$U^* = {expected:.4f}$")
    axes[0, 0].set_title(title_of(point) if "tc" in point else full_title(point), loc="left")
    axes[0, 1].legend(loc="upper right")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    limits = [i for i, label in enumerate(labels) if "U^*" in label]
    axes[0, 0].legend([handles[i] for i in limits], [labels[i] for i in limits], loc="upper right")
    return figure, f"crossings-{p_name(point)}"


def plot_thermodynamics(point, more=()):
    """e, |m|, C and chi of every size, at all temperatures; `more` observables below them. For a
    spin glass: e, <q^2>, C and chi_SG; plot_overlaps() draws the other overlaps."""
    quantities = ["energy", "abs_magnetisation", "specific_heat", "susceptibility", *more]
    if plot_overlaps.is_glass(point):
        quantities = plot_sweep.GLASS_QUANTITIES + [name for name in more if "overlap" not in name
                                                    and name not in plot_sweep.GLASS_QUANTITIES]
    figure, axes = style.new_figure(columns=2, rows=-(-len(quantities) // 2), height=2.3,
                                    sharex=True)
    for panel in axes.flat[len(quantities):]:
        panel.set_axis_off()
    for panel, quantity in zip(axes.flat, quantities):
        for index, size in enumerate(point["sizes"]):
            draw_curve(panel, size, quantity, index, (-np.inf, np.inf))
        panel.set_ylabel(style.LABELS[quantity])
        value, _ = tc_of(point)
        if np.isfinite(value):
            panel.axvline(value, color=style.GREY, linewidth=0.7)
    style.log_if_wide(axes[1, 1], [size[quantities[3]]["value"] for size in point["sizes"]
                                   if size.get(quantities[3])])
    for panel in axes[-1]:
        panel.set_xlabel(style.TEMPERATURE)
    axes[0, 0].set_title(full_title(point), loc="left")
    axes[0, 0].legend(loc="upper left")
    return figure, f"thermodynamics-{p_name(point)}"


def known_tc(point):
    """Tc, or the value that a check rejected; NaN if there is neither."""
    return total_or_statistical(point.get("tc") or rejected_tc(point))


def tc_source(point):
    """The origin of known_tc(), for labels."""
    if point.get("tc") is None:
        return "of the crossings, rejected by a check"
    return {"tree": "of the tree condition", "both": "of both methods"}.get(
        point["tc"].get("method"), "of the crossings")


def plot_collapse(points):
    """U of all sizes against (T - Tc) N^y. If the best collapse is valid, its Tc and y are used. S
    is then the mean squared distance of the points from one curve, in units of their errors.
    Otherwise Tc is known_tc(), y comes from theory, and there is no S. The title then states the
    origin of Tc and why the best collapse was rejected."""
    figure, axes = style.grid(len(points), height=2.5)
    for panel, point in zip(axes.flat, points):
        found = point["collapse"]
        good = found["tc"] is not None
        tc, tc_error = value_and_error(found["tc"]) if good else known_tc(point)
        y, y_error = value_and_error(found["y"]) if good else (found["y_theory"], 0)
        for index, size in enumerate(point["sizes"]):
            fine = size["fine"]
            x = (array(fine["temperatures"]) - tc) * size["sites"]**y
            value, error = (array(fine["binder"][key]) for key in ("value", "error"))
            near = np.abs(x) <= found["range"]
            style.points(panel, x[near], value[near], error[near], index,
                         size_label(size))
        panel.set_xlabel(r"$(T - T_{\mathrm{c}})\,N^{\,y}$ ($J/k_{\mathrm{B}}$)")
        panel.set_ylabel(style.LABELS["binder"])
        title = rf"{p_label(point)}: $T_{{\mathrm{{c}}}} = {in_formula(tc, tc_error)}$"
        title += rf", $y = {in_formula(y, y_error)}$, $S = {found['quality']:.2g}$" if good else \
            f" {tc_source(point)}, $y = {y:.4g}$\nbest collapse rejected: {found['against']}"
        panel.set_title(title, loc="left", fontsize=7)
        panel.legend(**style.SMALL_LEGEND)
    return figure, "collapse"


def draw_floors(panel, sizes):
    """Draws tau_int of uncorrelated measurements: half of the cycles between two measurements. This
    number may differ between sizes. Each of its values gets a line, with the sizes in its label if
    there are several lines. Returns the values of tau_int."""
    floors = {}
    for size in sizes:
        if size.get("every"):
            floors.setdefault(size["every"] / 2, []).append(size_label(size))
    for number, (floor, names) in enumerate(sorted(floors.items())):
        sizes_of_floor = f" ({', '.join(names)})" if len(floors) > 1 else ""
        panel.axhline(floor, color=style.GREY, linewidth=0.8, zorder=1,
                      linestyle=(0, (1, 1 + 1.5 * number)),
                      label=f"uncorrelated, every {2 * floor:g} cycles{sizes_of_floor}")
    return list(floors)


def plot_tau(summary, point):
    """tau_int of m^2 (q^2 for a spin glass) in cycles of the schedule M:W. Schedules and cycles per
    measurement may differ between sizes."""
    tau, order = ("overlap_tau", "q") if plot_overlaps.is_glass(point) else ("tau", "m")
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    for index, size in enumerate(point["sizes"]):
        schedule = schedule_label(size, summary.get("sampling", {}).get("schedule", ""))
        label = f"{size_label(size)}, {schedule}"
        draw_curve(panel, size, tau, index, (-np.inf, np.inf), label)
    sizes = [size for size in point["sizes"] if size.get(tau)]
    floors = draw_floors(panel, sizes)
    style.log_if_wide(panel, [floors, *(size[tau]["value"] for size in sizes)])
    panel.set_xlabel(style.TEMPERATURE)
    panel.set_ylabel(rf"$\tau_{{\mathrm{{int}}}}({order}^2)$ (cycles)")
    panel.set_title(full_title(point), loc="left")
    panel.legend(**style.SMALL_LEGEND)
    return figure, f"tau-{p_name(point)}"


def plot_tc(summary):
    """Tc(p) with Tc(0) as a horizontal line. The axis of p is logarithmic, or linear from 0 if
    there is only one p. Open symbols are values that a check rejected."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    points = [point for point in summary["points"] if point["p"] > 0]
    known = [(point["p"], *tc_of(point)) for point in points if np.isfinite(tc_of(point)[0])]
    contradicted = [(point["p"], *total_or_statistical(rejected_tc(point))) for point in points
                    if rejected_tc(point)]
    glass = any(point.get("order") == "spin-glass" for point in points)
    symbol = r"T_{\mathrm{SG}}" if glass else r"T_{\mathrm{c}}"
    for values, label, face in ((known, f"${symbol}(p)$", {}),
                                (contradicted, "rejected by a check",
                                 {"markerfacecolor": "white"})):
        if values:
            p, tc, error = np.array(values).T
            style.points(panel, p, tc, error, 0, label, **face)
    if len(known) <= MOST_ANNOTATED:
        for x, value, error in known:
            name_value(panel, x, value, error)
    tc0 = summary.get("tc0") or {}
    value, error = value_and_error(tc0 or None)
    if np.isfinite(value):
        panel.axhline(value, color=style.GREY, linewidth=0.8, linestyle="--",
                      label=rf"$T_{{\mathrm{{c}}}}(0) = {in_formula(value, error)}$, "
                            f"{tc0.get('source', '')}")
    measured, _ = value_and_error(tc0.get("measured"))
    if np.isfinite(measured) and tc0.get("source") != "measured":
        panel.axhline(measured, color=style.COLOURS[0], linewidth=0.8, linestyle=":",
                      label=rf"measured ${in_formula(*value_and_error(tc0['measured']))}$")
    panel.margins(x=0.15, y=0.15)
    p_axis(panel, [point[0] for point in known + contradicted])
    panel.set_ylabel(style.SPIN_GLASS if glass else style.CRITICAL)
    style.legend_above(panel)
    return figure, "tc"


def name_value(panel, x, value, error):
    """Writes a value below its point."""
    panel.annotate(with_error(value, error), (x, value - np.nan_to_num(error)), xytext=(0, -4),
                   textcoords="offset points", ha="center", va="top", fontsize=7,
                   bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5})


def p_axis(panel, p):
    """Sets up the abscissa for these p > 0: logarithmic with plain numbers, or linear from 0 for a
    single value."""
    panel.set_xlabel(style.REWIRED)
    if len(set(p)) == 1:
        panel.set_xscale("linear")
        panel.set_xlim(0, 2 * p[0])
        panel.set_xticks([0, p[0]], ["0", style.plain_number(p[0])])
        return
    panel.set_xscale("log")
    style.plain_log_ticks(panel.xaxis, p)


def draw_power_law(panel, law):
    """Draws the fitted power law with its error band, from the covariance in the summary."""
    amplitude, amplitude_error = value_and_error(law["amplitude"])
    exponent, exponent_error = value_and_error(law["exponent"])
    x = np.geomspace(law["p_first"], law["p_last"], 41)
    y = amplitude * x**exponent
    quality = "" if law.get("chi2") is None else \
        rf", $\chi^2/\mathrm{{dof}} = {law['chi2']:.1f}/{law['dof']}$"
    panel.plot(x, y, color=style.COLOURS[0], linewidth=0.8,
               label=rf"fit $p^{{\,{in_formula(exponent, exponent_error)}}}${quality}")
    if law.get("covariance") is not None:
        variance = (amplitude_error / amplitude)**2 + 2 * law["covariance"] * np.log(x) + \
            (exponent_error * np.log(x))**2
        band = np.exp(np.sqrt(np.maximum(variance, 0)))
        panel.fill_between(x, y / band, y * band, color=style.COLOURS[0], alpha=0.2, linewidth=0)


def plot_shift(summary):
    """Tc(p) - Tc(0) on logarithmic axes, and below it the local exponents."""
    local = summary.get("local_exponents", [])
    figure, axes = style.new_figure(rows=2 if local else 1, height=2.3, sharex=True)
    above = axes[0, 0]
    known = [(point["p"], *value_and_error(point.get("shift"))) for point in summary["points"]]
    p, shift, error = np.array([k for k in known if k[0] > 0 and k[1] > 0]).reshape(-1, 3).T
    style.points(above, p, shift, error, 0)
    above.set_ylabel(r"$T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)")
    if len(p) == 1:  # a single point shows no power law: linear axes from 0
        name_value(above, p[0], shift[0], error[0])
        above.set_ylim(0, 1.3 * (shift[0] + np.nan_to_num(error[0])))
        p_axis(above, p)
        return figure, "shift"
    for law in summary.get("power_laws", [])[:1]:
        draw_power_law(above, law)
    theory = ONE_OVER_GAMMA.get(summary.get("lattice", {}).get("dim"))
    if theory and len(p) > 1:
        x = np.array([p.min(), p.max()])
        above.plot(x, shift[np.argmin(p)] * (x / p.min()) ** theory, color=style.GREY,
                   linestyle="--", linewidth=0.8, label=rf"slope $1/\gamma = {theory:.3f}$")
    above.set_yscale("log")
    style.plain_log_ticks(above.yaxis, shift)
    if above.get_legend_handles_labels()[1]:
        above.legend(loc="upper left", fontsize=7)
    if local:
        draw_local_exponents(axes[1, 0], local, theory)
    p_axis(axes[-1, 0], p)
    above.set_xlabel("" if local else style.REWIRED)
    return figure, "shift"


def draw_local_exponents(panel, local, theory):
    """Draws each local exponent between its two values of p."""
    values = np.array([value_and_error(entry["exponent"]) for entry in local])
    style.points(panel, [entry["p"] for entry in local], values[:, 0], values[:, 1], 1)
    for entry, (value, _) in zip(local, values):
        panel.plot([entry["p_low"], entry["p_high"]], [value, value], linewidth=0.6,
                   color=style.curve_style(1)["color"])
    if theory:
        panel.axhline(theory, color=style.GREY, linestyle="--", linewidth=0.8)
    panel.set_ylabel("local exponent")


def plot_tree(point):
    """lambda(T) on bare lattices, and the temperature where it is 1 (the tree condition)."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    tree = point["tree"]
    for index, edge in enumerate(sorted({entry["edge"] for entry in tree["lambda"]})):
        entries = [entry for entry in tree["lambda"] if entry["edge"] == edge]
        t, value = (array([entry[key] for entry in entries]) for key in ("temperature", "lambda"))
        style.points(panel, t, value, array([entry["error"] for entry in entries]), index,
                     f"L = {edge}")
    panel.axhline(1, color=style.GREY, linewidth=0.7, linestyle=":")
    value, error = total(tree["tc"])
    if np.isfinite(value):
        panel.axvline(value, color=style.GREY, linewidth=0.7,
                      label=rf"$T_{{\mathrm{{c}}}} = {in_formula(value, error)}$")
    panel.set_xlabel(style.TEMPERATURE)
    panel.set_ylabel(r"$\lambda$ (from shortcut to shortcut)")
    panel.set_title(p_label(point), loc="left")
    panel.legend()
    return figure, f"tree-{p_name(point)}"


def with_best_tc(summary):
    """A copy of the summary in which the combined values of crossings and tree condition replace
    those of the crossings. Its layout is that of a summary without the tree condition."""
    if "best" not in summary:
        return summary
    points = [point | {"tc": point["best"], "shift": point["best_shift"], "candidate": None}
              for point in summary["points"]]
    best = summary["best"]
    tc0 = summary.get("tc0") or (best["tc0"] and best["tc0"] | {"source": "published"})
    return summary | {"points": points, "local_exponents": best["local_exponents"],
                      "power_laws": [], "tc0": tc0}


def jobs(summary, model=None):
    """Yields a function for each figure that the summary allows. The function draws the figure and
    returns (figure, name). `model`: files.read_model(), which says whether it is a spin glass."""
    summary = plot_overlaps.with_model(summary, model or {})
    yield from jobs_of_study(with_best_tc(summary), summary.get("points", []))
    for point in summary.get("points", []):
        if (point.get("tree") or {}).get("lambda"):
            yield partial(plot_tree, point)


def jobs_of_study(summary, by_crossings):
    """As jobs(), without the figures of the tree condition. `summary` has the best Tc of each
    point. `by_crossings` has the same points with the results of the crossings alone, which the
    figures of the extrapolation show."""
    points, more = summary.get("points", []), style.add_labels(summary)
    yield from plot_sweep.jobs(points)
    if any(point["p"] > 0 and (np.isfinite(tc_of(point)[0]) or rejected_tc(point))
           for point in points):
        yield partial(plot_tc, summary)
    if any(value_and_error(point.get("shift"))[0] > 0 for point in points):
        yield partial(plot_shift, summary)
    with_crossings = [p for p in by_crossings if any(found(p, quantity) for quantity in QUANTITIES)]
    if with_crossings:
        yield partial(plot_extrapolation, with_crossings)
    with_u = [p for p in by_crossings if found(p, "binder")]
    if with_u:
        yield partial(plot_binder_limit, with_u)
    collapsed = [p for p in points if p.get("collapse")
                 and (p["collapse"]["tc"] is not None or np.isfinite(known_tc(p)[0]))]
    if collapsed:
        yield partial(plot_collapse, collapsed)
    for point in points:
        if not point.get("sizes"):
            continue
        if point["overlaps"]:
            yield partial(plot_overlaps.plot_overlaps, point, full_title(point), p_name(point),
                          window_of(point))
        if plot_peaks.has_peaks(point):
            yield from plot_peaks.jobs(point)
        elif not plot_overlaps.is_glass(point):
            yield partial(plot_crossings, point, summary.get("q", 2))
        yield partial(plot_thermodynamics, point, more)
        if any(size.get("tau") for size in point["sizes"]):
            yield partial(plot_tau, summary, point)


def draw(summary, folder, model=None):
    """Draws all figures into `folder` and returns their paths."""
    return style.save_all(jobs(summary, model), folder)
