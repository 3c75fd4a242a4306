"""Results of a run: observables with errors, and the integer series that they were computed from.

Per site, J = k_B = 1. e = -(bond sum)/N, m = M/N, C = N (<e^2> - <e>^2)/T^2,
chi = N (<m^2> - <|m|>^2)/T, U = 1 - <m^4>/(3 <m^2>^2); in a field dm/dh = N (<m^2> - <m>^2)/T.
Errors are one standard error, jackknife over replicas (over blocks of time if there are few
replicas); tau is the integrated autocorrelation time in cycles by the Gamma method (U. Wolff,
Comput. Phys. Commun. 156, 143 (2004)), every/2 for uncorrelated measurements; if its error is NaN,
tau is a lower bound. With staggered magnetisations, m_s = (1/N) sum_i eps_i s_i (eps = 1 and -1 on
the two sublattices), chi_s and U_s are those of m_s. With couplings, q = (1/N) sum_i s_i s'_i of
replicas 2k and 2k + 1, U_q = (3 - <q^4>/<q^2>^2)/2, chi_SG = N <q^2>, and q_l is the overlap of
bonds.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, arguments
from .errors import AbsentError, TauWarning, UsageError, module, warn
from .files import StrictDict, unpacked, with_current_names, with_error

# Of each group of observables: the one whose tau tables show, or "", and the observables as (name,
# symbol, label of the axis, true if only a comparison of sizes uses it).
_GROUPS = _core.observable_groups()


def _names(group):
    return tuple(one[0] for one in _GROUPS[group][1])


SAMPLED = _names("")  # functions of moments: they have jackknife samples
OBSERVABLES = tuple(one[0] for one in _GROUPS[""][1] if not one[3]) + _names("cluster")
STAGGERED = _names("staggered")  # of runs that measure m_s
IN_FIELD = _names("field")  # of models in a field
OVERLAPS = _names("overlap")  # of models with couplings or fields
KNOWN = tuple(dict.fromkeys(  # attributes of Results
    (*OBSERVABLES, *SAMPLED, *STAGGERED, *IN_FIELD, *OVERLAPS, *_names("improved"))))
_SHOWN = [one for name, group in _GROUPS.items() if name != "improved" for one in group[1]]
# Columns of tables: those of the observables with a symbol, and tau of some of them.
SYMBOLS = {one[0]: one[1] for one in _SHOWN if one[1]}
TAUS = ("energy", "m2", *(_GROUPS[name][0] for name in ("staggered", "field", "overlap")))
LABELS = {one[0]: one[2] for one in _SHOWN}


def _tau_text(tau, error):
    """"5.3(2)"; "> 3.7" for a lower bound, as the program prints it; "-" without tau."""
    if not np.isfinite(tau):
        return "-"
    if np.isfinite(error):
        return with_error(tau, error)
    return f"> {tau:.2g}" if tau < 10 else f"> {tau:.0f}"


class Observable(np.lib.mixins.NDArrayOperatorsMixin):
    """An observable at every temperature: `value`, `error` (one standard error), `tau` and
    `tau_error` (in cycles), each [temperature].

    If tau_error is NaN but tau is not, the series is too short to determine tau, and `tau` is a
    lower bound: print(results) and repr() show "> 3.7". Both are NaN if the observable has no tau.

    str() gives 2.3772(4). observable[k] is the observable at one temperature; its attributes are
    floats, float() is its value, and format(observable[k], ".3f") formats its value. In arithmetic,
    comparisons and functions of NumPy an observable is the array of its values: `2 * observable`
    is an array without errors.
    """

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
        if np.ndim(self.value) == 0:
            raise TypeError(f"{self.name} at one temperature has no index")
        try:
            return Observable(self.name, self.temperature[index],
                              (self.value[index], self.error[index], self.tau[index],
                               self.tau_error[index]))
        except IndexError as error:
            if not isinstance(index, (int, np.integer)):
                raise TypeError(f"{self.name}: {error}") from None
            raise AbsentError(f"{self.name}: index {index} is out of range "
                              f"(there are {len(self)} temperatures)") from None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        if any(isinstance(one, Observable) for one in out):  # e += 1 makes an array of e + 1
            out = ()
        if out:
            options["out"] = out
        return getattr(ufunc, method)(
            *(one.value if isinstance(one, Observable) else one for one in inputs), **options)

    def __str__(self):
        return ", ".join(map(with_error, np.atleast_1d(self.value), np.atleast_1d(self.error)))

    def __repr__(self):
        taus = "" if not np.isfinite(self.tau).any() else "; tau " + ", ".join(
            map(_tau_text, np.atleast_1d(self.tau), np.atleast_1d(self.tau_error)))
        return f"<{self.name}: {self}{taus}>"

    def __format__(self, spec):
        return ", ".join(format(float(v), spec) for v in np.atleast_1d(self.value)) if spec \
            else str(self)

    def __float__(self) -> float:
        if np.size(self.value) != 1:
            raise TypeError(f"{self.name} has values at {np.size(self.value)} temperatures: choose "
                            f"one, such as {self.name}[0]")
        return float(np.reshape(self.value, ()))


class SeriesMap(Mapping):
    """The measured series by name, each [temperature, time, replica]. The last axis is the pair of
    replicas for overlaps, and has length 1 for counts of exchanges. Floats, per site: "energy" and
    "magnetisation". Integers, as they were measured: "bond_sum", "magnetisation_sum" and, with
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

    @property
    def columns(self) -> dict[str, str]:
        """The integer series of this run: name -> description."""
        return self._data.columns

    def __iter__(self) -> Iterator[str]:
        return iter(("energy", "magnetisation", *self.columns))

    def __len__(self) -> int:
        return 2 + len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    __eq__, __hash__ = object.__eq__, object.__hash__  # the values are arrays

    def __repr__(self):
        data = self._data
        return (f"<series {[len(data.temperature), data.times, data.replicas]} of temperature, "
                f"time, replica: {', '.join(self)}>")


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
    overlap_m2 <q^2>, overlap_m4, overlap_binder U_q, spin_glass_susceptibility N <q^2>,
    scaled_overlap N^(2/3) <q^2> and link_overlap <q_l>, if there are couplings or fields;
    cluster_fraction <C>/N of Wolff clusters; improved_m2, improved_m4, improved_binder: from the
    sizes of all clusters of Swendsen-Wang updates (analysis/README.md). A value is NaN if the run
    did not measure it, or if a check failed: see `status` and `reasons`. candidate() gives the
    value regardless of checks.

    If the measurements are too few to determine tau, the first use of an observable issues a
    TauWarning, once per object, which is kept in `warnings`.
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
    overlap_m2: Observable
    overlap_m4: Observable
    overlap_binder: Observable
    spin_glass_susceptibility: Observable
    scaled_overlap: Observable
    link_overlap: Observable
    cluster_fraction: Observable
    improved_m2: Observable
    improved_m4: Observable
    improved_binder: Observable

    def __init__(self, data: _core.Data, warnings: Sequence[str] = ()):
        self._data = data
        self.warnings = list(warnings)
        self._knows_tau = False  # _check_tau() was called

    @classmethod
    def load(cls, path: arguments.Path) -> "Results":
        """Reads a task file: a file written by simulate(out=..), save() or `rewise run --out`, a
        checkpoint, or a task of a study (Task.path), which may be in a results archive. The results
        include all measurements of the file, whereas Study.tasks() and the summary omit those
        before equilibrium.

        If the file is damaged or missing and its previous version (.prev) is intact, reads that one
        with a RuntimeWarning, which is kept in Results.warnings. Otherwise raises FileError if
        there is no file, and DataError if it is damaged or not a task file."""
        with unpacked(path) as task_file:
            data, notes = _core.Data.load(task_file)
        return cls(data, warn(notes))

    @functools.cached_property
    def _estimates(self):
        return self._data.estimates()

    def _check_tau(self):
        """Warns if tau of an accepted value is only a lower bound, at the first call."""
        if self._knows_tau:
            return
        self._knows_tau = True
        if text := self._estimates["undetermined_tau"]:
            accepted = np.array([word == "ok" for word in self.status])
            names = [name for name in KNOWN
                     if (accepted & np.isfinite(self._estimates[name][2])
                         & ~np.isfinite(self._estimates[name][3])).any()]
            self.warnings += warn([f"warning: {text}: tau of {', '.join(names)} is a lower bound "
                                   "there (make more measurements)"], TauWarning)

    def __getattr__(self, name):
        if name in KNOWN:
            self._check_tau()
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
        """All settings that determine the numbers, as strings: "sampling.schedule" -> "1:1". Files
        store old names of the engines (src/store/FORMATS.md); here they are replaced by the current
        names."""
        return with_current_names(self._data.configuration)

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
        """The measured series by name: series["energy"] is [temperature, time, replica]. "energy"
        and "magnetisation" are per site; "overlap", "link_overlap" and "staggered" are sums over
        sites (bonds). The datasets of a task file are all sums (src/store/FORMATS.md)."""
        return SeriesMap(self._data, int(self.configuration.get("sampling.q", 2)))

    @functools.cached_property
    def exchange(self) -> dict[str, Any] | None:
        """Replica exchange, as in `rewise run --json`: "accepted" [temperatures - 1], the fraction
        of accepted exchanges of each temperature with the next one; "round_trips" of all replicas
        between the first and the last temperature; and "trips_per_1000_cycles" of a replica. None
        for a run without exchange. In `series`, "walker" is the index of the temperature at which
        each configuration started."""
        found = self._data.exchange()
        return None if found is None else StrictDict("exchange", found)

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
        self._check_tau()
        return Observable(name, self.temperature, self._estimates[name])

    @property
    def hot_cold_z(self) -> np.ndarray:
        """[temperature]: the z score (mean hot - mean cold) / error, where hot replicas started
        random and cold ones ordered. Of the z scores of e, |m|, m^2 and, in a field, m, this is
        that of the least probable difference. 0 if all replicas have the same kind of start."""
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

    @property
    def _measured(self):
        """Names of the observables of this run."""
        return [name for name in (*OBSERVABLES, *STAGGERED, *IN_FIELD, *OVERLAPS)
                if name in OBSERVABLES or np.isfinite(self._estimates[name][0]).any()]

    def columns(self) -> dict[str, np.ndarray]:
        """A dict of arrays [temperature]: "temperature" and, for each observable, such as the
        energy, "energy", "energy_error" and, if it is an average of a series, "energy_tau" and
        "energy_tau_error". If the last one is NaN, tau is a lower bound."""
        found = StrictDict("columns", {"temperature": self.temperature})
        for name in self._measured:
            one = getattr(self, name)
            found[name], found[f"{name}_error"] = one.value, one.error
            if np.isfinite(one.tau).any():
                found[f"{name}_tau"], found[f"{name}_tau_error"] = one.tau, one.tau_error
        return found

    def to_pandas(self) -> Any:
        """columns() as a pandas.DataFrame, temperature as its index."""
        pandas = module("pandas", "to_pandas() (columns() needs none)")
        return pandas.DataFrame(self.columns()).set_index("temperature")

    def to_xarray(self) -> Any:
        """An xarray.Dataset: "energy_series" and "magnetisation_series" [temperature, time,
        replica], and columns() [temperature]. The coordinate "time" counts cycles."""
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
        temperature is an ensemble, and each replica is a replicum of it (the words of pyerrors). e,
        |m|, m2 and m4 are primary observables; U, C and chi are derived from them. Temperatures are
        uncorrelated: they share the graph, but no random numbers. With replica exchange they are
        correlated, and all of them are one ensemble."""
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
        """Writes a task file (HDF5) with the same groups as the file of `rewise run --out`.
        `rewise plot` draws it. HeldError if the file exists."""
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
        """A table of strings: one row of headings, then one row per temperature. Overlaps are
        shown for models with negative or random couplings or fields."""
        names = [name for name in self._measured
                 if name in SYMBOLS and np.isfinite(self._estimates[name][0]).any()
                 and (name not in OVERLAPS or self._data.shows_overlaps)]
        taus = [name for name in TAUS if name in names or name in ("energy", "m2")]
        table = [["T", *(SYMBOLS[name] for name in names),
                  *(f"tau({SYMBOLS[name]})" for name in taus)]]
        for k, t in enumerate(self.temperature):
            table.append([f"{t:g}"] + [str(getattr(self, name)[k]) for name in names] +
                         [_tau_text(getattr(self, name).tau[k], getattr(self, name).tau_error[k])
                          for name in taus])
            if self.status[k] != "ok":
                table[-1][1:] = ["-"] * len(names) + [self.status[k]] + [""] * (len(taus) - 1)
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
