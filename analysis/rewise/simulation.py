"""Simulations of one graph: simulate() runs to the end and returns Results; the caller advances a
Simulation step by step.

A cycle is M sweeps and then W cluster updates of every replica (schedule "M:W"). By default half of
the replicas start ordered and half random, and the agreement of both halves is a check of
equilibrium. The trajectory is that of `rewise run` with the same options and seed, bit for bit, on
any device and with any number of threads.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import arguments
from . import _core
from . import couplings as _couplings
from .device_spins import DeviceSpins, DeviceSums
from .errors import Error, UsageError, warn
from .files import StrictDict, unpacked
from .graph import Graph
from .results import Results

# For type checkers.
Temperatures = arguments.Reals | Mapping[str, float]
Start = str | np.ndarray

# Limit of the cycles of equilibrate="auto". The last window within it ends at cycle 102400.
MOST_AUTO = 1 << 17
MOST_SITES = 2**32 - 1  # of a Graph
# Arguments for which None means the default of the program.
_OPTIONAL = ("q", "cluster", "staggered", "out", "wolff_method", "label_method", "tile",
             "few_cluster_tile", "few_cluster_flip")


def _settings(graph, temperature, self=None, equilibrate=None, progress=None, **given):
    """(graph with its couplings, settings for _core) from the arguments of a simulation."""
    check_graph(graph)
    interactions = {name: given.pop(name) for name in _couplings.STANDARD}
    settings = temperatures(temperature)
    if given["seed"] is None:
        given["seed"] = default_seed(graph)
    for name, value in given.items():
        if value is None and name in _OPTIONAL:
            continue
        if name in ("exchange", "houdayer", "staggered"):
            settings[name] = arguments.truth(name, value)
        elif name == "threads":
            settings[name] = arguments.integer(name, value, 0, 4096)
        elif name in ("replicas", "measure", "every"):
            settings[name] = arguments.integer(name, value, 1)
        elif name in ("q", "seed", "few_cluster_tile"):
            settings[name] = arguments.integer(name, value)
        elif name == "few_cluster_flip":
            settings[name] = arguments.real(name, value)
        elif name == "tile":
            settings[name] = str(arguments.integer(name, value))
        elif name == "start" and not isinstance(value, str):
            settings |= {name: "given", "start_spins": value}
        elif name == "out":
            settings[name] = arguments.path(name, value)
        else:
            settings[name] = arguments.text(name, value)
    if (engine := _core.engines().get(settings["engine"])) is not None:
        warn([f"warning: engine: '{settings['engine']}' has been renamed to '{engine}'"])
        settings["engine"] = engine
    if "start_spins" in settings:
        settings["start_spins"] = _start_spins(graph, settings, settings["start_spins"])
    graph, settings["interactions"] = _couplings.applied(graph, **interactions)
    return graph, settings


def _start_spins(graph, settings, start):
    """Converts `start` to the array that the engines accept: uint8 [temperature, replica, sites],
    flattened, without the leading axes that `start` lacks."""
    if start is None or np.ndim(start) == 0:
        raise TypeError(f"start: {arguments.shown(start)} is neither a string ('mixed', 'cold', "
                        "'hot') nor an array of spins")
    spins = np.asarray(start)
    if spins.dtype.kind not in "biuf":
        raise TypeError(f"start: an array of dtype {spins.dtype} has no spins (expected: whole "
                        "numbers)")
    counts = settings["replicas"], graph.sites
    if "temperature_range" not in settings:
        counts = len(settings["temperature"]), *counts
    lattice = tuple(graph.extents[::-1])
    shape = spins.shape
    if lattice and shape[-len(lattice):] == lattice:
        shape = (*shape[:-len(lattice)], graph.sites)
    if shape not in [counts[k:] for k in range(len(counts))]:
        places = f"[*extents reversed] = {lattice} or " if lattice else ""
        before = f"[replica] = ({settings['replicas']},)"
        if len(counts) == 3:
            before += f" or [temperature, replica] = {counts[:2]}"
        raise UsageError(f"start: an array of shape {spins.shape} (expected: {places}[sites] = "
                         f"({graph.sites},), or these axes after {before})")
    allowed = "0 and 1, or -1 and 1"
    low, most = 0, 1
    if settings["model"] == "potts":
        most = settings.get("q", 2) - 1
        allowed = f"0..{most}"
    elif spins.dtype.kind != "b" and (spins == -1).any():
        low, allowed = -1, "-1 and 1, or 0 and 1"
    wrong = (spins < low) | (spins > most)
    if spins.dtype.kind == "f":
        wrong |= spins != np.floor(spins)
    if low == -1:
        wrong |= spins == 0
    if wrong.any():
        raise UsageError(f"start: invalid spin {spins[wrong].flat[0]} (allowed: {allowed})")
    return np.ascontiguousarray(np.maximum(spins, 0), dtype=np.uint8).ravel()


def default_seed(graph):
    """The seed of a run if the caller gives none: that of the graph, or 1 for an imported graph.
    Runs on networks with different seeds then have different random numbers."""
    return graph.seed if graph.rule != "imported" else 1


def temperatures(given):
    """The settings for temperatures that are given as a number, a list, or {"from": .., "to": ..}
    with or without "count"."""
    if not isinstance(given, Mapping):
        return {"temperature": arguments.reals("temperature", given)}
    if "count" not in given:
        return {"temperature": [], "temperature_range": temperature_range(given)}
    low, high = temperature_range(given)
    count = arguments.integer("temperature, 'count'", given["count"], 2, 10000)
    if not low < high:
        raise UsageError(f"temperature: from {low:g} to {high:g} is not a range")
    return {"temperature": _core.equal_steps(low, high, count)}


def temperature_range(given):
    """(from, to) of a temperature={"from": .., "to": ..}, which may have a "count", too."""
    if {*given} - {"count"} != {"from", "to"}:
        raise UsageError(f"temperature: {dict(given)!r} (allowed: {{'from': 0.8, 'to': 2.0}} and, "
                         "for equal steps, {'from': 0.8, 'to': 2.0, 'count': 7})")
    return tuple(arguments.real(f"temperature, '{key}'", given[key]) for key in ("from", "to"))


def check_graph(graph):
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: {type(graph).__name__} is not a rewise.Graph (see rewire(), "
                        "Graph(edges), Graph.from_networkx(), ..)")


@arguments.checks_names()
def simulate(graph: Graph, temperature: Temperatures, *, schedule: str = "1:1",
             exchange: bool = False, houdayer: bool = False, replicas: int = 32,
             measure: int = 1000, every: int = 1, equilibrate: int | str = 1000,
             model: str = "ising", q: int | None = None, local: str = "auto",
             cluster: str | None = None, start: Start = "mixed", seed: int | None = None,
             engine: str = "auto", device: str = "auto", threads: int = 0,
             wolff_method: str | None = None, label_method: str | None = None,
             tile: int | None = None, few_cluster_tile: int | None = None,
             few_cluster_flip: float | None = None,
             couplings: str | arguments.Numbers = "ferromagnet", field: arguments.Reals = 0.0,
             on: str = "all", negative: float = 0.5, shortcut_strength: float = 1.0,
             coupling_seed: int = 0, field_random: str = "none", field_width: float = 1.0,
             staggered: bool | None = None, out: arguments.Path | None = None,
             progress: bool | None = None) -> Results:
    """Simulates one graph at one or more temperatures and returns Results.

    temperature: J = k_B = 1; a number, a list, or {"from": 0.8, "to": 2.0, "count": 7} for equal
        steps. With exchange also {"from": 0.8, "to": 2.0}: chooses temperatures in this range, so
        that 30% or more of the exchanges are accepted. Short pilot runs, which measure the specific
        heat, precede the choice.
    schedule: "M:W", a cycle of M local sweeps and W cluster updates. It may name its updates:
        "swendsen-wang/1:4", "glauber/1:0".
    exchange: replica exchange (Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996)): at the end
        of each cycle, replicas may exchange their spins with those at the next temperature. For
        spin glasses. Results.exchange has acceptance and round trips.
    houdayer: Houdayer's cluster moves (Eur. Phys. J. B 22, 479 (2001)), once per cycle, for spin
        glasses in two dimensions. In a cluster, the spins of two replicas at the same temperature
        are all equal or all opposite. Each cluster is flipped in both replicas with probability 1/2
        (in a field only if the spins are opposite), which conserves the sum of the two energies.
    replicas: independent replicas per temperature; a multiple of 32 for the multispin engine.
    measure, every: number of measurements, cycles between them.
    equilibrate: cycles before the first measurement, or "auto": compares replicas with a random
        (hot) and an ordered (cold) start in the windows [c, 2c), [2c, 4c), .. with c = 25, until
        they agree in two successive windows; Results.configuration["sampling.equilibrate"] is the
        number of cycles.
    model, q: "ising", or "potts" with the number of states q = 2..255.
    local: "metropolis", "glauber", or "auto" (glauber on chains).
    cluster: "wolff", "swendsen-wang", "few-cluster" (Weigel 2011, bytespin engine); None: the one
        that `schedule` names, else "wolff".
    start: "mixed" (replicas 0, 2, 4, .. ordered, the others random), "cold" (all ordered), "hot"
        (all random), or an array of spins. An array [sites] or [*extents reversed], such as [y, x],
        is the start of all replicas. Leading axes [replica] or [temperature, replica], as in
        Simulation.spins, give each replica its own start. Ising 0 and 1, or -1 and 1; Potts
        0..q - 1. Only "mixed" allows the comparison of ordered and random starts.
    seed: of the random numbers of the run, 0..2^64 - 1. None: that of the graph if it was built by
        rewire(), else 1. Runs with the same seed share random numbers, also on different graphs, so
        that their errors are correlated: give different seeds to runs that are averaged. HeldError
        if `out` contains a run with another seed.
    engine: "multispin" (32 Ising replicas per word), "bytespin" (a byte per site), "bitlattice"
        (a bit per site, schedule "M:0"), or "auto".
    device: "auto", "cpu", "cuda", "cuda:1"; DeviceError if it is not available.
    threads: of the CPU, 0..4096; 0 = choose automatically. Results depend neither on it nor on the
        device.
    wolff_method, label_method: how the bytespin engine grows Wolff clusters ("frontier", "ccl"; on
        CUDA also "frontier-local", "persistent") and labels those of Swendsen-Wang ("fast", and the
        methods that `rewise run --help` lists). None: the fastest. Results do not depend on them.
    tile: edge of the tiles of label methods that have tiles, 4..64; None: about 256 sites per tile.
    few_cluster_tile, few_cluster_flip: for cluster="few-cluster": edge of the tiles, each of which
        draws one seed (0 or None: a few tiles), and the probability with which a cluster is flipped
        (below 1; None: 0.9).
    couplings: J of the bonds: "ferromagnet", "antiferromagnet", "pm" (1 or -1), "gaussian", "file"
        (graph.weights), or an array [bonds] in the order of graph.edges.
    field: h of the sites: a number, an array [sites] in the order of their numbers (on a lattice
        site = x + Lx y + Lx Ly z), or an array of the lattice's shape, [z, y, x].
    on, negative, shortcut_strength, coupling_seed, field_random, field_width:
        help(rewise.couplings).
    staggered: whether to measure the staggered magnetisation m_s, with opposite signs on the two
        sublattices (Ising spins with couplings or fields); None: only with
        couplings="antiferromagnet".
    out: a task file (.h5) for the run, as that of `rewise run --out`; not with equilibrate="auto".
        Ctrl-C leaves a checkpoint there, and the same call continues it; a call with a larger
        `measure` adds measurements.
    progress: whether to show a progress bar (needs tqdm); None: in terminals and notebooks.

    If a check fails at a temperature (hot and cold starts still differ, or errors are
    underestimated), the values there are NaN, and Results.status and Results.reasons say why.
    Warnings are RuntimeWarnings and are kept in Results.warnings. TauWarning is a RuntimeWarning
    that lists the temperatures with too few measurements to determine tau; tau is a lower bound
    there (help(rewise.Observable)). Errors: UsageError; HeldError if `out` contains another run;
    DataError if it is damaged; Error if equilibrate="auto" finds no equilibrium within 102400
    cycles.

    Updates: Metropolis, Glauber; U. Wolff, Phys. Rev. Lett. 62, 361 (1989); Swendsen & Wang, Phys.
    Rev. Lett. 58, 86 (1987). Random numbers: Philox (Salmon et al., 2011).
    """
    graph, settings = _settings(**locals())
    core = graph._graph
    if isinstance(equilibrate, str):
        if equilibrate != "auto":
            raise UsageError(f"equilibrate: invalid value '{equilibrate}' (allowed: a number of "
                             "cycles, or 'auto')")
        data = _simulate_auto(core, settings, progress)
        notes = data.warnings()
    else:
        settings["equilibrate"] = arguments.integer("equilibrate", equilibrate)
        total = settings["equilibrate"] + settings["measure"] * settings["every"]
        with arguments.Progress(total, "simulate", progress) as callback:
            data, notes = _core.run(core, settings, callback)
    results = Results(data, warn(notes))
    results._check_tau()
    return results


def _simulate_auto(core, settings, progress):
    if "out" in settings:
        raise UsageError("out: requires a fixed number of cycles to equilibrate, not 'auto'")
    if settings["start"] != "mixed" or settings["replicas"] < 4:  # spins are "given"
        raise UsageError("equilibrate: 'auto' requires at least two replicas of each start "
                         "(start='mixed', at least 4 replicas)")
    simulation = _core.Simulation.create(core, settings)
    window, agreed = 25, 0
    with arguments.Progress(None, "equilibrate", progress) as callback:
        while agreed < 2:
            if 2 * window > MOST_AUTO:
                raise Error(f"no equilibrium after {simulation.cycles} cycles: replicas that "
                            "started hot and cold still differ (use another schedule, or "
                            "equilibrate=N)")
            simulation.record(2 * window - simulation.cycles, 1, callback)
            agree, _ = simulation.halves_agree(window)
            agreed = agreed + 1 if agree else 0
            window *= 2
    simulation.forget()
    total = settings["measure"] * settings["every"]
    with arguments.Progress(total, "simulate", progress) as callback:
        simulation.record(settings["measure"], settings["every"], callback)
    return simulation.data()


def devices() -> list[dict[str, str]]:
    """The CUDA devices of this machine, a dict for each: "name" ("cuda:0", for `device`), "model",
    and "unfit", the reason why it cannot be used ("" if it can). The list is empty without CUDA
    devices, or if the package was built without CUDA."""
    return _core.devices()


class Step:
    """A step of Simulation.iterate(): measurement number `index`, after `cycles` cycles. Arrays are
    [replica], or [temperature, replica] if the simulation has several temperatures."""

    def __init__(self, simulation, index, bond_sum, magnetisation_sum, cycles):
        self.simulation, self.index, self.cycles = simulation, index, cycles
        self._bond_sum, self._magnetisation_sum = bond_sum, magnetisation_sum

    @property
    def energy(self) -> np.ndarray:
        """Per site."""
        core = self.simulation._core
        return -core.energy_unit * self._bond_sum / core.sites

    @property
    def magnetisation(self) -> np.ndarray:
        """Per site, signed; Potts (q N_max/N - 1)/(q - 1)."""
        simulation = self.simulation
        return self._magnetisation_sum / (simulation._core.sites * (simulation.q - 1))

    @property
    def spins(self) -> np.ndarray:
        """The current spins, as Simulation.spins."""
        return self.simulation.spins


class Simulation:
    """A simulation that its caller advances by run(), measure(), record() or iterate(). For the
    arguments see simulate().

    Thread-safe: a call waits until earlier calls return. Only `cycles` and the properties that
    never change (`temperature`, `replicas`, `engine`, `device`, `threads`) return at once. Ctrl-C
    may interrupt a cycle; the next call completes that cycle first. Handlers of other signals may
    call save() and read properties while the simulation runs, so that a job can write a checkpoint
    before it is killed. In these handlers, calls that change the simulation raise UsageError.

    Simulation(.., start=other.spins) starts from the spins of another simulation, such as one at
    another temperature. It is a new run: its cycles count from 0. Give it another seed, because
    with the same seed it uses the random numbers that made these spins. save() and restore()
    continue the same run.
    """

    @arguments.checks_names(measure="record(measure, every)", every="record(measure, every)",
                            equilibrate="run(cycles)", out="save(path)")
    def __init__(self, graph: Graph, temperature: Temperatures, *, schedule: str = "1:1",
                 exchange: bool = False, houdayer: bool = False, replicas: int = 32,
                 model: str = "ising", q: int | None = None, local: str = "auto",
                 cluster: str | None = None, start: Start = "mixed", seed: int | None = None,
                 engine: str = "auto", device: str = "auto", threads: int = 0,
                 wolff_method: str | None = None, label_method: str | None = None,
                 tile: int | None = None, few_cluster_tile: int | None = None,
                 few_cluster_flip: float | None = None,
                 couplings: str | arguments.Numbers = "ferromagnet", field: arguments.Reals = 0.0,
                 on: str = "all", negative: float = 0.5, shortcut_strength: float = 1.0,
                 coupling_seed: int = 0, field_random: str = "none", field_width: float = 1.0,
                 staggered: bool | None = None):
        simulated, settings = _settings(**locals())
        self._take(_core.Simulation.create(simulated._graph, settings), simulated,
                   settings["temperature"] != [] and np.ndim(temperature) == 0,
                   settings.get("q", 2))
        self._extents = graph.extents

    def _take(self, core, graph, scalar, q):
        self._core, self._graph, self._scalar, self.q = core, graph, scalar, q
        self._extents = tuple(core.extents)

    @classmethod
    def restore(cls, path: arguments.Path, *, device: str = "auto",
                threads: int = 0) -> "Simulation":
        """Continues from a file that save() or `rewise run --out` wrote, or from a task of a study
        (Task.path). The trajectory is the same on any device, bit for bit. If the checkpoint was
        written within a cycle, that cycle is completed first.

        If the file is damaged or missing and its previous version (.prev) is intact, continues from
        that one with a RuntimeWarning. Otherwise raises FileError if there is no file, and
        DataError if it is damaged or has no saved state."""
        settings = {"device": arguments.text("device", device),
                    "threads": arguments.integer("threads", threads, 0, 4096)}
        with unpacked(path) as task_file:
            core, notes = _core.Simulation.restore(task_file, settings)
        warn(notes)
        simulation = cls.__new__(cls)
        simulation._take(core, None, len(core.temperature) == 1, core.q)
        return simulation

    @property
    def graph(self) -> Graph:
        """The graph of the simulation. UsageError if a restored simulation has more than 2^32 - 1
        sites: the bitlattice engine simulates such a regular lattice without a Graph."""
        if self._graph is None:
            self._graph = Graph._of(self._core.graph())
        return self._graph

    def run(self, cycles: int = 1, progress: bool | None = False) -> None:
        """Advances by `cycles` cycles of the schedule."""
        if progress is False:
            self._core.advance(arguments.integer("cycles", cycles), None)
            return
        with arguments.Progress(cycles, "run", progress) as callback:
            self._core.advance(arguments.integer("cycles", cycles), callback)

    def record(self, measure: int, every: int = 1, progress: bool | None = False) -> None:
        """Makes `measure` measurements, each after `every` cycles, and keeps them for `results`."""
        total, every = arguments.integer("measure", measure), arguments.integer("every", every, 1)
        with arguments.Progress(total * every, "record", progress) as callback:
            self._core.record(total, every, callback)

    def iterate(self, measure: int, every: int = 1,
                progress: bool | None = False) -> Iterator[Step]:
        """As record(), but yields a Step after each measurement, for your own observables:

            for step in sim.iterate(1000, every=10):
                mine.append(my_observable(step.spins))
        """
        total, every = arguments.integer("measure", measure), arguments.integer("every", every, 1)
        with arguments.Progress(total, "iterate", progress) as callback:
            for index in range(total):
                bond_sum, magnetisation_sum, cycles = self._core.record_one(every)
                if callback:
                    callback(1)
                yield Step(self, index, self._shaped(bond_sum), self._shaped(magnetisation_sum),
                           cycles)

    def measure(self) -> dict[str, Any]:
        """Measures the current spins without keeping the result. Returns a dict of "energy" and
        "magnetisation" per site, and of the integers of results.series, such as "bond_sum" and,
        with cluster updates, "cluster_size" (summed over the "cluster_updates" since the last
        measurement). Arrays are [replica], or [temperature, replica] with several temperatures."""
        seen = self._core.measure()
        found = {name: self._shaped(value) if isinstance(value, np.ndarray) else value
                 for name, value in seen.items()}
        sites = self._core.sites
        found["energy"] = -self._core.energy_unit * found["bond_sum"] / sites
        found["magnetisation"] = found["magnetisation_sum"] / (sites * (self.q - 1))
        return StrictDict("measure()", found)

    def forget(self) -> None:
        """Discards the measurements of record() and iterate(). The spins do not change."""
        self._core.forget()

    @property
    def results(self) -> Results:
        """Results of the measurements of record() and iterate()."""
        data = self._core.data()
        if data.times == 0:
            raise UsageError("results: there are no measurements yet (see record() and iterate())")
        return Results(data)

    @property
    def spins(self) -> np.ndarray:
        """A copy of the spins, uint8 [replica, *extents reversed], x last: Ising 0 (down) or 1
        (up), Potts 0..q - 1. With several temperatures: [temperature, replica, ..]. Without a
        lattice: [.., sites]. Convert before arithmetic, because 2 * spins - 1 of uint8 is 255 for
        a spin down:

            s = 2 * sim.spins.astype(np.int8) - 1  # -1 and 1
        """
        shape = self.replicas, *self._places
        found = [self._core.spins(t, 0, self.replicas).reshape(shape)
                 for t in range(len(self.temperature))]
        return found[0] if self._scalar else np.stack(found)

    def spins_of(self, replica: int, temperature: int = 0) -> np.ndarray:
        """Spins of the replica and temperature with these indices: uint8 [*extents reversed]."""
        one = self._core.spins(
            arguments.index("temperature", temperature, len(self.temperature)),
            arguments.index("replica", replica, self.replicas), 1)
        return one.reshape(self._places)

    def snapshot(self, path: arguments.Path | None = None, replica: int = 0) -> np.ndarray:
        """The spins of one replica: int8 [*extents reversed], such as [y, x] ([sites] without a
        lattice), Ising -1 or 1 (Potts: uint8, 0..q - 1). If several temperatures were given, or a
        list of one, [temperature, *extents reversed].

        With `path`, also writes the spins to that file and replaces an existing one: .npy is always
        an array [temperature, *extents reversed], .png a picture with a panel per temperature (two
        dimensions only)."""
        spins = [self.spins_of(replica, t) for t in range(len(self.temperature))]
        shown = np.stack(spins)
        if not self._core.is_potts:
            shown = 2 * shown.astype(np.int8) - 1
        if path is not None:
            from .snapshot import write

            write(arguments.path("path", path), shown, self.temperature)
        return shown[0] if self._scalar else shown

    @property
    def spins_device(self) -> DeviceSpins:
        """The spins in GPU memory, without a copy, as DeviceSpins: an array for CuPy, PyTorch, JAX
        and Numba. DeviceError if the simulation runs on the CPU (use `spins`) or several GPUs."""
        return DeviceSpins(self)

    def measure_device(self) -> DeviceSums:
        """As measure(), but the sums stay in GPU memory, as DeviceSums: an array for CuPy, PyTorch
        and others. Does not reset the cluster sums. DeviceError as for `spins_device`."""
        self._core.measure_on_device()
        return DeviceSums(self)

    def save(self, path: arguments.Path) -> None:
        """Writes a task file (.h5) with state and series, from which restore() continues. Replaces
        an existing file atomically. Unlike the file of results.save(), it has no group /results."""
        self._core.save(arguments.path("path", path))

    @property
    def cycles(self) -> int:
        """Number of cycles so far."""
        return self._core.cycles

    @property
    def temperature(self) -> np.ndarray:
        """[temperature], J = k_B = 1."""
        return self._core.temperature

    @property
    def replicas(self) -> int:
        """Replicas per temperature. With start="mixed", those of even number start ordered."""
        return self._core.replicas

    @property
    def engine(self) -> str:
        """"multispin", "bytespin" or "bitlattice"."""
        return self._core.engine

    @property
    def device(self) -> str:
        """"cpu", "cuda:0"."""
        return self._core.device

    @property
    def threads(self) -> int:
        """Number of CPU threads."""
        return self._core.threads

    @property
    def hash(self) -> str:
        """Hash of the current spins of all replicas, 16 hex digits, as in `rewise run`."""
        return f"{self._core.trajectory_hash():016x}"

    def _shaped(self, values):
        return values[0] if self._scalar else values

    @property
    def _places(self):  # the shape of the spins of a replica
        return tuple(self._extents[::-1]) or (self._core.sites,)

    def __repr__(self):
        temperatures = ", ".join(f"{t:g}" for t in self.temperature)
        size = "x".join(map(str, self._core.extents))
        title = f"{size}, p = 0" if self._core.sites > MOST_SITES else self.graph.title
        return (f"<rewise.Simulation: {title}; T = {temperatures}; {self.replicas} "
                f"replicas, {self.engine} engine on {self.device}, {self.cycles} cycles>")
