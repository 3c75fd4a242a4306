"""Which schedule M:W gives m^2 and U with the smallest errors after a second (`rewise tune`)."""

import json
import math
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from . import arguments
from .command import call
from .display import Picture, aligned, table_html
from .errors import UsageError, module
from .files import value_and_error, with_error
from .graph import Graph


def tune(graph: Graph, temperature: float, *, budget: float = 30,
         schedules: Sequence[str] | None = None, cluster: str | None = None, model: str = "ising",
         q: int = 2, local: str = "auto", engine: str = "auto", replicas: int = 0,
         device: str = "auto", threads: int = 0, seed: int = 1, keep_all: bool = False,
         progress: bool | None = None) -> "Tuning":
    """Measures schedules on one graph at one temperature, some `budget` seconds in all; Tuning.

    schedules: those to compare, such as ["1:0", "1:1", "1:16"]; some twenty unless they are said.
    cluster: "wolff", "swendsen-wang", "few-cluster"; None: the first two.
    keep_all: the hopeless are measured to the end, too.

    They are ranked by `worth`, independent measurements of m^2 and U per second (analysis/README.md
    "What a schedule is worth"), which rests on times: two calls may differ.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: {type(graph).__name__} is no rewise.Graph")
    if graph.bare:
        raise UsageError("graph: schedules are tuned on whole graphs, not on a bare lattice "
                         "(rewise graph --bare)")
    seconds = arguments.real("budget", budget)
    if seconds <= 0:
        raise UsageError(f"budget: {budget} seconds are not above 0")
    words = ["tune", "--json", "--no-plots", "--temperature",
             repr(arguments.real("temperature", temperature)), "--budget", f"{seconds}s",
             "--model", arguments.text("model", model), "--local", arguments.text("local", local),
             "--engine", arguments.text("engine", engine), "--device",
             arguments.text("device", device), "--replicas", arguments.whole("replicas", replicas),
             "--threads", arguments.whole("threads", threads), "--seed",
             arguments.whole("seed", seed)]
    if model == "potts":
        words += ["--q", arguments.whole("q", q)]
    if cluster is not None:
        words += ["--cluster", arguments.text("cluster", cluster)]
    if schedules is not None:
        schedules = [schedules] if isinstance(schedules, str) else schedules
        if len(schedules) == 0:
            raise UsageError("schedules: none to compare (None: some twenty)")
        words += ["--candidates", ",".join(arguments.text("schedules", s) for s in schedules)]
    if keep_all:
        words.append("--keep-all")
    if graph.extents and graph.rule != "imported":
        words += ["--dim", graph.dim, "--size", ",".join(map(str, graph.extents)), "--p",
                  repr(graph.p), "--rule", graph.rule, "--parity", graph.parity, "--graph-seed",
                  graph.seed]
        return Tuning(json.loads(call(words, progress)))
    with tempfile.TemporaryDirectory(prefix="rewise-") as folder:
        graph.save(pathlib.Path(folder) / "graph.h5")
        return Tuning(json.loads(call([*words, "--graph", f"{folder}/graph.h5"], progress)))


def _name(candidate):
    short = {"swendsen-wang": " SW", "few-cluster": " few"}.get(candidate["cluster"], "")
    return candidate["schedule"] + ("" if candidate["schedule"].endswith(":0") else short)


class Tuning:
    """What tune() found; `json` holds everything."""

    def __init__(self, found):
        self.json = found
        self._setting = found["settings"][0]

    @property
    def best(self) -> str:
        """The winner's schedule, "M:W"."""
        return self._setting["winner"]["schedule"]

    @property
    def cluster(self) -> str:
        """The winner's cluster update."""
        return self._setting["winner"]["cluster"]

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """Dicts, the best first: schedule, cluster, worth (independent measurements of m^2 and
        U per second), rate (decorrelated measurements of m^2 per second), .."""
        return sorted(self._setting["candidates"], key=lambda c: c["rank"])

    def rows(self) -> list[list[str]]:
        """A heading and a row of texts per candidate, the best first."""
        table = [["M:W", "worth", "per second", "us/cycle", "tau(m^2)"]]
        for c in self.candidates:  # those that were dropped early have no numbers
            cycle = value_and_error(c["seconds_per_cycle"])
            numbers = (value_and_error(c["worth"]), value_and_error(c["rate"]),
                       (1e6 * cycle[0], 1e6 * cycle[1]), value_and_error(c["tau"]["m2"]))
            table.append([_name(c)] + [with_error(*number) if math.isfinite(number[0]) else "-"
                                       for number in numbers])
        return table

    def plot(self, folder: arguments.Path | None = None) -> Picture:
        """Rates of all candidates, as a Picture; PNG and PDF in `folder` (None: a temporary
        one)."""
        module("matplotlib.pyplot", "plot()")
        from .plots import plot_style, plot_tune

        place = pathlib.Path(folder or tempfile.mkdtemp(prefix="rewise-"))
        figure, name = plot_tune.plot_rates(self.json["settings"])
        written = plot_style.save(figure, place, name)
        return Picture(next(path for path in written if path.suffix == ".png"))

    def __str__(self):
        return aligned(self.rows())

    def __repr__(self):
        return f"<rewise.Tuning: best {_name(self._setting['winner'])}>"

    def _repr_html_(self):
        return table_html(self.rows())
