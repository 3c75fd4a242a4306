"""Finds the schedule M:W that gives the smallest errors of m^2 and U (with replica exchange: of
q^2) for a given computing time (`rewise tune`)."""

import json
import math
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import arguments
from . import couplings as _couplings
from .command import call, options
from .display import Picture, aligned, table_html
from .errors import UsageError, module
from .files import schedule_label, value_and_error, with_error
from .graph import Graph
from .simulation import check_graph, default_seed, temperatures


def _temperatures(temperature, exchange):
    """The value of --temperature."""
    if not exchange:
        if isinstance(temperature, Mapping) or np.ndim(temperature) > 0:
            raise UsageError(f"temperature: {arguments.shown(temperature)} (tune() takes one "
                             "number; several temperatures need exchange=True)")
        return repr(arguments.real("temperature", temperature))
    found = temperatures(temperature)
    chosen = found.get("temperature_range")
    return ":".join(map(repr, chosen)) if chosen else ",".join(map(repr, found["temperature"]))


@arguments.checks_names(measure="budget", equilibrate="budget", schedule="schedules")
def tune(graph: Graph, temperature: arguments.Reals | Mapping[str, float], *,
         exchange: bool = False, houdayer: bool = False, budget: float = 30,
         schedules: Sequence[str] | None = None, cluster: str | None = None,
         model: str = "ising", q: int | None = None, local: str = "auto", engine: str = "auto",
         replicas: int = 0, device: str = "auto", threads: int = 0, seed: int | None = None,
         keep_all: bool = False,
         couplings: str | arguments.Numbers = "ferromagnet", field: arguments.Reals = 0.0,
         on: str = "all", negative: float = 0.5, shortcut_strength: float = 1.0,
         coupling_seed: int = 0, field_random: str = "none", field_width: float = 1.0,
         progress: bool | None = None) -> "Tuning":
    """Compares schedules on one graph at one temperature, in about `budget` seconds.

    exchange: replica exchange between several temperatures, a list or {"from": 0.8, "to": 2.0} as
        in simulate(), for spin glasses: schedules are compared by q^2, the squared overlap of two
        replicas, at the temperature where it decorrelates most slowly. `replicas` must be even.
        Raises UsageError if the budget is too short to reach equilibrium.
    houdayer: Houdayer's cluster moves in all schedules, as in simulate(); needs exchange.
    schedules: schedules to compare, such as ["1:0", "1:1", "swendsen-wang/4:1"]; None: about
        twenty.
    cluster: "wolff", "swendsen-wang" or "few-cluster"; None: the first two.
    couplings, field, on, negative, shortcut_strength, coupling_seed, field_random, field_width: as
        simulate().
    seed: of the random numbers; None: that of the graph if it was built by rewire(), else 1.
    keep_all: measure all schedules to the end, instead of dropping slow ones early.

    Schedules are ranked by `worth`, the number of independent measurements of m^2 and U per second
    (analysis/README.md, "What a schedule is worth"). This depends on measured times, so two calls
    may give different results.
    """
    given = locals()
    check_graph(graph)
    if graph.bare:
        raise UsageError("graph: tuning requires a whole graph, not a bare lattice (rewise graph "
                         "--bare)")
    seconds = arguments.real("budget", budget)
    if seconds <= 0:
        raise UsageError(f"budget: {budget} seconds is out of range (> 0)")
    exchange = arguments.truth("exchange", exchange)
    if isinstance(schedules, str):
        schedules = [schedules]
    elif schedules is not None and len(schedules) == 0:
        raise UsageError("schedules: the list is empty (None: about twenty schedules)")
    words = ["tune", "--json", "--no-plots", *options(
        temperature=_temperatures(temperature, exchange), budget=f"{seconds}s",
        model=arguments.text("model", model), local=arguments.text("local", local),
        engine=arguments.text("engine", engine), device=arguments.text("device", device),
        replicas=arguments.integer("replicas", replicas),
        threads=arguments.integer("threads", threads),
        seed=arguments.integer("seed", default_seed(graph) if seed is None else seed),
        q=None if q is None else arguments.integer("q", q),
        cluster=None if cluster is None else arguments.text("cluster", cluster),
        candidates=None if schedules is None else
        ",".join(arguments.text("schedules", one) for one in schedules))]
    if exchange:
        words.append("--exchange")
    if arguments.truth("houdayer", houdayer):
        words.append("--houdayer")
    if keep_all:
        words.append("--keep-all")
    graph, interactions = _couplings.applied(
        graph, **{name: given[name] for name in _couplings.STANDARD})
    for key, word in interactions.items():
        option = "couplings-on" if key == "on" else key.replace("_", "-")
        words.append(f"--{option}={word}")
    if graph.extents and graph.rule != "imported":
        words += options(dim=graph.dim, size=",".join(map(str, graph.extents)), p=repr(graph.p),
                         rule=graph.rule, parity=graph.parity, graph_seed=graph.seed)
        return Tuning(json.loads(call(words, progress)))
    with tempfile.TemporaryDirectory(prefix="rewise-") as folder:
        graph.save(pathlib.Path(folder) / "graph.h5")
        return Tuning(json.loads(call([*words, "--graph", f"{folder}/graph.h5"], progress)))


class Tuning:
    """The result of tune(). `json` contains everything."""

    def __init__(self, found):
        self.json = found
        self._setting = found["settings"][0]

    @property
    def best(self) -> str:
        """The best schedule, "M:W"."""
        return self._setting["winner"]["schedule"]

    @property
    def cluster(self) -> str:
        """The cluster update of the best schedule."""
        return self._setting["winner"]["cluster"]

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """A dict per candidate, the best first: schedule, cluster, worth (independent measurements
        of m^2 and U per second), rate (decorrelated measurements of m^2 per second), and more. With
        replica exchange, worth and rate refer to q^2."""
        return sorted(self._setting["candidates"], key=lambda c: c["rank"])

    def rows(self) -> list[list[str]]:
        """A table of strings: a heading, and a row per candidate, the best first."""
        name, symbol = ("q2", "tau(q^2)") if "exchange" in self._setting else ("m2", "tau(m^2)")
        table = [["schedule", "worth", "per second", "us/cycle", symbol]]
        for c in self.candidates:  # candidates that were dropped early have no numbers
            cycle = value_and_error(c["seconds_per_cycle"])
            numbers = (value_and_error(c["worth"]), value_and_error(c["rate"]),
                       (1e6 * cycle[0], 1e6 * cycle[1]), value_and_error(c["tau"][name]))
            table.append([schedule_label(c)] +
                         [with_error(*number) if math.isfinite(number[0]) else "-"
                          for number in numbers])
        return table

    def plot(self, folder: arguments.Path | None = None) -> Picture:
        """Plots the rates of all candidates. Returns a Picture; writes PNG and PDF into `folder`
        (None: a temporary folder)."""
        module("matplotlib.pyplot", "plot()")
        from .plots import plot_style, plot_tune

        place = pathlib.Path(folder or tempfile.mkdtemp(prefix="rewise-"))
        figure, name = plot_tune.plot_rates(self.json["settings"])
        written = plot_style.save(figure, place, name)
        return Picture(next(path for path in written if path.suffix == ".png"))

    def __str__(self):
        return aligned(self.rows())

    def __repr__(self):
        return f"<rewise.Tuning: best {schedule_label(self._setting['winner'])}>"

    def _repr_html_(self):
        return table_html(self.rows())
