"""Results of a run: observables with errors, and the integer series that they were computed from.

Per site, J = k_B = 1. e = -(bond sum)/N, m = M/N, C = N (<e^2> - <e>^2)/T^2,
chi = N (<m^2> - <|m|>^2)/T, U = 1 - <m^4>/(3 <m^2>^2); in a field dm/dh = N (<m^2> - <m>^2)/T.
Errors are one standard error, jackknife over replicas (over blocks of time if there are few
replicas); tau is the integrated autocorrelation time in cycles by the Gamma method (U. Wolff,
Comput. Phys. Commun. 156, 143 (2004)), every/2 for uncorrelated measurements. With staggered
magnetisations, m_s = (1/N) sum_i eps_i s_i (eps = 1 and -1 on the two sublattices), chi_s and U_s
are those of m_s.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core, arguments
from .errors import AbsentError, UsageError, module, warn
from .files import Named, unpacked, with_error

# (name, symbol, label of the axis, true if only a comparison of sizes uses it), per observable.
_KNOWN = _core.observables()
_STAGGERED = _core.staggered_observables()
_IN_FIELD = _core.field_observables()
SAMPLED = tuple(one[0] for one in _KNOWN)  # functions of moments: they have jackknife samples
OBSERVABLES = tuple(one[0] for one in _KNOWN if not one[3]) + ("cluster_fraction",)
STAGGERED = tuple(one[0] for one in _STAGGERED)  # of runs that measure m_s
IN_FIELD = tuple(one[0] for one in _IN_FIELD)  # of models in a field
IMPROVED = ("improved_m2", "improved_m4", "improved_binder")
KNOWN = tuple(dict.fromkeys(  # attributes of Results
    (*OBSERVABLES, *SAMPLED, *STAGGERED, *IN_FIELD, *IMPROVED)))
SYMBOLS = ({one[0]: one[1] or one[0] for one in (*_KNOWN, *_STAGGERED, *_IN_FIELD)}
           | {"cluster_fraction": "<C>/N"})
LABELS = ({one[0]: one[2] for one in (*_KNOWN, *_STAGGERED, *_IN_FIELD)}
          | {"cluster_fraction": r"$\langle C\rangle/N$"})


class Observable:
    """An observable at every temperature: `value`, `error` (one standard error), `tau` and
    `tau_error` (in cycles; NaN if it has no tau), each [temperature]. str() gives 2.3772(4).
    observable[k] is the observable at one temperature; its attributes are floats. np.asarray()
    gives the values without errors."""

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
            raise AbsentError(f"{self.name}: invalid index {index!r} "
                              f"(there are {np.size(self.value)} temperatures)") from None

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
    `columns` describes each integer series."""

    def __init__(self, data, q):
        self._data, self._q = data, q

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise AbsentError(f"series: unknown name {name!r} (available: {', '.join(self)})")
        if name == "energy":
            return -self._data.energy_unit * self._data.series("bond_sum") / self._data.sites
        if name == "magnetisation":
            return self._data.series("magnetisation_sum") / (self._data.sites * (self._q - 1))
        return self._data.series(name)

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """The names of the series of this run."""
        return ["energy", "magnetisation", *self.columns]

    @property
    def columns(self) -> dict[str, str]:
        """The integer series of this run: name -> description."""
        return self._data.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()


