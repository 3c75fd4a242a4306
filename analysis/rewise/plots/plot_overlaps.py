"""Figures of spin glasses, whose order parameter is the overlap q of two replicas, and the rule
that says which models are drawn with it."""

import textwrap

import numpy as np

from . import plot_style as style
from .. import published
from ..files import array, in_formula, open_task, size_label, total, value_and_error
from ..series import jackknife, mean_and_error

# Keys of [model] that change the couplings or fields, in the order of the program's texts.
KEYS = ("couplings", "on", "negative", "shortcut_strength", "coupling_seed", "field",
        "field_random", "field_width")

# What the overlaps show, as OverlapCrossings in src/search/sweep/overlap_crossings.hpp.
GLASS = "glass"          # couplings of all bonds have mean 0: the spins freeze, m does not order
ANY_ORDER = "any order"  # other couplings of both signs: m may order, too


def model_words(model):
    """{key: text} of the couplings and fields, from [model] of study.toml. Default values are left
    out; the program writes one of them, negative = 0.5."""
    return {key: str(model[key]) for key in KEYS
            if key in model and (key, str(model[key])) != ("negative", "0.5")}


def model_words_of_task(task):
    """model_words() of the configuration of a task file."""
    return model_words({key.removeprefix("sampling."): word
                        for key, word in task.configuration.items() if key.startswith("sampling.")})


def model_text(name, dim, words):
    """"3D Ising, couplings = pm" for the model `name`, in lines as wide as a panel; "" for an
    Ising ferromagnet without a field. `dim`: None or 0 if unknown."""
    if not words:
        return ""
    named = ", ".join(f"{key}~=~{word}" for key, word in words.items())  # ~: no line break
    text = (f"{dim}D " if dim else "") + f"{name.capitalize()}, {named}"
    return textwrap.fill(text, 52).replace("~", " ")


def overlap_order(words, p, rule):
    """GLASS, ANY_ORDER, or "" if overlaps do not show a transition: no couplings of both signs, or
    a field. `words`: model_words(); `p` and `rule`: of the network. The rule is that of the
    program's tables (overlap_crossings_of() and is_frustrated() in src/search), with two additions:
    networks without shortcuts have no couplings of shortcuts, and if only those are random, the
    lattice, whose bonds have J = 1, may order."""
    couplings, shortcuts = words.get("couplings", "ferromagnet"), words.get("on") == "shortcuts"
    if float(words.get("field", 0)) != 0 or words.get("field_random", "none") != "none":
        return ""
    if couplings == "file":
        return ANY_ORDER
    negative = 0.0  # probability of J < 0 on shortcuts, before the factor shortcut_strength
    if couplings in ("pm", "gaussian"):
        negative = float(words.get("negative", 0.5))
    elif couplings == "antiferromagnet":
        negative = 1.0 if shortcuts else 0.5 if rule.endswith("-any") else 0.0
    everywhere = couplings in ("pm", "gaussian") and not shortcuts and negative > 0
    unlike = negative != (0 if float(words.get("shortcut_strength", 1)) > 0 else 1)
    if not everywhere and (p == 0 or not unlike):
        return ""
    return GLASS if negative == 0.5 and not shortcuts else ANY_ORDER


def overlap_order_of_task(task):
    """overlap_order() of a task; "" also if it has no overlaps. A task contains the weights and
    fields of its graph file: without a weight below 0, or with a field, overlaps show no
    transition."""
    if "overlap" not in task.columns or task.states != 2 or not task.columns["overlap"].shape[2]:
        return ""
    found = overlap_order(words := model_words_of_task(task), task.p, task.rule)
    if found and words.get("couplings") == "file":
        with open_task(task.path) as file:
            graph = file["graph"]
            if not ("weight" in graph and (graph["weight"][()] < 0).any()):
                return ""
            if "field" in graph and graph["field"][()].any():
                return ""
    return found


def with_model(summary, model):
    """A copy of the summary whose points have the keys "model_text" and "overlaps": model_text(),
    and overlap_order() of those with overlaps. `model`: [model] of study.toml, or {}."""
    words, lattice = model_words(model), summary.get("lattice", {})
    points = []
    for point in summary.get("points", []):
        rule = point.get("rule", lattice.get("rule"))
        dim = point.get("dim", lattice.get("dim"))
        states = {"q": summary["q"]} if summary.get("model") == "potts" else {}
        text = model_text(summary.get("model", ""), dim if isinstance(dim, int) else None,
                          states | words)
        points.append(point | {"model_text": text,
                               "overlaps": overlap_order_of_point(point, words, str(rule))})
    return summary | {"points": points}


