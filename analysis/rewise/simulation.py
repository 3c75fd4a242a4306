"""Runs of one graph: simulate() measures and gives results, Simulation is advanced by its caller.

A cycle is M sweeps of the local update and then W updates of the cluster update (schedule "M:W") in
every replica. Half of the replicas start ordered, half random: equilibrium is when they agree. With
equal arguments and seed the trajectory is that of `rewise run`, bit for bit, on any device and
number of threads.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import arguments
from . import _core
from .device_spins import DeviceSpins, DeviceSums
from .errors import Error, UsageError, warn
from .files import Named, unpacked
from .graph import Graph
from .results import Results

MOST_AUTO = 1 << 17  # cycles after which equilibrate="auto" gives up
MOST_SITES = 2**32 - 1  # of a Graph


def _settings(temperature, **given):
    settings = {"temperature": arguments.reals("temperature", temperature)}
    for name, value in given.items():
        if name in ("q", "replicas", "seed", "threads", "equilibrate", "measure", "every"):
            settings[name] = arguments.whole(name, value)
        elif name == "out":
            settings[name] = "" if value is None else arguments.path(name, value)
        else:
            settings[name] = "" if value is None else arguments.text(name, value)
    return settings


def _core_graph(graph):
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: {type(graph).__name__} is no rewise.Graph (rewire(), "
                        "Graph(edges), Graph.from_networkx(), ..)")
    return graph._graph


def simulate(graph: Graph, temperature: arguments.Reals, *, schedule: str = "1:1",
             replicas: int = 32, measure: int = 1000, every: int = 1,
             equilibrate: int | str = 1000, model: str = "ising", q: int = 2, local: str = "auto",
             cluster: str | None = None, start: str = "mixed", seed: int = 1, engine: str = "auto",
             device: str = "auto", threads: int = 0, wolff_method: str | None = None,
             label_method: str | None = None, out: arguments.Path | None = None,
             progress: bool | None = None) -> Results:
    """Simulates one graph at one or more temperatures; Results.

    temperature: J = k_B = 1; a number or a list.
    schedule: "M:W", a cycle of M local sweeps and W cluster updates.
    replicas: independent systems per temperature; multiples of 32 for the multispin engine.
    measure, every: number of measurements, cycles between them.
    equilibrate: cycles before the first measurement, or "auto": windows [c, 2c), [2c, 4c), .. from
        c = 25 on, until replicas that started hot and cold agree in two in a row.
    model, q: "ising", or "potts" with q = 2..255 states.
    local: "metropolis", "glauber", or "auto" (glauber on chains).
    cluster: "wolff", "swendsen-wang", "few-cluster" (Weigel 2011).
    engine: "multispin" (32 Ising replicas per word), "bytespin" (a byte per site), "bitlattice"
        (a bit per site, schedule "M:0"), or "auto".
    device: "auto", "cpu", "cuda", "cuda:1"; DeviceError where it cannot be had.
    threads: 0: as many as help. The numbers do not depend on it, nor on the device.
    out: a task file (.h5) to keep the run in: Ctrl-C leaves a checkpoint, and the same call goes
        on; with a larger `measure` it adds to it.
    progress: a bar where tqdm is installed; None: in terminals and notebooks.

    What looks wrong with the result (starts that still differ, errors that are too small) is a
    RuntimeWarning, and in Results.warnings; such numbers are NaN (Results.status). Errors:
    UsageError; HeldError where `out` has another run; DataError where it is damaged; Error where
    "auto" finds no equilibrium in 131072 cycles.

    Updates: Metropolis, Glauber; U. Wolff, Phys. Rev. Lett. 62, 361 (1989); Swendsen & Wang, Phys.
    Rev. Lett. 58, 86 (1987). Random numbers: Philox (Salmon et al., 2011).
    """
    core = _core_graph(graph)
    settings = _settings(temperature, schedule=schedule, replicas=replicas, measure=measure,
                         every=every, model=model, q=q, local=local, cluster=cluster, start=start,
                         seed=seed, engine=engine, device=device, threads=threads,
                         wolff_method=wolff_method, label_method=label_method, out=out)
    if isinstance(equilibrate, str):
        if equilibrate != "auto":
            raise UsageError(f"equilibrate: '{equilibrate}' (a number of cycles, or 'auto')")
        data = _simulate_auto(core, settings, progress)
        notes = data.warnings()
    else:
        settings["equilibrate"] = arguments.whole("equilibrate", equilibrate)
        total = settings["equilibrate"] + settings["measure"] * settings["every"]
        with arguments.Progress(total, "simulate", progress) as callback:
            data, notes = _core.run(core, settings, callback)
    warn(notes)
    return Results(data, notes)


def _simulate_auto(core, settings, progress):
    if settings["out"]:
        raise UsageError("out: is for a fixed number of cycles to equilibrate, not 'auto'")
    if settings["start"] != "mixed" or settings["replicas"] < 4:
        raise UsageError("equilibrate: 'auto' compares two or more replicas of each start "
                         "(start='mixed', 4 replicas)")
    if settings["measure"] == 0:
        raise UsageError("measure: 0 is out of range (1..)")
    simulation = _core.Simulation.create(core, settings)
    window, agreed = 25, 0
    with arguments.Progress(None, "equilibrate", progress) as callback:
        while agreed < 2:
            if 2 * window > MOST_AUTO:
                raise Error(f"no equilibrium after {simulation.cycles} cycles: replicas that "
                            "started hot and cold still differ (another schedule, or "
                            "equilibrate=cycles)")
            simulation.record(2 * window - simulation.cycles, 1, callback)
            agree, _ = simulation.halves_agree(window)
            agreed = agreed + 1 if agree else 0
            window *= 2
    simulation.forget()
    total = settings["measure"] * settings["every"]
    with arguments.Progress(total, "simulate", progress) as callback:
        simulation.record(settings["measure"], settings["every"], callback)
    return simulation.data()


class Step:
    """What Simulation.iterate() yields: the measurement number `index`, after `cycles` cycles.
    Arrays are [replica], or [temperature, replica] where the simulation has several."""

    def __init__(self, simulation, index, bond_sum, magnetisation_sum, cycles):
        self.simulation, self.index, self.cycles = simulation, index, cycles
        self._bond_sum, self._magnetisation_sum = bond_sum, magnetisation_sum

    @property
    def energy(self) -> np.ndarray:
        """Per site."""
        return -self._bond_sum / self.simulation._core.sites

    @property
    def magnetisation(self) -> np.ndarray:
        """Per site, signed; Potts (q N_max/N - 1)/(q - 1)."""
        simulation = self.simulation
        return self._magnetisation_sum / (simulation._core.sites * (simulation.q - 1))

    @property
    def spins(self) -> np.ndarray:
        """As Simulation.spins, of now."""
        return self.simulation.spins


class Simulation:
    """A run that its caller advances: run(), measure(), record(), iterate(); arguments as those of
    simulate(). Threads may share it: a call waits for the one before (`cycles` tells at once).
    Ctrl-C stops within a cycle and leaves it usable: the next call brings that cycle to its end
    first. Handlers of other signals may save() and read it while it runs (UsageError for what
    changes it): so a job that is told to end keeps a checkpoint.
    """

    def __init__(self, graph: Graph, temperature: arguments.Reals, *, schedule: str = "1:1",
                 replicas: int = 32, model: str = "ising", q: int = 2, local: str = "auto",
                 cluster: str | None = None, start: str = "mixed", seed: int = 1,
                 engine: str = "auto", device: str = "auto", threads: int = 0,
                 wolff_method: str | None = None, label_method: str | None = None):
        settings = _settings(temperature, schedule=schedule, replicas=replicas, model=model, q=q,
                             local=local, cluster=cluster, start=start, seed=seed, engine=engine,
                             device=device, threads=threads, wolff_method=wolff_method,
                             label_method=label_method)
        self._take(_core.Simulation.create(_core_graph(graph), settings), graph,
                   np.ndim(temperature) == 0, settings["q"])

    def _take(self, core, graph, scalar, q):
        self._core, self._graph, self._scalar, self.q = core, graph, scalar, q

    @classmethod
    def restore(cls, path: arguments.Path, *, device: str = "auto",
                threads: int = 0) -> "Simulation":
        """Goes on from a file that save() or `rewise run --out` wrote, or from a study's task
        (Task.path), on any device, bit for bit; of a checkpoint that stands within a cycle that
        one is brought to its end first. Where the file is damaged or missing and the one before it
        (.prev) is whole, that one, with a RuntimeWarning. FileError where there is none, DataError
        where it is damaged or has no state."""
        settings = {"device": arguments.text("device", device),
                    "threads": arguments.whole("threads", threads)}
        with unpacked(path) as own:
            core, notes = _core.Simulation.restore(own, settings)
        warn(notes)
        simulation = cls.__new__(cls)
        simulation._take(core, None, len(core.temperature) == 1, core.q)
        return simulation

    @property
    def graph(self) -> Graph:
        """What it runs on. UsageError where a file that was restored has more than 2^32 - 1 sites:
        the bitlattice engine takes a regular lattice of them without a Graph."""
        if self._graph is None:
            self._graph = Graph._of(self._core.graph())
        return self._graph

    def run(self, cycles: int = 1, progress: bool | None = False) -> None:
        """Advances by cycles of the schedule."""
        if progress is False:
            self._core.advance(arguments.whole("cycles", cycles), None)
            return
        with arguments.Progress(cycles, "run", progress) as callback:
            self._core.advance(arguments.whole("cycles", cycles), callback)

    def record(self, measure: int, every: int = 1, progress: bool | None = False) -> None:
        """`measure` times `every` cycles and a measurement, which is kept for `results`."""
        total, every = arguments.whole("measure", measure), arguments.whole("every", every, 1)
        with arguments.Progress(total * every, "record", progress) as callback:
            self._core.record(total, every, callback)

    def iterate(self, measure: int, every: int = 1,
                progress: bool | None = False) -> Iterator[Step]:
        """`measure` times: `every` cycles, a measurement that is kept, and a Step, for observables
        of one's own:

            for step in sim.iterate(1000, every=10):
                mine.append(my_observable(step.spins))
        """
        total, every = arguments.whole("measure", measure), arguments.whole("every", every, 1)
        with arguments.Progress(total, "iterate", progress) as callback:
            for index in range(total):
                bond_sum, magnetisation_sum, cycles = self._core.record_one(every)
                if callback:
                    callback(1)
                yield Step(self, index, self._shaped(bond_sum), self._shaped(magnetisation_sum),
                           cycles)

    def measure(self) -> dict[str, Any]:
        """All replicas as they are now, kept nowhere: a dict of "energy" and "magnetisation" per
        site, and the integers of results.series, such as "bond_sum" and, with cluster updates,
        "cluster_size" (summed over the "cluster_updates" since the last measurement), each
        [replica], or [temperature, replica] where there are several temperatures."""
        seen = self._core.measure()
        found = {name: self._shaped(value) if isinstance(value, np.ndarray) else value
                 for name, value in seen.items()}
        sites = self._core.sites
        found["energy"] = -found["bond_sum"] / sites
        found["magnetisation"] = found["magnetisation_sum"] / (sites * (self.q - 1))
        return Named("measure()", found)

    def forget(self) -> None:
        """Drops what record() and iterate() kept; the run goes on from where it is."""
        self._core.forget()

    @property
    def results(self) -> Results:
        """Results of what record() and iterate() kept."""
        data = self._core.data()
        if data.times == 0:
            raise UsageError("results: nothing was kept yet (record(), iterate())")
        return Results(data)

    @property
    def spins(self) -> np.ndarray:
        """uint8 [replica, *extents reversed], x last: Ising 0 (down) or 1 (up), Potts 0..q - 1;
        with several temperatures [temperature, replica, ..]; [.., sites] without a lattice. A
        copy."""
        shape = self.replicas, *self._places
        found = [self._core.spins(t, 0, self.replicas).reshape(shape)
                 for t in range(len(self.temperature))]
        return found[0] if self._scalar else np.stack(found)

    def spins_of(self, replica: int, temperature: int = 0) -> np.ndarray:
        """uint8 [*extents reversed]: those of one replica (and temperature), by their indices."""
        one = self._core.spins(
            arguments.index("temperature", temperature, len(self.temperature)),
            arguments.index("replica", replica, self.replicas), 1)
        return one.reshape(self._places)

    @property
    def spins_device(self) -> DeviceSpins:
        """The spins where they lie on the GPU, without a copy: DeviceSpins, which CuPy, PyTorch,
        JAX and Numba take as an array. DeviceError for a simulation on the CPU (`spins`), and on
        several GPUs."""
        return DeviceSpins(self)

    def measure_device(self) -> DeviceSums:
        """As measure(), but on the GPU that has the spins, where the sums stay: DeviceSums, for
        CuPy, PyTorch and others. Cluster sums go on. DeviceError as for `spins_device`."""
        self._core.measure_on_device()
        return DeviceSums(self)

    def save(self, path: arguments.Path) -> None:
        """A task file (.h5) with state and series, replacing what is there whole or not at all."""
        self._core.save(arguments.path("path", path))

    @property
    def cycles(self) -> int:
        """Done so far."""
        return self._core.cycles

    @property
    def temperature(self) -> np.ndarray:
        """[temperature], J = k_B = 1."""
        return self._core.temperature

    @property
    def replicas(self) -> int:
        """Independent systems per temperature; of start="mixed" the even ones started ordered."""
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
        """Of the CPU."""
        return self._core.threads

    @property
    def hash(self) -> str:
        """16 hex digits of all spins as they are, equal to that of `rewise run`."""
        return f"{self._core.trajectory_hash():016x}"

    def _shaped(self, values):
        return values[0] if self._scalar else values

    @property
    def _places(self):  # the shape of the spins of a replica
        return tuple(self._core.extents[::-1]) or (self._core.sites,)

    def __repr__(self):
        temperatures = ", ".join(f"{t:g}" for t in self.temperature)
        size = "x".join(map(str, self._core.extents))
        title = f"{size}, p = 0" if self._core.sites > MOST_SITES else self.graph.title
        return (f"<rewise.Simulation: {title}; T = {temperatures}; {self.replicas} "
                f"replicas, {self.engine} engine on {self.device}, {self.cycles} cycles>")
