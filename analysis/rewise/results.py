"""What a run measured: values with errors, and the integers behind them.

Per site, J = k_B = 1. e = -(bond sum)/N, m = M/N, C = N (<e^2> - <e>^2)/T^2,
chi = N (<m^2> - <|m|>^2)/T, U = 1 - <m^4>/(3 <m^2>^2). Errors are one standard error, jackknife
over replicas (over stretches of time where these are few); tau is the integrated
autocorrelation time in cycles by the Gamma method (U. Wolff, Comput. Phys. Commun. 156, 143
(2004)), every/2 for uncorrelated measurements.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core, arguments
from .errors import AbsentError, UsageError, module, warn
from .files import Named, unpacked, with_error

# (name, symbol, label, whether it says something beside other sizes alone) of each.
_KNOWN = _core.observables()
SAMPLED = tuple(one[0] for one in _KNOWN)  # functions of moments: they have jackknife samples
OBSERVABLES = tuple(one[0] for one in _KNOWN if not one[3]) + ("cluster_fraction",)
IMPROVED = ("improved_m2", "improved_m4", "improved_binder")
KNOWN = tuple(dict.fromkeys((*OBSERVABLES, *SAMPLED, *IMPROVED)))  # attributes of Results
SYMBOLS = {one[0]: one[1] or one[0] for one in _KNOWN} | {"cluster_fraction": "<C>/N"}
LABELS = {one[0]: one[2] for one in _KNOWN} | {"cluster_fraction": r"$\langle C\rangle/N$"}


class Observable:
    """An observable at every temperature: `value`, `error` (one standard error), `tau`, `tau_error`
    (cycles; NaN where it has none), each [temperature]; str() gives 2.3772(4). An item is the
    observable at one temperature, all floats. As an array it is its values, without errors."""

    value: np.ndarray
    error: np.ndarray
    tau: np.ndarray
    tau_error: np.ndarray

    def __init__(self, name: str, temperature: np.ndarray, numbers: Sequence[np.ndarray]):
        self.name = name
        self.temperature = temperature
        self.value, self.error, self.tau, self.tau_error = numbers

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> "Iterator[Observable]":
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: int) -> "Observable":
        try:
            return Observable(self.name, self.temperature[index],
                              (self.value[index], self.error[index], self.tau[index],
                               self.tau_error[index]))
        except (IndexError, TypeError):
            raise AbsentError(f"{self.name}: no [{index!r}]; an index of temperatures is expected, "
                              f"of which there are {np.size(self.value)}") from None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)

    def __str__(self):
        if np.ndim(self.value) == 0:
            return with_error(self.value, self.error)
        return ", ".join(with_error(v, e) for v, e in zip(self.value, self.error))

    def __repr__(self):
        return f"<{self.name}: {self}>"

    def __float__(self) -> float:
        if np.size(self.value) != 1:
            raise TypeError(f"{self.name} has values at {np.size(self.value)} temperatures")
        return float(np.reshape(self.value, ()))


class SeriesMap:
    """The measured series, each [temperature, time, replica]. Per site, floats: "energy",
    "magnetisation". Integers as they were measured: "bond_sum", "magnetisation_sum" and, with
    cluster updates, sums over the updates between two measurements, such as "cluster_size".
    `columns` says what each integer is."""

    def __init__(self, data, q):
        self._data, self._q = data, q

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise AbsentError(f"series: no {name!r}; there are {', '.join(self)}")
        if name == "energy":
            return -self._data.series("bond_sum") / self._data.sites
        if name == "magnetisation":
            return self._data.series("magnetisation_sum") / (self._data.sites * (self._q - 1))
        return self._data.series(name)

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """The names that this run has."""
        return ["energy", "magnetisation", *self.columns]

    @property
    def columns(self) -> dict[str, str]:
        """The integer series that this run has: name -> what it is."""
        return self._data.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()


class Results:
    """A run's results: an Observable (value, error, tau: each [temperature]) for each of these
    attributes, `series`, and where they come from. All are per site, J = k_B = 1:

    energy <e>, abs_magnetisation <|m|>, m2 <m^2>, m4 <m^4>, binder 1 - <m^4>/(3 <m^2>^2),
    specific_heat, susceptibility (help(rewise.results) has the formulas), scaled_m2 N^(1/2) <m^2>;
    cluster_fraction <C>/N of Wolff clusters; improved_m2, improved_m4, improved_binder: from the
    sizes of all clusters of Swendsen-Wang updates (analysis/README.md). NaN where the run has none,
    and where a check refuses what it has: `status` and `reasons` say so, candidate() gives it.
    """

    energy: Observable
    abs_magnetisation: Observable
    m2: Observable
    m4: Observable
    binder: Observable
    specific_heat: Observable
    susceptibility: Observable
    scaled_m2: Observable
    cluster_fraction: Observable
    improved_m2: Observable
    improved_m4: Observable
    improved_binder: Observable

    def __init__(self, data: _core.Data, warnings: Sequence[str] = ()):
        self._data = data
        self.warnings = list(warnings)

    @classmethod
    def load(cls, path: arguments.Path) -> "Results":
        """Of a task file: what simulate(out=..), save() or `rewise run --out` wrote, a checkpoint
        too, or a study's task (Task.path), in a pack or not: all measurements that it holds, also
        those before equilibrium, which Study.tasks() leaves out as the summary does. Where it is
        damaged or missing and the one before it (.prev) is whole, that one, with a RuntimeWarning
        and in Results.warnings. FileError where there is none, DataError where it is damaged or
        something else."""
        with unpacked(path) as own:
            found = cls(*_core.Data.load(own))
        warn(found.warnings)
        return found

    @functools.cached_property
    def _estimates(self):
        return self._data.estimates()

    def __getattr__(self, name):
        if name in KNOWN:
            accepted = np.array([word == "ok" for word in self.status])
            found = Observable(name, self.temperature,
                               np.where(accepted, self._estimates[name], np.nan))
            self.__dict__[name] = found
            return found
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}' "
                             f"(observables: {', '.join(KNOWN)})")

    def __dir__(self):
        return sorted({*super().__dir__(), *KNOWN})

    @functools.cached_property
    def temperature(self) -> np.ndarray:
        """[temperature], J = k_B = 1."""
        return self._data.temperature

    @property
    def replicas(self) -> int:
        """Independent systems per temperature."""
        return self._data.replicas

    @property
    def measurements(self) -> int:
        """Per replica."""
        return self._data.times

    @property
    def sites(self) -> int:
        """Of the graph, N."""
        return self._data.sites

    @property
    def configuration(self) -> dict[str, str]:
        """All that determines the numbers, as texts: "sampling.schedule" -> "1:1"."""
        return self._data.configuration

    @property
    def provenance(self) -> dict[str, str]:
        """Where, when and with what they were computed."""
        return self._data.provenance

    @property
    def hash(self) -> str:
        """16 hex digits of the last configuration of all spins; equal to that of `rewise run`."""
        return self.provenance["trajectory_hash"]

    @property
    def device(self) -> str:
        """What computed them: "cpu", "cuda:0"."""
        return self.provenance["device"]

    @functools.cached_property
    def series(self) -> SeriesMap:
        """What was measured, by name: series["energy"] is [temperature, time, replica]."""
        return SeriesMap(self._data, int(self.configuration.get("sampling.q", 2)))

    # Whether the numbers hold

    @property
    def status(self) -> list[str]:
        """[temperature]: "ok", "not-equilibrated" or "too-short", as `rewise run --json` has it."""
        return list(self._estimates["status"])

    @property
    def reasons(self) -> list[list[str]]:
        """[temperature]: why the status is not "ok", and what to do; a list of lines."""
        return [list(lines) for lines in self._estimates["reasons"]]

    def candidate(self, name: str) -> Observable:
        """An observable as it was estimated, also where a check refuses it."""
        if name not in KNOWN:
            raise AbsentError(f"candidate: no {name!r}; there are {', '.join(KNOWN)}")
        return Observable(name, self.temperature, self._estimates[name])

    @property
    def hot_cold_z(self) -> np.ndarray:
        """[temperature]: the mean over replicas that started hot less that over cold ones, over its
        error, of that of e, |m| and m^2 where it is least likely; 0 where there are none to
        compare."""
        return self._estimates["hot_cold_z"]

    # Errors that propagate

    def left_out(self, temperature: int = 0) -> np.ndarray:
        """Jackknife samples at one temperature (its index): [members, SAMPLED], each with one
        replica (or stretch of time) left out, not corrected for bias. The covariance of any
        functions f, g of them is (n - 1)/n sum (f_i - f)(g_i - g)."""
        index = arguments.index("temperature", temperature, len(self.temperature))
        return self._data.left_out(index, int(self._estimates["stretch"][index]))

    def covariance(self, temperature: int = 0) -> np.ndarray:
        """[SAMPLED, SAMPLED] at one temperature (its index), of rewise.results.SAMPLED's names."""
        samples = self.left_out(temperature)
        centred = samples - samples.mean(axis=0)
        return (len(samples) - 1) / len(samples) * centred.T @ centred

    # To elsewhere

    def columns(self) -> dict[str, np.ndarray]:
        """A dict of arrays [temperature]: "temperature", "energy", "energy_error", .."""
        found = Named("columns", {"temperature": self.temperature})
        for name in OBSERVABLES:
            one = getattr(self, name)
            found[name], found[f"{name}_error"] = one.value, one.error
            if np.isfinite(one.tau).any():
                found[f"{name}_tau"] = one.tau
        return found

    def to_pandas(self) -> Any:
        """columns() as a pandas.DataFrame, temperature as its index."""
        pandas = module("pandas", "to_pandas() (columns() is without)")
        return pandas.DataFrame(self.columns()).set_index("temperature")

    def to_xarray(self) -> Any:
        """An xarray.Dataset: the series [temperature, time, replica], and values, errors and tau
        [temperature]."""
        xarray = module("xarray", "to_xarray()")
        variables = {f"{name}_series": (("temperature", "time", "replica"), self.series[name])
                     for name in ("energy", "magnetisation")}
        variables |= {name: ("temperature", values) for name, values in self.columns().items()
                      if name != "temperature"}
        every = int(self.configuration.get("sampling.every", 1))
        return xarray.Dataset(
            variables, attrs=dict(self.configuration),
            coords={"temperature": self.temperature, "replica": np.arange(self.replicas),
                    "time": every * np.arange(1, self.measurements + 1)})

    def to_pyerrors(self) -> dict[str, list[Any]]:
        """A dict: name -> list of pyerrors.Obs, one per temperature, their Gamma method done; each
        temperature is an ensemble, each replica a replicum of it. e, |m|, m2 and m4 are primary, U,
        C and chi follow from them. Correlations between temperatures of one graph, which share no
        random number, are those of the graph alone: none."""
        pyerrors = module("pyerrors", "to_pyerrors()")
        names = [f"{self.hash}-T{{:g}}|r{r:04d}" for r in range(self.replicas)]
        energy, m = self.series["energy"], np.abs(self.series["magnetisation"])
        found = {}
        for k, t in enumerate(self.temperature):
            def primary(series):
                return pyerrors.Obs([np.ascontiguousarray(series[:, r])
                                     for r in range(self.replicas)],
                                    [name.format(t) for name in names])

            e, e2 = primary(energy[k]), primary(energy[k] ** 2)
            absolute, m2, m4 = primary(m[k]), primary(m[k] ** 2), primary(m[k] ** 4)
            derived = {"energy": e, "abs_magnetisation": absolute, "m2": m2, "m4": m4,
                       "binder": 1 - m4 / (3 * m2**2),
                       "specific_heat": self.sites * (e2 - e**2) / t**2,
                       "susceptibility": self.sites * (m2 - absolute**2) / t}
            for name, one in derived.items():
                one.gamma_method()
                found.setdefault(name, []).append(one)
        return found

    def save(self, path: arguments.Path) -> None:
        """A task file (HDF5), as `rewise run --out` writes it; `rewise plot` draws it. HeldError
        where it exists."""
        self._data.save(arguments.path("path", path))

    def plot(self, *names: str, axes: Any = None) -> Any:
        """Observables against temperature; matplotlib axes [names]."""
        plt = module("matplotlib.pyplot", "plot()")
        names = names or ("energy", "m2", "binder")
        if unknown := [name for name in names if name not in KNOWN]:
            raise UsageError(f"plot: no observable {unknown[0]!r} (allowed: {', '.join(KNOWN)})")
        if axes is None:
            axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 2.6),
                                layout="constrained", squeeze=False)[1][0]
        for panel, name in zip(np.atleast_1d(axes), names):
            one = getattr(self, name)
            panel.errorbar(self.temperature, one.value, one.error, fmt="o", markersize=3.5,
                           capsize=1.5)
            panel.set_xlabel(r"temperature $T$ ($J/k_{\mathrm{B}}$)")
            panel.set_ylabel(LABELS.get(name, name))
        return axes

    def rows(self) -> list[list[str]]:
        """A heading and a row of texts per temperature."""
        names = [name for name in OBSERVABLES if np.isfinite(self._estimates[name][0]).any()]
        table = [["T"] + [SYMBOLS[name] for name in names] + ["tau(e)", "tau(m^2)"]]
        for k, t in enumerate(self.temperature):
            table.append([f"{t:g}"] + [str(getattr(self, name)[k]) for name in names] +
                         [with_error(one.tau[k], one.tau_error[k])
                          for one in (self.energy, self.m2)])
            if self.status[k] != "ok":
                table[-1][1:] = ["-"] * len(names) + [self.status[k], ""]
        return table

    def __str__(self):
        from .display import aligned

        return aligned(self.rows())

    def __repr__(self):
        temperatures = ", ".join(f"{t:g}" for t in self.temperature)
        return (f"<rewise.Results: T = {temperatures}; {self.replicas} replicas, "
                f"{self.measurements} measurements>")

    def _repr_html_(self):
        from .display import results_html

        return results_html(self)
