"""Reads what rewise writes: the summary of a study and the files of its tasks.

    import rewise_data
    study = rewise_data.read_summary("studies/quickstart")     # see SUMMARY.md
    task = rewise_data.read_task("t.h5")
    task.energy.mean(axis=(1, 2))                              # <e> at each temperature

Needs numpy and h5py. Files are only read. A task file is plain HDF5 behind a user block of 512
bytes, which h5py and h5dump skip by themselves.
"""

import dataclasses
import json
import pathlib

import h5py
import numpy as np


class DataError(Exception):
    """A file that is damaged or is none of ours: one line that names it."""


@dataclasses.dataclass
class Task:
    """One graph at all its temperatures. Arrays are [temperature, time, replica]."""
    path: pathlib.Path
    extents: list            # [dim]; empty for an imported graph
    p: float
    rule: str
    sites: int
    bonds: int
    modified: int
    temperature: np.ndarray  # [temperature]
    energy: np.ndarray       # per site, e = -(bond sum)/N
    magnetisation: np.ndarray  # per site, signed; Potts: (q N_max/N - 1)/(q - 1)
    cluster_size: np.ndarray | None  # sums over the cluster updates between two measurements
    configuration: dict      # "lattice.p" -> "0.01"
    provenance: dict

    @property
    def states(self):
        """q of a Potts model, 2 for Ising."""
        return int(self.configuration.get("sampling.q", 2))

    @property
    def name(self):
        return self.path.name.removesuffix(".h5").removesuffix(".part")


def extents_label(extents):
    """'L = 32' for equal extents, '32 x 16' otherwise, for axis labels and legends."""
    if not extents:
        return "imported graph"
    if all(extent == extents[0] for extent in extents):
        return f"$L = {extents[0]}$"
    return r"$" + r" \times ".join(str(extent) for extent in extents) + "$"


def schedule_label(size, otherwise=""):
    """"1:4", or "1:4 SW" where Swendsen-Wang stands in place of Wolff; of a summary's size."""
    schedule = size.get("schedule") or otherwise
    short = {"swendsen-wang": " SW", "few-cluster": " few"}.get(size.get("cluster"), "")
    return schedule + (short if schedule and not schedule.endswith(":0") else "")


def read_summary(folder):
    """The summary of a study as a dict, checked for being one."""
    path = pathlib.Path(folder) / "summary.json"
    return read_json(path, "rewise summary", "summary of a rewise study",
                     f"is '{folder}' a finished study?")


def read_tuning(path):
    """What `rewise tune --out` kept, or a study's schedules/*.json, as a dict."""
    return read_json(pathlib.Path(path), "rewise tune", "result of 'rewise tune'",
                     "did 'rewise tune --out' write it?")


def read_json(path, form, what, where_from):
    """A file of the given "format" as a dict; `what` it should be and where it comes from are said
    where it is not."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"'{path}' does not exist: {where_from}") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from None
    if not isinstance(value, dict) or value.get("format") != form:
        raise DataError(f"'{path}' is no {what}")
    version = value.get("format_version")
    if version != 1:
        raise DataError(f"'{path}' has format version {version}; this program reads 1")
    return value


def _text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _texts(group):
    """A group of texts: attributes, or scalar datasets where they are too long for one."""
    texts = {key: _text(value) for key, value in group.attrs.items()}
    texts.update({key: _text(dataset[()]) for key, dataset in group.items()})
    return texts


def read_task(path):
    """A finished task, or a checkpoint (*.part.h5) with what it holds so far."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise DataError(f"'{path}' is a folder, no task file (a study: read_summary())")
    try:
        with h5py.File(path, "r") as file:
            return _read_open_task(path, file)
    except FileNotFoundError:
        raise DataError(f"'{path}' does not exist") from None
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"'{path}' is damaged or no task file of rewise: {error}") from None


def _read_open_task(path, file):
    if _text(file.attrs.get("format", "")) != "rewise task":
        raise ValueError("its root has no format = 'rewise task'")
    graph, series = file["graph"], file["series"]
    sites = int(graph.attrs["sites"])
    clusters = series["cluster_size"][()] if "cluster_size" in series else None
    configuration = _texts(file["configuration"])
    largest = sites * (int(configuration.get("sampling.q", 2)) - 1)  # possible magnetisation
    return Task(
        path=path,
        extents=[int(extent) for extent in np.atleast_1d(graph.attrs["extents"])],
        p=float(graph.attrs["p"]),
        rule=_text(graph.attrs["rule"]),
        sites=sites,
        bonds=int(graph.attrs["bonds"]),
        modified=int(graph.attrs["modified"]),
        temperature=file["temperature"][()],
        energy=-series["energy"][()] / sites,
        magnetisation=series["magnetisation"][()] / largest,
        cluster_size=clusters,
        configuration=configuration,
        provenance=_texts(file["provenance"]) if "provenance" in file else {},
    )


def array(values):
    """A list of numbers from JSON, null -> NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def value_and_error(entry):
    """(value, error) of a 'value' in a summary; NaN for null."""
    if entry is None:
        return np.nan, np.nan
    value, error = array([entry.get("value"), entry.get("error")])
    return float(value), float(error)


def with_error(value, error):
    """2.3772(4): the error in units of the last digit, one digit, or two where the first is 1."""
    if not np.isfinite(value):
        return "unknown"
    if not np.isfinite(error):
        return f"{value:.6g}"
    if error <= 0:
        return f"{value:.7g}"
    mantissa, exponent = f"{error:.0e}".split("e")
    digits = -int(exponent) + (mantissa == "1")
    if not 0 <= digits <= 12:
        return f"{value:.6g} ± {error:.1g}"
    return f"{value:.{digits}f}({round(error * 10**digits)})"
