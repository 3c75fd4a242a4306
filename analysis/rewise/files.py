"""Reads the files that rewise writes: summaries of studies and task files.

    from rewise import files
    study = files.read_summary("studies/quickstart")     # see SUMMARY.md
    task = files.read_task("t.h5")
    task.energy.mean(axis=(1, 2))                              # <e> at each temperature

Task files need h5py. A task file is plain HDF5 after a user block of 512 bytes, which h5py and
h5dump skip. Studies store many small task files in results archives (packs): HDF5 files in which
each dataset of bytes is one task file. The path "DIR/tasks/<id>.h5" names a task in both cases: as
a file of its own, or in an archive of that folder.

The user block has a digest of the whole file (src/base/seal.hpp). If xxhash is installed, the
digest is checked before the file is read (about 20 us of the 15 ms for a task of 100 kB). Without
xxhash only the length is checked: damage may go unnoticed, or make HDF5 loop forever.
"""

import contextlib
import dataclasses
import fcntl
import glob
import io
import json
import math
import os
import pathlib
import re
import secrets
import tempfile
import time
import tomllib
import warnings

import numpy as np

try:
    import xxhash
except ImportError:
    xxhash = None

from . import arguments
from .errors import AbsentError, DataError, Error, FileError, module


@dataclasses.dataclass(repr=False)
class Task:
    """The series of one graph at all its temperatures; see read_task() and Study.tasks().

    energy, magnetisation: series [temperature, time, replica]; time counts measurements,
        configuration["sampling.every"] cycles from one to the next, after equilibration. Per site:
        e = -(bond sum)/N; m, signed, Potts (q N_max/N - 1)/(q - 1).
    columns: the other series of the file, as measured integers: name -> array.
    cluster_size: one of `columns`: sites, summed over the cluster updates between two measurements;
        None without cluster updates.
    temperature: [temperature], J = k_B = 1.
    extents: [dim], empty for an imported graph; p, rule, sites, bonds, modified: of the graph.
    source: the file of an imported graph, else "".
    configuration, provenance: dicts of strings ("lattice.p" -> "0.01").
    path: of the task, for Results.load(), Graph.load() and Simulation.restore().
    purpose: of the task in its study (Study.tasks).
    status: of each temperature in the file of a run: "ok", or why it has no values. Empty for files
        without results, such as tasks of studies.
    """
    path: pathlib.Path
    extents: list
    p: float
    rule: str
    sites: int
    bonds: int
    modified: int
    temperature: np.ndarray
    energy: np.ndarray
    magnetisation: np.ndarray
    columns: dict
    configuration: dict
    provenance: dict
    purpose: str = ""
    source: str = ""
    status: list = dataclasses.field(default_factory=list)

    def __repr__(self):
        shape = " x ".join(map(str, self.extents)) or "imported graph"
        lattice = f"{shape}, p = {self.p:g}, {self.rule}" if self.extents else shape
        temperatures, measurements, replicas = self.energy.shape
        low, high = self.temperature.min(), self.temperature.max()
        at = f"T = {low:g}" if temperatures == 1 else f"{temperatures} T in {low:g}..{high:g}"
        return (f"<rewise.Task {self.name}: {lattice}, {self.sites} sites; {at}, {measurements} "
                f"measurements, {replicas} replicas; arrays " +
                ", ".join(["energy", "magnetisation", *self.columns]) + ">")

    @property
    def cluster_size(self) -> np.ndarray | None:
        return self.columns.get("cluster_size")

    @property
    def states(self) -> int:
        """Number of spin states: q for Potts, 2 for Ising."""
        return int(self.configuration.get("sampling.q", 2))

    def keep(self, first: int, count: int) -> None:
        """Drops all measurements except `count` of them, starting with number `first`."""
        part = slice(first, first + count)
        self.energy, self.magnetisation = self.energy[:, part], self.magnetisation[:, part]
        self.columns = {name: series[:, part] for name, series in self.columns.items()}

    @property
    def name(self) -> str:
        """Name of the file without its ending, as in tasks.json and in results archives."""
        return self.path.name.removesuffix(".h5").removesuffix(".part")


def extents_label(extents):
    """'L = 32' for equal extents, '32 x 16' otherwise, for axis labels and legends."""
    if not extents:
        return "imported graph"
    if all(extent == extents[0] for extent in extents):
        return f"$L = {extents[0]}$"
    return r"$" + r" \times ".join(str(extent) for extent in extents) + "$"