class Results:
    """The results of a run: the observables below, `series`, and `provenance`. Each observable is
    an attribute of type Observable (value, error, tau: each [temperature]), per site, with
    J = k_B = 1:

    energy <e>, abs_magnetisation <|m|>, m2 <m^2>, m4 <m^4>, binder 1 - <m^4>/(3 <m^2>^2),
    specific_heat, susceptibility (help(rewise.results) has the formulas), scaled_m2 N^(1/2) <m^2>;
    abs_staggered <|m_s|>, staggered_m2, staggered_m4, staggered_binder and
    staggered_susceptibility of the staggered magnetisation, if it was measured
    (simulate(staggered=True), antiferromagnets);
    magnetisation <m>, with its sign, and field_susceptibility dm/dh = N (<m^2> - <m>^2)/T, if
    there is a field (abs_magnetisation and susceptibility are those of |m| there, too);
    cluster_fraction <C>/N of Wolff clusters; improved_m2, improved_m4, improved_binder: from the
    sizes of all clusters of Swendsen-Wang updates (analysis/README.md). A value is NaN if the run
    did not measure it, or if a check failed: see `status` and `reasons`. candidate() gives the
    value regardless of checks.
    """

    energy: Observable
    abs_magnetisation: Observable
    m2: Observable
    m4: Observable
    binder: Observable
    specific_heat: Observable
    susceptibility: Observable
    scaled_m2: Observable
    abs_staggered: Observable
    staggered_m2: Observable
    staggered_m4: Observable
    staggered_binder: Observable
    staggered_susceptibility: Observable
    magnetisation: Observable
    field_susceptibility: Observable
    cluster_fraction: Observable
    improved_m2: Observable
    improved_m4: Observable
    improved_binder: Observable

    def __init__(self, data: _core.Data, warnings: Sequence[str] = ()):
        self._data = data
        self.warnings = list(warnings)

    @classmethod
    def load(cls, path: arguments.Path) -> "Results":
        """Reads a task file: a file written by simulate(out=..), save() or `rewise run --out`, a
        checkpoint, or a task of a study (Task.path), which may be in a results archive. The results
        include all measurements of the file, whereas Study.tasks() and the summary omit those
        before equilibrium.

        If the file is damaged or missing and its previous version (.prev) is intact, reads that one
        with a RuntimeWarning, which is kept in Results.warnings. Otherwise raises FileError if
        there is no file, and DataError if it is damaged or not a task file."""
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
        """Number of independent replicas per temperature."""
        return self._data.replicas

    @property
    def measurements(self) -> int:
        """Number of measurements per replica."""
        return self._data.times

    @property
    def sites(self) -> int:
        """Number of sites N of the graph."""
        return self._data.sites

    @property
    def configuration(self) -> dict[str, str]:
        """All settings that determine the numbers, as strings: "sampling.schedule" -> "1:1"."""
        return self._data.configuration

    @property
    def provenance(self) -> dict[str, str]:
        """Where, when and with which version the results were computed."""
        return self._data.provenance

    @property
    def hash(self) -> str:
        """Hash of the final spins of all replicas, 16 hex digits; `rewise run` prints the same."""
        return self.provenance["trajectory_hash"]

    @property
    def device(self) -> str:
        """The device that computed the results: "cpu", "cuda:0"."""
        return self.provenance["device"]

    @functools.cached_property
    def series(self) -> SeriesMap:
        """The measured series by name: series["energy"] is [temperature, time, replica]."""
        return SeriesMap(self._data, int(self.configuration.get("sampling.q", 2)))

    @functools.cached_property
    def exchange(self) -> dict[str, Any] | None:
        """Replica exchange, as in `rewise run --json`: "accepted" [temperatures - 1], the fraction
        of accepted exchanges of each temperature with the next one; "round_trips" of all replicas
        between the first and the last temperature; and "trips_per_1000_cycles" of a replica. None
        for a run without exchange. In `series`, "walker" is the index of the temperature at which
        each configuration started."""
        found = self._data.exchange()
        return None if found is None else Named("exchange", found)

    # Checks

    @property
    def status(self) -> list[str]:
        """[temperature]: "ok", "not-equilibrated" or "too-short", as in `rewise run --json`."""
        return list(self._estimates["status"])

    @property
    def reasons(self) -> list[list[str]]:
        """[temperature]: why the status is not "ok", and what to do; a list of lines."""
        return [list(lines) for lines in self._estimates["reasons"]]

    def candidate(self, name: str) -> Observable:
        """The estimate of an observable, also at temperatures where a check failed."""
        if name not in KNOWN:
            raise AbsentError(f"candidate: unknown name {name!r} (available: {', '.join(KNOWN)})")
        return Observable(name, self.temperature, self._estimates[name])

    @property
    def hot_cold_z(self) -> np.ndarray:
        """[temperature]: the z score (mean hot - mean cold) / error, where hot replicas started
        random and cold ones ordered. Of the z scores of e, |m| and m^2, this is that of the least
        probable difference. 0 if all replicas have the same kind of start."""
        return self._estimates["hot_cold_z"]

    # Jackknife samples and covariances

    def left_out(self, temperature: int = 0) -> np.ndarray:
        """Jackknife samples at the temperature with this index, [samples, SAMPLED]. Each sample
        leaves out one replica (or one block of time). They are not corrected for bias. For n
        samples with the values f_i and g_i of two functions, whose means are f and g, the
        covariance is (n - 1)/n sum_i (f_i - f)(g_i - g)."""
        index = arguments.index("temperature", temperature, len(self.temperature))
        return self._data.left_out(index, int(self._estimates["block_length"][index]))

    def covariance(self, temperature: int = 0) -> np.ndarray:
        """Covariance at the temperature with this index, [SAMPLED, SAMPLED], in the order of
        rewise.results.SAMPLED."""
        samples = self.left_out(temperature)
        centred = samples - samples.mean(axis=0)
        return (len(samples) - 1) / len(samples) * centred.T @ centred

    # Conversions and output

    def columns(self) -> dict[str, np.ndarray]:
        """A dict of arrays [temperature]: "temperature", "energy", "energy_error", .."""
        found = Named("columns", {"temperature": self.temperature})
        measured = STAGGERED if "staggered" in self._data.columns else ()
        in_field = IN_FIELD if np.isfinite(self._estimates["magnetisation"]).any() else ()
        for name in (*OBSERVABLES, *measured, *in_field):
            one = getattr(self, name)
            found[name], found[f"{name}_error"] = one.value, one.error
            if np.isfinite(one.tau).any():
                found[f"{name}_tau"] = one.tau
        return found

    def to_pandas(self) -> Any:
        """columns() as a pandas.DataFrame, temperature as its index."""
        pandas = module("pandas", "to_pandas() (columns() needs none)")
        return pandas.DataFrame(self.columns()).set_index("temperature")

    def to_xarray(self) -> Any:
        """An xarray.Dataset: series [temperature, time, replica]; values, errors and tau
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
        """A dict: name -> list of pyerrors.Obs, one per temperature, after gamma_method(). Each
        temperature is an ensemble, each replica a replicum of it. e, |m|, m2 and m4 are primary
        observables; U, C and chi are derived from them. Temperatures are uncorrelated: they share
        the graph, but no random numbers. With replica exchange, all of them are one ensemble."""
        pyerrors = module("pyerrors", "to_pyerrors()")
        ensemble = self.hash if self.exchange else f"{self.hash}-T{{:g}}"
        names = [f"{ensemble}|r{r:04d}" for r in range(self.replicas)]
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
        """Writes a task file (HDF5), as `rewise run --out` does; `rewise plot` draws it. HeldError
        if the file exists."""
        self._data.save(arguments.path("path", path))

    def plot(self, *names: str, axes: Any = None) -> Any:
        """Plots observables against temperature. Returns the matplotlib axes, one per name."""
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
        """A table of strings: one row of headings, then one row per temperature."""
        names = [name for name in (*OBSERVABLES, *STAGGERED)
                 if np.isfinite(self._estimates[name][0]).any()]
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
