"""A study as NumPy arrays, and as pandas frames where pandas is installed.

    import rewise_study
    study = rewise_study.load("studies/sweep")
    study.columns()["susceptibility"]       # NumPy, one entry per p, size and temperature
    study.curve(p=0.1, size=16).binder      # NumPy, one entry per temperature
    study.frame()                           # all of it as a pandas DataFrame
    study.critical_temperatures()           # of a `tc` study: arrays p, tc, tc_error, shift, ..
    for task in study.tasks(): ...          # every graph's own series (rewise_data.Task)

Needs numpy and h5py; pandas only for frame(), task_frame(). Files are only read.
"""

import dataclasses
import pathlib
import types

import numpy as np

import rewise_data
from rewise_data import DataError, array, value_and_error

QUANTITIES = ["energy", "abs_magnetisation", "m2", "m4", "binder", "scaled_m2", "specific_heat",
              "susceptibility", "cluster_fraction", "tau"]
QUANTITIES += [f"{name}_plain" for name in QUANTITIES[:8]]  # without control variates
TEXTS = ("rule", "schedule", "cluster", "extents", "label")  # columns of words, not numbers


def _whole_error(entry):
    """Statistical error and the spread of the extrapolations together."""
    return float(np.hypot(value_and_error(entry)[1], (entry or {}).get("systematic") or 0.0))


def _frame(columns):
    try:
        import pandas
    except ImportError:
        raise DataError("frames need pandas (Debian: python3-pandas); columns() and curve() give "
                        "the same numbers in NumPy arrays") from None
    return pandas.DataFrame(columns)


@dataclasses.dataclass
class Study:
    """What load() gives. `summary` is summary.json as it is (SUMMARY.md)."""
    folder: pathlib.Path
    summary: dict

    @property
    def kind(self):
        return self.summary["kind"]  # "tc" or "sweep"

    def __repr__(self):
        points = self.summary["points"]
        return (f"<{self.kind} study '{self.folder}': p = "
                f"{', '.join(f'{p:g}' for p in sorted({point['p'] for point in points}))}; "
                f"{sum(len(point['sizes']) for point in points)} curves>")

    def _sizes(self):
        """(what identifies a size at one p, its entry in the summary), in the summary's order."""
        lattice, sampling = self.summary.get("lattice", {}), self.summary.get("sampling", {})
        for point in self.summary["points"]:
            for size in point["sizes"]:
                yield {"p": point["p"], "dim": len(size["extents"]),
                       "extents": "x".join(map(str, size["extents"])), "sites": size["sites"],
                       "rule": point.get("rule", lattice.get("rule")),
                       "schedule": size.get("schedule", sampling.get("schedule")),
                       "cluster": size.get("cluster", ""),
                       "label": point.get("label", ""), "graphs": size["graphs"],
                       "replicas": size["replicas"]}, size

    def columns(self):
        """The measurement table as arrays of equal length, one entry per p, size and temperature,
        p slowest; errors under `<quantity>_error`, averages without control variates under
        `<quantity>_plain`. NaN where unknown."""
        parts = {}
        for names, size in self._sizes():
            count = len(size["temperatures"])
            rows = {key: np.repeat(value, count) for key, value in names.items()}
            rows["temperature"] = array(size["temperatures"])
            for quantity in QUANTITIES:
                curve = size.get(quantity) or {"value": [None] * count, "error": [None] * count}
                rows[quantity] = array(curve["value"])
                rows[f"{quantity}_error"] = array(curve["error"])
            for key, values in rows.items():
                parts.setdefault(key, []).append(values)
        return {key: np.concatenate(values) for key, values in parts.items()}

    def frame(self):
        """columns() as a pandas DataFrame."""
        return _frame(self.columns())

    def curve(self, p, size=None, **names):
        """One size at one p: `size` an edge or a list of extents (the largest if not given), and
        rule=, schedule=, dim= where there are several. Attributes as in columns()."""
        found = []
        for own, entry in self._sizes():
            same_size = size is None or entry["extents"] == list(np.atleast_1d(size)) or (
                np.ndim(size) == 0 and set(entry["extents"]) == {size})
            if own["p"] == p and same_size and all(own[key] == names[key] for key in names):
                found.append((own, entry))
        if not found:
            wanted = ", ".join(f"{key} = {value}" for key, value in
                               {"size": size, "p": p, **names}.items() if value is not None)
            there = sorted({(own["p"], own["extents"]) for own, _ in self._sizes()})
            raise DataError(f"'{self.folder}' has no curve of {wanted}; it has p, size: "
                            + "; ".join(f"{p:g}, {extents}" for p, extents in there))
        if size is None:
            found = [f for f in found if f[0]["sites"] == max(own["sites"] for own, _ in found)]
        if len(found) > 1:
            raise DataError(f"{len(found)} curves have p = {p} and size {size}: name rule=, "
                            "schedule= or dim=")
        own, entry = found[0]
        curve = types.SimpleNamespace(**own, temperature=array(entry["temperatures"]))
        for quantity in QUANTITIES:
            if entry.get(quantity):
                setattr(curve, quantity, array(entry[quantity]["value"]))
                setattr(curve, f"{quantity}_error", array(entry[quantity]["error"]))
        return curve

    def critical_temperatures(self):
        """Of a `tc` study, arrays over p: tc, shift (from Tc(0)) and binder_limit with their whole
        errors; NaN where unknown."""
        if self.kind != "tc":
            raise DataError(f"'{self.folder}' is a {self.kind} study: it has no Tc")
        points = self.summary["points"]
        result = {"p": array([point["p"] for point in points])}
        for key in ("tc", "shift", "binder_limit"):
            result[key] = array([value_and_error(point.get(key))[0] for point in points])
            result[f"{key}_error"] = array([_whole_error(point.get(key)) for point in points])
        return result

    def tasks(self):
        """Every finished task, one at a time, in the order of their file names."""
        for path in sorted((self.folder / "tasks").glob("*.h5")):
            if not path.name.endswith(".part.h5"):
                yield rewise_data.read_task(path)

    def task_frame(self):
        """A pandas DataFrame of thermal averages, a row per task and temperature. Pilot runs and
        scans are tasks, too: they differ in sampling.measure and in their temperatures."""
        rows = []
        for task in self.tasks():
            m2 = task.magnetisation**2
            for k, temperature in enumerate(task.temperature):
                rows.append({"task": task.name, "p": task.p, "rule": task.rule,
                             "extents": "x".join(map(str, task.extents)), "sites": task.sites,
                             "modified": task.modified, "temperature": temperature,
                             "schedule": task.configuration.get("sampling.schedule"),
                             "measurements": task.energy.shape[1],
                             "energy": task.energy[k].mean(),
                             "abs_magnetisation": np.abs(task.magnetisation[k]).mean(),
                             "m2": m2[k].mean(), "m4": (m2[k]**2).mean()})
        return _frame(rows)


def load(folder):
    """A study's folder. DataError where there is no summary.json, or it is none of a study."""
    folder = pathlib.Path(folder)
    return Study(folder, rewise_data.read_summary(folder))