def plain_text(text):
    """Escapes a string, such as a file name, so that matplotlib shows it literally."""
    return text.replace("$", r"\$")


def size_label(size):
    """Label of a size in a summary: extents_label(), or the file name of an imported graph."""
    if size["extents"] or not size.get("graph"):
        return extents_label(size["extents"])
    return plain_text(size["graph"])


def schedule_label(size, otherwise=""):
    """Label of the schedule of a size in a summary, or of a candidate of `rewise tune`: "1:4" with
    Wolff updates, else "swendsen-wang/1:4", as in the tables of the program."""
    schedule, cluster = size.get("schedule") or otherwise, size.get("cluster")
    if not schedule or schedule.endswith(":0") or cluster in (None, "wolff"):
        return schedule
    return f"{cluster}/{schedule}"


class StrictDict(dict):
    """A dict whose missing keys raise an AbsentError that lists the existing keys. `content` says
    in the message what the dict contains."""

    def __init__(self, content, items=()):
        super().__init__(items)
        self.content = content

    def __missing__(self, name):
        raise AbsentError(f"{self.content}: no {name!r}; there are {', '.join(map(str, self))}")


def read_summary(folder):
    """summary.json of a study's folder as a dict (fields: SUMMARY.md). DataError if it is missing,
    damaged, or not a summary."""
    path = pathlib.Path(arguments.path("folder", folder)) / "summary.json"
    summary = read_json(path, "rewise summary", "summary of a rewise study",
                        f"is '{folder}' a finished study?")
    if not isinstance(summary.get("points"), list):
        raise DataError(f"'{path}' has no points: it is of kind {summary.get('kind')!r}, and "
                        "studies are of tc and sweep")
    return StrictDict(f"'{path}'", summary)


def read_model(folder, summary):
    """The table [model] of a study's study.toml as a dict; {} if the file is missing or damaged, or
    belongs to another run than the summary."""
    try:
        text = (pathlib.Path(folder) / "study.toml").read_text(encoding="utf-8")
        if summary.get("configuration", "") not in text.partition("\n")[0]:
            return {}
        model = tomllib.loads(text).get("model", {})
    except (OSError, ValueError):  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        return {}
    return model if isinstance(model, dict) else {}


def read_tuning(path):
    """The file of `rewise tune --out`, or one of a study's schedules/*.json, as a dict."""
    return read_json(pathlib.Path(arguments.path("path", path)), "rewise tune",
                     "result of 'rewise tune'", "did 'rewise tune --out' write it?")


def read_json(path, form, kind_of_file, where_from):
    """A JSON file with the given "format" as a dict. DataError if the format differs: the message
    names the expected kind of file. If the file does not exist, the message ends with the
    hint `where_from`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"'{path}' does not exist: {where_from}") from None
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from None
    if not isinstance(value, dict) or value.get("format") != form:
        raise DataError(f"'{path}' is not a {kind_of_file}")
    version = value.get("format_version")
    if version != 1:
        raise DataError(f"'{path}' has format version {version}; this program reads 1")
    return value


LEFTOVER_AGE = 3600  # seconds, after which a temporary file is considered abandoned


def _open_temporary(path, tried):
    """Creates a temporary file in the folder of `path`; returns it and its descriptor. The file is
    locked, as in src/base/temporary.hpp: unlocked temporary files are removed as leftovers. Adds
    each name to `tried` before the file exists, so that a signal at any time leaves none behind."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        tried.append(temporary)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # the file system does not support locks
            return temporary, file
        if os.fstat(file).st_nlink > 0:  # otherwise it was removed before it was locked
            return temporary, file
        os.close(file)


def write_atomically(path, data):
    """Replaces the file `path` atomically: writes a temporary file with an unpredictable name in
    the same folder and renames it. Also removes temporary files that a killed process left."""
    path = pathlib.Path(path)
    tried = []
    try:
        temporary, file = _open_temporary(path, tried)
        with open(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            inode = os.fstat(file).st_ino
            try:
                os.replace(temporary, path)
            except FileNotFoundError:
                # NFS repeats a request if the reply was lost. The repetition fails because the
                # first request has succeeded.
                if path.stat().st_ino != inode:
                    raise
    except BaseException as error:
        for name in tried:
            name.unlink(missing_ok=True)
        if isinstance(error, OSError):  # errors of a descriptor do not name the file
            error.filename, error.filename2 = str(path), None
        raise
    for old in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 16}.tmp"):
        try:
            if time.time() - old.lstat().st_mtime > LEFTOVER_AGE:
                old.unlink()
        except OSError:
            pass  # another process has removed it, or permission is missing