def overlap_order_of_point(point, words, rule):
    """overlap_order() of a point of a summary. If the couplings are unknown (no `words`), the
    crossings in the summary decide."""
    sizes = point.get("sizes", [])
    if not any(has_values(size, "overlap_m2") for size in sizes):
        return ""
    if not words:
        return GLASS if point.get("order") == "spin-glass" else \
            ANY_ORDER if point.get("overlap_crossings") else ""
    if any(has_values(size, "magnetisation") for size in sizes):  # fields of a graph file
        return ""
    # Imported networks have p = 0 in a summary, whatever their bonds are.
    return overlap_order(words, 1 if rule == "imported" else point["p"], rule)


def has_values(size, quantity):
    return np.isfinite(array((size.get(quantity) or {}).get("value", []))).any()


def is_glass(point):
    return point.get("overlaps") == GLASS


# Exponents x of N^x <q^2>, whose curves cross at T_SG, with the names of their crossings in a
# summary (src/search/sweep/overlap_crossings.cpp). With shortcuts: mean field. The cubic lattice:
# x = (1 + eta)/3.
MEAN_FIELD = "scaled_overlap", 2 / 3, "2/3"
CUBIC = "cubic_overlap", (1 + published.GLASS_ETA[3]) / 3, "0.203"


def scaling(point):
    """(name of the crossings, x, label) of N^x <q^2> of a point; x = 0 where no exponent is
    known."""
    cubic = all(len(size["extents"]) == 3 for size in point["sizes"])
    if point["p"] == 0 and not cubic:
        return None, 0.0, style.LABELS["overlap_m2"]
    name, x, text = MEAN_FIELD if point["p"] > 0 else CUBIC
    return name, x, rf"$N^{{{text}}}\,\langle q^2\rangle$"


def scaled(size, quantity, x):
    """{"value": .., "error": ..} of N^x times a quantity of a size."""
    return {key: [None if value is None else size["sites"]**x * value
                  for value in size[quantity][key]] for key in ("value", "error")}


def draw_sizes(panel, point, quantity, window, x=0.0):
    """Draws a quantity of every size, or N^x <q^2> if x > 0. Temperatures without values are left
    out."""
    for index, size in enumerate(point["sizes"]):
        curve = scaled(size, "overlap_m2", x) if x > 0 else size.get(quantity)
        if not curve:
            continue
        temperature = array(size["temperatures"])
        value, error = array(curve["value"]), array(curve["error"])
        shown = np.isfinite(value) & (temperature >= window[0]) & (temperature <= window[1])
        if not shown.any():
            continue
        style.points(panel, temperature[shown], value[shown], error[shown], index,
                     size_label(size))
        style.thin_line(panel, temperature[shown], value[shown], index)


def mark_crossings(panel, point, name):
    """Draws the crossings that were found of one observable as circles."""
    found = [crossing for crossing in point.get("overlap_crossings", [])
             if crossing["observable"] == name and crossing["found"]]
    for number, crossing in enumerate(found):
        style.circle(panel, *(value_and_error(crossing[key]) for key in ("temperature", "height")),
                     label=None if number else "crossings")


def mark_transition(panel, point):
    """Draws T_SG of `rewise tc` as a line, with a band of its total error."""
    value, error = total(point.get("tc"))
    style.mark_temperature(panel, value, error,
                           rf"$T_{{\mathrm{{SG}}}} = {in_formula(value, error)}$")


def plot_overlaps(point, title, name, window):
    """U_q, N^x <q^2> and the link overlap of every size against T, with the crossings of
    consecutive sizes and T_SG."""
    figure, axes = style.new_figure(columns=3, height=2.5)
    crossing, x, label = scaling(point)
    panels = (("overlap_binder", "overlap_binder", 0.0, style.LABELS["overlap_binder"]),
              (crossing, "overlap_m2", x, label),
              (None, "link_overlap", 0.0, style.LABELS["link_overlap"]))
    for panel, (crossed, quantity, power, text) in zip(axes[0], panels):
        draw_sizes(panel, point, quantity, window, power)
        mark_crossings(panel, point, crossed)
        if point.get("order") == "spin-glass":
            mark_transition(panel, point)
        panel.set_xlim(window)
        panel.set_xlabel(style.TEMPERATURE)
        panel.set_ylabel(text)
    style.log_if_wide(axes[0, 1], [scaled(size, "overlap_m2", x)["value"]
                                   for size in point["sizes"]])
    axes[0, 0].set_title(title, loc="left")
    axes[0, 1].legend(loc="upper right")
    return figure, f"overlaps-{name}"


# Figures of a run

MOST_BINS = 41  # approximate maximum number of bins of P(q)


