"""Couplings and fields of a simulation: H = -sum J_ij s_i s_j - sum h_i s_i.

couplings: J of the bonds. "ferromagnet" (1), "antiferromagnet" (-1), "pm" (1 or -1 at random),
    "gaussian" (normal deviates), "file" (the weights of the graph), or an array [bonds] in the
    order of `graph.edges`. Random couplings follow from the graph's seed and `coupling_seed`.
field: h of the sites: a number, or an array [sites] in the order of their numbers. On a lattice
    site = x + Lx y + Lx Ly z, and an array of the lattice's shape, such as [y, x], is accepted, too
    (its ravel() is in this order). Fields of the graph are used only if couplings is "file".
on: "all", or "shortcuts": J of the lattice's own bonds is then 1.
negative: probability of J = -1 of "pm".
shortcut_strength: factor of the J of shortcuts.
coupling_seed: another number gives other random couplings and fields on the same graph.
field_random, field_width: random part of the field: "none"; "pm": +-field_width; "gaussian":
    field_width times a normal deviate.

All J and h are rounded to multiples of 2^-20. Arrays and weights may have 0 and numbers from 1e-9
to below 1024 in absolute value. UsageError for other numbers, and if rounding changes the largest
number of an array, or a single number, by more than 1%.
"""

import numpy as np

from . import arguments
from .errors import DataError, UsageError
from .graph import Graph

STANDARD = {"couplings": "ferromagnet", "on": "all", "negative": 0.5, "shortcut_strength": 1.0,
            "coupling_seed": 0, "field": 0.0, "field_random": "none", "field_width": 1.0}
# Keys that have no effect on a graph with weights, because the weights contain every J.
COUPLING_KEYS = ("couplings", "on", "negative", "shortcut_strength")


def _words(given):
    """{key: text} of all values that differ from their defaults."""
    words = {}
    for key, standard in STANDARD.items():
        value = given[key]
        if isinstance(standard, str):
            word = arguments.text(key, value)
        elif isinstance(standard, int):
            word = str(arguments.integer(key, value, 0, 2**32 - 1))
        else:
            value = arguments.real(key, value)
            word = repr(value)
        if value != standard:
            words[key] = word
    return words


def _by_site(graph, field):
    """Converts an array of fields to [sites]. Accepts [sites] and the shape of the lattice."""
    shape = np.shape(field)
    lattice = tuple(graph.extents[::-1])
    if shape == lattice:
        return np.ravel(field)
    if shape != (graph.sites,):
        order = "in the order of their numbers"
        if lattice:
            order = f"in the order x + Lx y + .. of their numbers, or an array of shape {lattice}"
        raise UsageError(f"field: {'x'.join(map(str, shape))} values, but the graph has "
                         f"{graph.sites} sites (expected: one value per site {order})")
    return field


def applied(graph, **given):
    """Returns (graph, {key: text}) for a simulation. Arrays of couplings or fields become weights
    of the graph; the dict omits values that equal their default."""
    couplings, field = given["couplings"], given["field"]
    couplings_are_array, field_is_array = not isinstance(couplings, str), np.ndim(field) > 0
    if not couplings_are_array and couplings == "file" and graph.weights is None \
            and graph.fields is None:
        raise UsageError("couplings='file': the graph has no weights (give them to Graph(edges, "
                         "weights=J), or use an array couplings=J)")
    if not couplings_are_array and not field_is_array:
        return graph, _words(given)
    words = _words(given | {"couplings": "ferromagnet" if couplings_are_array else couplings,
                            "field": 0.0 if field_is_array else field})
    fields = None
    if couplings_are_array:
        for key in COUPLING_KEYS:
            if key in words:
                raise UsageError(f"{key}: cannot be combined with an array of couplings, which "
                                 "already gives every J")
        if np.ndim(couplings) == 0:
            raise TypeError(f"couplings: {arguments.shown(couplings)} is neither a string nor an "
                            "array [bonds] (one J for all bonds: np.full(graph.bonds, J))")
        weights = arguments.numbers("couplings", couplings)
        if len(weights) != graph.bonds:
            raise UsageError(f"couplings: {len(weights)} values, but the graph has "
                             f"{graph.bonds} bonds")
    else:
        weighing = {key: words[key] for key in (*COUPLING_KEYS, "coupling_seed") if key in words}
        if weighing.get("couplings") not in ("pm", "gaussian"):
            weighing.pop("coupling_seed", None)
        weighted = Graph._of(graph._graph.weighted(weighing)) if weighing else graph
        if weighing.get("couplings") == "file":
            fields = graph.fields
        weights = weighted.weights if weighing else None
    if field_is_array:
        values = arguments.numbers("field", _by_site(graph, field))
        fields = values if fields is None else fields + values
    left = {key: word for key, word in words.items() if key not in COUPLING_KEYS}
    if "field_random" not in left:
        left.pop("coupling_seed", None)
    try:
        return graph._weighted(weights, fields), left | {"couplings": "file"}
    except DataError as error:  # names the arguments of Graph()
        text = str(error).replace("weights: ", "couplings: ").replace("fields: ", "field: ")
        raise UsageError(text) from None