def text_of(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _texts(group):
    """Reads a group of strings as a dict. Strings are attributes, or scalar datasets if they are
    too long for an attribute.
    """
    texts = {key: text_of(value) for key, value in group.attrs.items()}
    texts.update({key: text_of(dataset[()]) for key, dataset in group.items()})
    return texts


# Files have the earlier names of the engines, so that task identifiers stay the same.
_ENGINES = {"bundle": "multispin", "single": "bytespin", "packed": "bitlattice"}


def with_current_names(configuration):
    """A configuration, with the current name of its engine."""
    engine = configuration.get("sampling.engine")
    return configuration | {"sampling.engine": _ENGINES[engine]} if engine in _ENGINES \
        else configuration


def _configuration(file):
    return with_current_names(_texts(file["configuration"]))


def read_task(path):
    """Reads a finished task, or the measurements so far in a checkpoint (*.part.h5), as a Task.
    DataError if the file is missing, damaged, or not a task file."""
    path = pathlib.Path(arguments.path("path", path))
    with reading(path), open_task(path) as file:
        return task_of(path, file)


@contextlib.contextmanager
def reading(path):
    """Context manager that turns errors of reading `path` into errors of this package."""
    try:
        yield
    except DataError:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"'{path}' does not exist{_in_damaged_archive(path)}") from None
    except IsADirectoryError:
        raise DataError(f"'{path}' is a folder, not a file (for a study use Study)") from None
    except PermissionError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror}") from None
    except _DAMAGE as error:
        raise DataError(f"'{path}' is damaged, or not a file of rewise: {error}") from None


def _in_damaged_archive(path):
    damaged = [pack.name for pack in pack_files(path.parent) if _members(pack) is None]
    return f"; it may have been in {', '.join(damaged)}, which is damaged" if damaged else ""


def task_files(folder):
    """Paths tasks/<id>.h5 of a study's finished tasks, in the order of their names: files and
    members of results archives. Skips damaged archives, with a RuntimeWarning that names them."""
    tasks = pathlib.Path(folder) / "tasks"
    found = {path for path in tasks.glob("*.h5")
             if not path.name.endswith((".part.h5", ".pack.h5")) and not path.name.startswith(".")}
    for pack in pack_files(tasks):
        members = _members(pack)
        if members is None:
            warnings.warn(f"'{pack}' is damaged: its tasks are left out (run the study again with "
                          "--recompute-damaged to compute them)", RuntimeWarning,
                          stacklevel=2)
        found |= {tasks / f"{name}.h5" for name in members or ()}
    return sorted(found)


def pack_files(tasks):
    """The results archives NAME.<n>.pack.h5 in a folder of tasks, the latest first: if two contain
    a task, the latest is valid."""
    found = [(-int(name[1]), path) for path in pathlib.Path(tasks).glob("*.pack.h5")
             if (name := re.fullmatch(r"[^.].*\.(\d+)\.pack\.h5", path.name))]
    return [path for _, path in sorted(found)]


# What h5py raises for a damaged file.
_DAMAGE = (AttributeError, OSError, LookupError, OverflowError, RuntimeError, TypeError, ValueError)


def _members(pack):
    """The names of the tasks in a results archive; None if it is damaged."""
    try:
        with module("h5py", "reading task files").File(pack, "r") as file:
            return [name for name, _ in file.items()]
    except _DAMAGE:
        return None


MAGIC = b"\x89RWS\r\n\x1a\n"