def valid(task):
    """Indices of the temperatures that have values. All temperatures if the file has no results, as
    in a task of a study."""
    status = task.status or ["ok"] * len(task.temperature)
    return np.array([k for k, word in enumerate(status) if word == "ok"], dtype=int)


def member_means(task, series, member_of):
    """Averages series [time, k] over the k of each member, member_of(k): replicas or pairs of them
    that Houdayer moves couple. They are not independent, so an error must count them as one.
    Without Houdayer moves the series is returned unchanged."""
    if "sampling.houdayer" not in task.configuration:
        return series
    member = member_of(np.arange(series.shape[1]))
    return np.stack([series[:, member == k].mean(axis=1) for k in np.unique(member)], axis=1)


def pair_means(task, series):
    """member_means() of series [time, pair]: of the two pairs of four replicas."""
    return member_means(task, series, lambda pair: pair // 2)


def draw_averages(axes, temperature, rows, names):
    """Draws a panel for each of these quantities; rows: {quantity: (value, error)} for each
    temperature."""
    for panel, name in zip(axes.flat, names):
        values = np.array([row[name] for row in rows])
        style.points(panel, temperature, values[:, 0], values[:, 1], 0)
        style.thin_line(panel, temperature, values[:, 0], 0)
        panel.set_ylabel(style.LABELS[name])


def overlap_moments(task, index):
    """{quantity: (value, error)} at one temperature. Errors from the spread of the pairs."""
    q = task.columns["overlap"][index] / task.sites
    squares, fourth = pair_means(task, q**2), pair_means(task, q**4)
    links = pair_means(task, task.columns["link_overlap"][index] / task.bonds)
    return {"overlap_m2": mean_and_error(squares),
            "overlap_binder": jackknife([squares, fourth], lambda a, b: (3 - b / (a * a)) / 2),
            "link_overlap": mean_and_error(links)}


def overlap_edges(sites, samples):
    """Edges of the bins of P(q), symmetric about q = 0. q has the values -1, -1 + 2/N, .., 1. All
    bins contain the same number of values, except the first and the last, which may have fewer."""
    values = sites + 1
    most = max(1, min(MOST_BINS, int(samples**0.5)))
    width = -(-values // most)
    width += (values - width) % 2  # so that one bin lies in the middle
    beside = -(-(values - width) // (2 * width))
    edges = width * (np.arange(2 * beside + 2) - beside - 0.5)
    return np.clip(edges, -values / 2, values / 2) * 2 / sites


def distribution(task, index):
    """(edges, density, error) of P(q) at one temperature, with P(q) = P(-q). Errors from the
    spread of the pairs; NaN for a single one."""
    sums = task.columns["overlap"][index]
    edges = overlap_edges(task.sites, sums.size)
    pairs = np.array([np.histogram(np.concatenate([q, -q]) / task.sites, edges, density=True)[0]
                      for q in sums.T])
    pairs = pair_means(task, pairs.T).T
    density = pairs.mean(axis=0)
    if len(pairs) == 1:
        return edges, density, np.full(len(density), np.nan)
    return edges, density, pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))


def draw_distribution(panel, task, index):
    edges, density, error = distribution(task, index)
    panel.stairs(density, edges, color=style.COLOURS[0], linewidth=0.9)
    if np.isfinite(error).all():
        panel.errorbar((edges[1:] + edges[:-1]) / 2, density, error, linestyle="none",
                       color=style.COLOURS[0], elinewidth=0.6, capsize=0)
    panel.set_xlabel(r"overlap $q$")
    panel.set_ylabel(r"distribution $P(q)$")
    panel.set_xlim(-1, 1)
    panel.set_xticks([-1, -0.5, 0, 0.5, 1], ["-1", "-0.5", "0", "0.5", "1"])
    panel.set_ylim(0, 1.25 * np.nanmax(density + np.nan_to_num(error)))
    style.panel_name(panel, rf"$T = {style.temperature_text(task.temperature[index])}$")


def plot_run(task, title):
    """<q^2>, U_q and the link overlap against T, and P(q) at the lowest temperature that has
    values. None if there is no such temperature."""
    indices = valid(task)
    if not len(indices):
        return None
    indices = indices[np.argsort(task.temperature[indices])]
    temperature = task.temperature[indices]
    table = [overlap_moments(task, index) for index in indices]
    figure, axes = style.new_figure(columns=2, rows=2, height=2.3)
    draw_averages(axes, temperature, table, ("overlap_m2", "overlap_binder", "link_overlap"))
    for panel in axes.flat[:3]:
        panel.set_xlabel(style.TEMPERATURE)
    draw_distribution(axes[1, 1], task, indices[0])
    axes[0, 0].set_title(title, loc="left")
    return figure, "overlaps"