def check_seal(stream, size):
    """ValueError unless the next `size` bytes are intact (src/base/seal.hpp). Plain HDF5 has no
    seal and is accepted: another program has rewritten the file."""
    block = bytearray(stream.read(512))
    if block[:8] == b"\x89HDF\r\n\x1a\n":
        return
    if block[:8] != MAGIC or len(block) < 512:
        raise ValueError("not a rewise file (its first bytes are not the signature of one)")
    length, digest = int.from_bytes(block[16:24], "little"), bytes(block[24:40])
    if size != 512 + length:
        raise ValueError(f"it has {size} bytes, but 512 + {length} were written")
    if xxhash is not None:
        block[24:40] = bytes(16)
        found = xxhash.xxh3_128(bytes(block))
        while length > 0:
            piece = stream.read(min(length, 1 << 20))
            if not piece:
                raise ValueError("it became shorter while it was read")
            found.update(piece)
            length -= len(piece)
        if found.digest() != digest:
            raise ValueError("its content and its digest differ")
    version = int.from_bytes(block[8:12], "little")
    if version != 1:
        raise ValueError(f"sealed format {version}, but this program reads format 1")


def open_sealed(path):
    """Opens an HDF5 file of rewise for reading. OSError, ValueError."""
    h5py = module("h5py", f"reading '{path}'")  # imported here: summaries do not need it
    with open(path, "rb") as raw:
        check_seal(raw, os.fstat(raw.fileno()).st_size)
    return h5py.File(path, "r")


def open_task(path):
    """Opens a task for reading: the file of that name, or a member of a results archive. Of an
    archive, only the digest of this task is checked. OSError, ValueError."""
    if (packed := packed_task(path)) is None:
        return open_sealed(path)
    check_seal(io.BytesIO(packed), len(packed))
    return module("h5py", f"reading '{path}'").File(io.BytesIO(packed), "r")


def packed_task(path):
    """The bytes of a task in a results archive of the folder; None if the task is a file of its own
    or missing."""
    path = pathlib.Path(path)
    for pack in [] if path.exists() else pack_files(path.parent):
        with contextlib.suppress(*_DAMAGE), module("h5py", "reading task files").File(pack) as file:
            if path.stem in file:
                return file[path.stem][()].tobytes()
    return None


@contextlib.contextmanager
def unpacked(path):
    """A context manager that gives the path of a plain task file, for code that opens files itself:
    `path`, or a temporary copy of a task in a results archive."""
    path = arguments.path("path", path)
    if (packed := packed_task(path)) is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rewise-") as folder:
        copy = pathlib.Path(folder) / pathlib.Path(path).name
        copy.write_bytes(packed)
        try:
            yield str(copy)
        except Error as error:
            raise type(error)(str(error).replace(str(copy), path)) from None


def read_task_notes(path):
    """(configuration, temperatures, provenance) of a finished task, without its series. DataError
    if it is damaged."""
    with reading(path), open_task(path) as file:
        return task_notes(file)


def task_notes(file):
    """As read_task_notes(), for an open file."""
    return (_configuration(file), file["temperature"][()],
            _texts(file["provenance"]) if "provenance" in file else {})


def task_of(path, file):
    """As read_task(), for an open file."""
    form = text_of(file.attrs.get("format", ""))
    if form == "rewise task pack":
        raise DataError(f"'{path}' holds {len(file)} tasks: name one, such as "
                        f"{path.parent / next(iter(file), 'ID')}.h5")
    if form != "rewise task":
        raise DataError(f"'{path}' is not a task file: " +
                        (f"its format is '{form}'" if form else "it is an HDF5 file of another "
                                                                "kind"))
    graph, series = file["graph"], file["series"]
    sites = int(graph.attrs["sites"])
    configuration = _configuration(file)
    largest = sites * (int(configuration.get("sampling.q", 2)) - 1)  # possible magnetisation
    return Task(
        path=path,
        extents=[int(extent) for extent in np.atleast_1d(graph.attrs["extents"])],
        p=float(graph.attrs["p"]),
        rule=text_of(graph.attrs["rule"]),
        sites=sites,
        bonds=int(graph.attrs["bonds"]),
        modified=int(graph.attrs["modified"]),
        temperature=file["temperature"][()],
        energy=-energy_unit(configuration) * series["energy"][()] / sites,
        magnetisation=series["magnetisation"][()] / largest,
        columns={name: series[name][()] for name in series
                 if name not in ("energy", "magnetisation")},
        configuration=configuration,
        provenance=_texts(file["provenance"]) if "provenance" in file else {},
        source=text_of(graph.attrs.get("source", "")),
        status=text_of(file["results"].attrs["status"]).split(",") if "results" in file else [],
    )


def energy_unit(configuration):
    """The energy of one unit of the series "energy"; as Interactions::energy_unit() in C++."""
    couplings = configuration.get("sampling.couplings", "ferromagnet")
    integers = couplings in ("ferromagnet", "antiferromagnet", "pm")
    strength = abs(float(configuration.get("sampling.shortcut_strength", 1)))
    field = float(configuration.get("sampling.field", 0)) != 0
    random = configuration.get("sampling.field_random", "none") != "none"
    return 1.0 if integers and strength == 1 and not field and not random else 2.0**-20


def same_p(a, b):
    """Whether two values of p are equal up to rounding, such as from np.logspace."""
    return math.isclose(a, b, rel_tol=1e-9)


def array(values):
    """An array from a JSON list of numbers; null becomes NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def value_and_error(entry):
    """(value, error) of an entry in a summary; null becomes NaN."""
    if entry is None:
        return np.nan, np.nan
    value, error = array([entry.get("value"), entry.get("error")])
    return float(value), float(error)


def total(entry):
    """(value, total error) of an extrapolated number; the total error is the statistical and the
    systematic one in quadrature, or NaN if the latter is unknown ("systematic": null)."""
    value, error = value_and_error(entry)
    if entry is not None and entry.get("total_error") is not None:
        return value, float(entry["total_error"])
    systematic = 0.0 if entry is None else entry.get("systematic", 0.0)
    return value, float(np.hypot(error, np.nan if systematic is None else systematic))


def total_or_statistical(entry):
    """As total(), but with the statistical error if the systematic one is unknown."""
    value, error = total(entry)
    return (value, error) if np.isfinite(error) else value_and_error(entry)


def rejected_tc(point):
    """The estimate of Tc that a check rejected; None if there is a valid Tc, or no estimate."""
    candidate = point.get("candidate")
    known = point.get("tc") is None and candidate is not None
    return candidate if known and candidate.get("value") is not None else None


def status_of(point):
    """"ok", or the reason why a point of `tc` has no Tc, with blanks: "not converged"."""
    status = point.get("status")
    if point.get("tc") is not None or status == "ok" and point.get("best") is not None:
        return "ok"  # with the tree condition alone, `tc` is None and `best` has the value
    return status.replace("-", " ") if status and status != "ok" else "no Tc"


def _half_away(x):
    """Rounds as C does: halves away from zero."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def _fixed(value, error, last):
    if abs(value) < 0.5 * 10.0**last:
        value = 0.0
    if last >= 0:
        unit = 10.0**last
        return f"{round(value / unit) * unit:.0f}({_half_away(error / unit) * unit:.0f})"
    units = _half_away(error * 10.0**-last)
    return f"{value:.{-last}f}({error:.{-last}f})" if units >= 10.0**-last else \
        f"{value:.{-last}f}({units:.0f})"


def with_error(value, error):
    """Formats 2.3772(4): the error is in units of the last digit and has one digit, or two if the
    first is 1. Small values have an exponent: 1.30(2)e-7. "unknown" for NaN; a NaN error is left
    out. The digits are those of the program (format_value in analysis/series/statistics.cpp)."""
    try:
        value, error = float(value), float(error)
    except (TypeError, ValueError):
        raise TypeError(f"with_error: {value!r} and {error!r} must be numbers") from None
    if not np.isfinite(value):
        return "unknown"
    if not np.isfinite(error):
        return f"{value:.6g}"
    if error <= 0:
        return f"{value:.7g}"
    last = math.floor(math.log10(error))
    if _half_away(error / 10.0**(last - 1)) >= 100:
        last += 1  # 0.0999 is 0.10
    if _half_away(error / 10.0**(last - 1)) < 20:
        last -= 1
    units = max(_half_away(abs(value) / 10.0**last), 1)  # of the rounded value: 9.97e-5 is 1.0e-4
    leading = last + math.floor(math.log10(units))
    if -3 <= leading < 6 and last < 6:
        return _fixed(value, error, last)
    scale = 10.0**leading
    return f"{_fixed(value / scale, error / scale, last - leading)}e{leading}"


def in_formula(value, error):
    """with_error() as a formula for matplotlib, without dollar signs."""
    text, exponent, power = with_error(value, error).partition("e")
    return rf"{text}\times 10^{{{power}}}" if exponent and power else text + exponent + power
