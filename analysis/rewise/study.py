"""Runs studies and reads their results as NumPy arrays or pandas frames.

    import rewise
    study = rewise.Study("studies/sweep")
    study.run()                             # computes what is missing (rewise sweep, rewise tc)
    study.columns()["susceptibility"]       # NumPy, one entry per p, size and temperature
    study.curve(p=0.1, size=16).binder      # NumPy, one entry per temperature
    study.frame()                           # all of it as a pandas DataFrame
    study.critical_temperatures()           # of a `tc` study: arrays p, tc, tc_error, shift, ..
    for task in study.tasks(): ...          # every graph's own series (files.Task)
    study.tasks(all=True)                   # pilot runs, scans and abandoned windows, too

Tasks need h5py; frame() and task_frame() need pandas.
"""

import functools
import html
import json
import operator
import os
import pathlib
import re
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments, files
from .errors import AbsentError, DataError, FileError, HeldError, UsageError, module
from .files import array, same_p, status_of, total, value_and_error, with_error

if TYPE_CHECKING:
    from .resamples import Resamples

QUANTITIES = ["energy", "abs_magnetisation", "m2", "m4", "binder", "scaled_m2", "specific_heat",
              "susceptibility", "cluster_fraction", "tau"]
QUANTITIES += [f"{name}_plain" for name in QUANTITIES[:8]]  # without control variates

# The purpose of a task:
# "result": the summary's averages, or its Tc by the tree condition, use the task
# "pilot": a short run that measured tau_int or, on bare lattices, located the temperatures of the
#     last step
# "scan": a search for the transition
# "abandoned": a window, a schedule or a plan that was given up, or not requested by the last run
PURPOSES = ("result", "pilot", "scan", "abandoned")


class Purposes:
    """Determines the purpose of each task of a study from tasks.json, which a complete run writes,
    and from a comparison of the task's configuration with the sizes in the summary. Without
    tasks.json, every task that the summary does not use counts as abandoned."""

    def __init__(self, folder, summary):
        named = pathlib.Path(folder) / "tasks.json"
        self._named = None
        if named.exists():
            listed = files.read_json(named, "rewise tasks", "list of tasks of a study", "")
            # Ignore tasks.json if it comes from an earlier run than the summary.
            if listed.get("configuration") == summary.get("configuration"):
                self._named = listed["tasks"]
        self._sizes, self._trees = [], []
        rule = summary.get("lattice", {}).get("rule")
        for point in summary.get("points", []):
            if (point.get("tree") or {}).get("edge"):
                self._trees.append((point["p"], point["tree"]))
            for size in point["sizes"]:
                wanted = {"lattice.size": "x".join(map(str, size["extents"])),
                          "lattice.rule": point.get("rule", rule),
                          "graph.hash": size.get("graph_hash"),
                          "sampling.schedule": size.get("schedule"),
                          "sampling.cluster": size.get("cluster"),
                          "sampling.replicas": size.get("replicas"),
                          "sampling.warm_up": size.get("warm_up") or None,
                          "sampling.equilibrate": size.get("equilibrate"),
                          "sampling.every": size.get("every")}
                self._sizes.append((point["p"], {key: str(value) for key, value in wanted.items()
                                                 if isinstance(value, (int, str))}, size))

    def size_of(self, configuration, temperatures, listed=False):
        """The summary's entry of the size that uses a task of this configuration, or None. If
        tasks.json lists the task (`listed`), one common temperature is enough; otherwise the
        summary must have all temperatures of the task."""
        for p, wanted, size in self._sizes:
            same = all(configuration.get(key, value) == value for key, value in wanted.items())
            if (same and float(configuration.get("lattice.p", p)) == p
                    and (set(temperatures) <= set(size["temperatures"]) or
                         listed and not set(temperatures).isdisjoint(size["temperatures"]))
                    and int(configuration.get("sampling.measure", 0)) >=
                    size.get("discarded", 0) + size.get("measurements", 0)):
                return size
        return None

    def tree_of(self, configuration, temperatures):
        """The summary's entry of the tree condition that uses this bare lattice, or None. Only bare
        lattices of the last step are used."""
        for p, tree in self._trees:
            edges = set(configuration["lattice.size"].split("x"))
            times = [tree.get(key) for key in ("equilibrate", "measurements")]
            beside = {entry["temperature"] for entry in tree["lambda"]
                      if entry["edge"] == tree["edge"]}
            if (float(configuration["lattice.p"]) == p and edges == {str(tree["edge"])}
                    and times == [int(configuration[f"sampling.{key}"])
                                  for key in ("equilibrate", "measure")]
                    and set(temperatures) <= beside):
                return tree
        return None

    def purpose_of(self, name, configuration, temperatures):
        """(purpose, entry of the summary that uses the task or None)."""
        named = "graph" if self._named is None else self._named.get(name, "abandoned")
        if named != "graph":
            return named, None
        # tasks.json calls "result" "graph". Version 0.1.0 gave this name to pilots of bare lattices
        # and to tasks of abandoned windows, too.
        used = self.tree_of(configuration, temperatures) \
            if configuration.get("lattice.bare") == "true" else \
            self.size_of(configuration, temperatures, self._named is not None)
        return "abandoned" if used is None else "result", used


def _frame(columns):
    return module("pandas", "a frame (columns() and curve() give the same numbers in NumPy "
                            "arrays)").DataFrame(columns)


class Study:
    """The folder of a study. run(), or start() and wait(), compute its results; all other methods
    read them.

    Study(folder) opens an existing folder. Study(folder, config) creates one or continues it:
    config is the path of a TOML file, or a dict of the same tables ({"lattice": {"dim": 2, ..},
    ..}; keys and defaults: experiments/KEYS.md; names of `files` are relative to the current
    folder); kind is "tc" or "sweep". run() computes only what is missing. Methods that read raise
    DataError if there is no result yet.
    """

    def __init__(self, folder: arguments.Path, config: arguments.Path | dict | None = None,
                 kind: str | None = None):
        self.folder = pathlib.Path(arguments.path("folder", folder))
        if config is not None and not isinstance(config, dict):
            config = pathlib.Path(arguments.path("config", config))
        self._config, self._kind, self._running = config, kind, None
        if kind not in (None, "tc", "sweep"):
            raise UsageError(f"kind: {kind!r} (tc or sweep)")

    # Computing the results

    def run(self, device: str | None = None, threads: int | None = None,
            time_limit: str | None = None, plots: bool = False,
            progress: bool | None = None) -> "Study":
        """Computes what is missing, in a child process. Raises Interrupted after `time_limit`
        ("90s", "2h"), KeyboardInterrupt on Ctrl-C. Finished work is kept, and the same call
        continues it."""
        self.start(device, threads, time_limit, plots, progress)
        self.wait()
        return self

    def start(self, device: str | None = None, threads: int | None = None,
              time_limit: str | None = None, plots: bool = False,
              progress: bool | None = False) -> "Study":
        """Starts run() in the background. See `running`, wait() and stop()."""
        from .command import Running

        if self._running is not None and self._running.poll() is None:
            raise HeldError(f"'{self.folder}' is already running")
        config = self._config_file()
        words = [self.kind, config, "--out", self.folder]
        words += [] if plots else ["--no-plots"]
        for option, value in (("--device", device), ("--threads", threads),
                              ("--time-limit", time_limit)):
            words += [] if value is None else [option, value]
        self._running = Running(words, progress)
        return self

    @property
    def running(self) -> bool:
        """Whether a process that start() began is running."""
        return self._running is not None and self._running.poll() is None

    def wait(self) -> "Study":
        """Waits for the process that start() began. Raises its error, if any."""
        if self._running is None:
            raise UsageError("wait: no run was started")
        running, self._running = self._running, None
        try:
            running.wait()
        except UsageError as error:
            if not isinstance(self._config, dict):
                raise
            # The file is temporary: name the caller's argument instead.
            written = re.escape(str(pathlib.Path(self._written.name) / "study.toml"))
            raise UsageError(re.sub(rf"{written}(:\d+:\d+)?", "config", str(error))) from None
        finally:
            self.__dict__.pop("summary", None)
            if isinstance(self._config, dict):
                self._written.cleanup()
        # Another run may replace the results in the folder: this object keeps its own.
        self.summary
        return self

    def stop(self) -> None:
        """Stops the process that start() began. Finished work is kept."""
        if self._running is not None:
            self._running.stop()

    def _config_file(self):
        if self._config is None:
            path = self.folder / "study.toml"
            if not path.exists():
                raise DataError(f"'{path}' does not exist: is '{self.folder}' a study's folder? "
                                "(Study(folder, config) creates one)")
            return path
        if not isinstance(self._config, dict):
            return self._config
        self._written = tempfile.TemporaryDirectory(prefix="rewise-")  # until wait() ends
        path = pathlib.Path(self._written.name) / "study.toml"
        config = dict(self._config)
        lattice = config.get("lattice")
        if isinstance(lattice, dict) and "files" in lattice:
            # Names in a study's file are relative to its folder, which is a temporary one here.
            config["lattice"] = {**lattice, "files": _absolute(lattice["files"])}
        path.write_text(toml_text(config), encoding="utf-8")
        return path

    # Reading the results

    @functools.cached_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json (format: analysis/SUMMARY.md)."""
        return files.read_summary(self.folder)

    @property
    def kind(self) -> str:
        """"tc" or "sweep"."""
        if self._kind is None:
            try:
                with open(self.folder / "study.toml", encoding="utf-8") as stream:
                    head = re.match(r"# rewise (tc|sweep);", stream.readline())
            except OSError:
                head = None
            if head is None and self._config is not None:
                return "tc"
            self._kind = head[1] if head else self.summary["kind"]
        return self._kind

    @property
    def resamples(self) -> "Resamples":
        """The jackknife samples of the study, and their covariances (resamples.py)."""
        from .resamples import Resamples

        loaded = self.__dict__.get("summary")
        if loaded and files.read_summary(self.folder)["configuration"] != loaded["configuration"]:
            raise DataError(f"'{self.folder}' has the results of another configuration now")
        return Resamples(self.folder)

    @property
    def tc(self) -> "TcTable":
        """critical_temperatures() as a table that can be printed: study.tc["tc"] is an array
        [p]."""
        return TcTable(self.critical_temperatures())

    def plot(self, name: str, p: float | None = None) -> Any:
        """Draws a figure by its name ("tc", "shift", "crossings", of a spin glass "overlaps",
        "thermodynamics", "tau", ..) into the folder's plots/, as PDF and PNG. `p` selects one of
        the figures that show a single p. Returns a Picture, which notebooks show; its `path` is the
        PNG. AbsentError lists the figures of this study."""
        module("matplotlib.pyplot", "plot()")
        name = arguments.text("name", name)
        p = None if p is None else arguments.real("p", p)
        from .plots import plot_study, plot_style
        from .display import Picture

        known = []
        for job in plot_study.jobs(self.summary, files.read_model(self.folder, self.summary)):
            made = job()
            if made is None:
                continue
            figure, drawn = made
            suffix = "-" if p is None else f"-p{re.escape(f'{p:g}')}(-|$)"
            if drawn == name or re.match(re.escape(name) + suffix, drawn):
                written = plot_style.save(figure, self.folder / "plots", drawn)
                return Picture(next(path for path in written if path.suffix == ".png"))
            plot_style.plt.close(figure)
            known.append(drawn)
        raise AbsentError(f"'{self.folder}' has no figure '{name}'"
                        f"{'' if p is None else f' of p = {p:g}'}; known: {', '.join(known)}")

    def _repr_html_(self):
        from .display import picture_html

        try:
            self.summary
        except (DataError, FileError):
            return f"<p>{html.escape(repr(self))}</p>"
        page = f"<p>{self.kind} study '{html.escape(str(self.folder))}'</p>"
        if self.kind == "tc":
            page += self.tc._repr_html_()
        try:
            return page + picture_html(self.plot("tc" if self.kind == "tc" else "sweep"))
        except (DataError, ImportError):
            return page

    def __repr__(self):
        if not (self.folder / "summary.json").exists():
            return f"<rewise.Study '{self.folder}': no results yet>"
        try:
            points = self.summary["points"]
        except (DataError, FileError) as error:
            return f"<rewise.Study '{self.folder}': {error}>"
        return (f"<{self.kind} study '{self.folder}': p = "
                f"{', '.join(f'{p:g}' for p in sorted({point['p'] for point in points}))}; "
                f"{sum(len(point['sizes']) for point in points)} curves>")

    def _quantities(self):
        new = [entry["name"] for entry in self.summary.get("observables", [])]
        new = [name for name in new if name not in QUANTITIES]
        sizes = [size for point in self.summary["points"] for size in point["sizes"]]
        times = [name for name in ("overlap_tau", "exchange_accepted")
                 if any(name in size for size in sizes)]
        return QUANTITIES + times + new + [f"{name}_plain" for name in new]

    def _sizes(self):
        """Yields (columns that identify a size at one p, its entry in the summary), in the order of
        the summary."""
        lattice, sampling = self.summary.get("lattice", {}), self.summary.get("sampling", {})
        for point in self.summary["points"]:
            for size in point["sizes"]:
                yield {"p": point["p"], "dim": len(size["extents"]),
                       "extents": size.get("graph", "x".join(map(str, size["extents"]))),
                       "sites": size["sites"],
                       "rule": point.get("rule", lattice.get("rule")),
                       "schedule": size.get("schedule", sampling.get("schedule")),
                       "cluster": size.get("cluster", ""),
                       "label": point.get("label", ""), "graphs": size["graphs"],
                       "replicas": size["replicas"]}, size

    def columns(self) -> dict[str, np.ndarray]:
        """The measurements as arrays of equal length, one entry per p, size and temperature, with p
        as the slowest index. Values are thermal averages per site, averaged over graphs.
        `<quantity>_error` is one standard error, `<quantity>_plain` the average without control
        variates. `tau` (of m^2) and `overlap_tau` (of q^2) are in cycles; `exchange_accepted` is
        the fraction of accepted exchanges with the next temperature. Unknown values are NaN.
        Formulas: experiments/GUIDE.md, Symbols."""
        parts = {}
        for names, size in self._sizes():
            count = len(size["temperatures"])
            rows = {key: np.repeat(value, count) for key, value in names.items()}
            rows["temperature"] = array(size["temperatures"])
            for quantity in self._quantities():
                curve = size.get(quantity) or {"value": [None] * count, "error": [None] * count}
                rows[quantity] = array(curve["value"])
                rows[f"{quantity}_error"] = array(curve["error"])
            for key, values in rows.items():
                parts.setdefault(key, []).append(values)
        return files.StrictDict(f"columns of '{self.folder}'",
                                {key: np.concatenate(values) for key, values in parts.items()})

    def frame(self) -> Any:
        """columns() as a pandas DataFrame."""
        return _frame(self.columns())

    def curve(self, p: float, size: int | Sequence[int] | None = None,
              **names: Any) -> types.SimpleNamespace:
        """The curve of one size at one p. `size` is an edge length or a list of extents (default:
        the largest). rule=, schedule= or dim= select one of several curves.

        The attributes of the result are named as in columns(). Those that identify the curve, such
        as `p`, are single values; `temperature`, quantities and errors are arrays [temperature].
        AbsentError lists the existing curves."""
        p, sizes = arguments.real("p", p), list(self._sizes())
        found = []
        for keys, entry in sizes:
            if unknown := set(names) - set(keys):
                raise UsageError(f"curve: unknown {', '.join(sorted(unknown))} (allowed: "
                                 f"{', '.join(keys)})")
            same_size = size is None or entry["extents"] == list(np.atleast_1d(size)) or (
                np.ndim(size) == 0 and set(entry["extents"]) == {size})
            if same_p(keys["p"], p) and same_size and all(keys[key] == names[key] for key in names):
                found.append((keys, entry))
        if not found:
            wanted = ", ".join(f"{key} = {value}" for key, value in
                               {"p": p, "size": size, **names}.items() if value is not None)
            known = dict.fromkeys((keys["p"], keys["extents"]) for keys, _ in sizes)
            raise AbsentError(f"'{self.folder}' has no curve of {wanted}; it has p, size: "
                              + "; ".join(f"{p:g}, {extents}" for p, extents in known))
        if size is None:
            found = [f for f in found if f[0]["sites"] == max(keys["sites"] for keys, _ in found)]
        if len(found) > 1:
            raise DataError(f"{len(found)} curves have p = {p} and size {size}: give rule=, "
                            "schedule= or dim=")
        keys, entry = found[0]
        curve = types.SimpleNamespace(**keys, temperature=array(entry["temperatures"]))
        for quantity in self._quantities():
            if entry.get(quantity):
                setattr(curve, quantity, array(entry[quantity]["value"]))
                setattr(curve, f"{quantity}_error", array(entry[quantity]["error"]))
        return curve

    def critical_temperatures(self) -> dict[str, np.ndarray]:
        """Results of a `tc` study as arrays [p]: tc, shift = Tc(p) - Tc(0) and binder_limit, each
        with its total error (`tc_error`, ..). A value is NaN if it is unknown or a check failed;
        `status` and `reasons` say why and what to do (several reasons are joined by "; ").

        With the tree condition also: `tree_tc`; `difference_z`, the difference of the two methods
        in standard errors; `best`, the combined Tc if both agree; and `best_shift`."""
        if self.kind != "tc":
            raise DataError(f"'{self.folder}' is a {self.kind} study: it has no Tc")
        points = self.summary["points"]
        result = {"p": array([point["p"] for point in points])}
        for key in ("tc", "shift", "binder_limit"):
            result[key] = array([value_and_error(point.get(key))[0] for point in points])
            result[f"{key}_error"] = array([total(point.get(key))[1] for point in points])
        if "best" in self.summary:
            trees = [point["tree"]["tc"] for point in points]
            result["tree_tc"] = array([value_and_error(tree)[0] for tree in trees])
            result["tree_tc_error"] = array([total(tree)[1] for tree in trees])
            result["difference_z"] = array([(point["comparison"] or {}).get("z")
                                            for point in points])
            for key in ("best", "best_shift"):
                result[key], result[f"{key}_error"] = (
                    array([value_and_error(point[key])[k] for point in points]) for k in (0, 1))
        result["status"] = np.array([status_of(point) for point in points])
        result["reasons"] = np.array(["; ".join(point.get("reasons") or []) for point in points])
        return result

    @property
    def warnings(self) -> list[str]:
        """The warnings in the summary, those of the study first, then those of each p."""
        found = list(self.summary.get("warnings") or [])
        for point in self.summary["points"]:
            found += [f"p = {point['p']:g}: {text}" for text in point.get("warnings") or []]
        return found

    def tasks(self, purpose: str = "result", all: bool = False) -> Iterator[files.Task]:
        """Iterates over finished tasks (files.Task) in the order of their file names. By default,
        these are the tasks of the summary, with only the measurements that the summary uses.

        purpose: another one of PURPOSES.
        all: every task with all its measurements; Task.purpose gives the purpose of each.

        A damaged task raises DataError, whatever its purpose is."""
        if purpose not in PURPOSES:
            raise DataError(f"purpose '{purpose}': {', '.join(PURPOSES)} allowed")
        purposes = Purposes(self.folder, self.summary)
        for path in files.task_files(self.folder):
            with files.reading(path), files.open_task(path) as file:
                configuration, temperatures, _ = files.task_notes(file)
                found, size = purposes.purpose_of(path.stem, configuration, temperatures)
                if not all and found != purpose:
                    continue
                task = files.task_of(path, file)
            task.purpose = found
            if size is not None and not all and size.get("measurements"):
                task.keep(size.get("discarded", 0), size["measurements"])
            yield task

    def task_frame(self, purpose: str = "result", all: bool = False) -> Any:
        """Thermal averages of tasks(purpose, all) as a pandas DataFrame, a row per task and
        temperature."""
        rows = []
        for task in self.tasks(purpose, all):
            m2 = task.magnetisation**2
            for k, temperature in enumerate(task.temperature):
                rows.append({"task": task.name, "purpose": task.purpose, "p": task.p,
                             "rule": task.rule, "extents": "x".join(map(str, task.extents)),
                             "sites": task.sites, "modified": task.modified,
                             "temperature": temperature,
                             "schedule": task.configuration.get("sampling.schedule"),
                             "measurements": task.energy.shape[1],
                             "energy": task.energy[k].mean(),
                             "abs_magnetisation": np.abs(task.magnetisation[k]).mean(),
                             "m2": m2[k].mean(), "m4": (m2[k]**2).mean()})
        return _frame(rows)


class TcTable:
    """Table of Tc(p). table["tc"] is a column of critical_temperatures(). str() prints the table,
    with total errors (statistics and extrapolation), and a line for each p without a Tc that says
    why."""

    def __init__(self, columns):
        self.columns = files.StrictDict("columns of Tc", columns)

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(self.columns["p"])

    def rows(self) -> list[list[str]]:
        """A table of strings: a heading, and a row per p. Without a Tc: "-" and the status."""
        shown = {"Tc": "tc", "Tc(p) - Tc(0)": "shift", "U at Tc": "binder_limit"}
        if "best" in self.columns:
            shown = {"crossings": "tc", "tree condition": "tree_tc", "Tc": "best",
                     "Tc(p) - Tc(0)": "best_shift", "U at Tc": "binder_limit"}
        table = [["p", *shown, ""]]
        for k, p in enumerate(self["p"]):
            numbers = {key: (self[key][k], self[f"{key}_error"][k]) for key in shown.values()}
            # A missing Tc by crossings does not matter if the tree condition gives one.
            best = "best" in numbers and np.isfinite(numbers["best"][0])
            status = "" if best or self["status"][k] == "ok" else self["status"][k]
            if "best" in numbers and not best and np.isfinite(self["difference_z"][k]):
                status = f"they differ by {abs(self['difference_z'][k]):.1f} errors"
            table.append([f"{p:g}"] + [with_error(*number) if np.isfinite(number[0]) else "-"
                                       for number in numbers.values()] +
                         [status])
        return table

    def _lines_without_tc(self, rows):
        return [f"p = {row[0]}: no Tc ({row[-1]}): {reasons}"
                for row, reasons in zip(rows[1:], self["reasons"]) if row[-1] and reasons]

    def __str__(self):
        from .display import aligned

        rows = self.rows()
        return "\n".join([aligned(rows), *self._lines_without_tc(rows)])

    __repr__ = __str__

    def _repr_html_(self):
        from .display import table_html

        rows = self.rows()
        return table_html(rows) + "".join(f"<p>{html.escape(line)}</p>"
                                          for line in self._lines_without_tc(rows))


def _absolute(names):
    """A name or a list of names, relative to the current folder."""
    if isinstance(names, (str, os.PathLike)):
        return os.path.abspath(names)
    return [_absolute(name) for name in names] if isinstance(names, (list, tuple)) else names


def _toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    # TOML in ASCII. json.dumps would write surrogate pairs beyond U+FFFF, which TOML forbids.
    if isinstance(value, str):
        return re.sub(r"[^\x00-\x7e]", lambda letter: f"\\U{ord(letter[0]):08x}",
                      json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_toml_value(v)}" for k, v in value.items()) + "}"
    if np.ndim(value) > 0:
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    try:
        return str(operator.index(value))
    except TypeError:
        raise TypeError(f"config: {value!r} is not a value of a configuration (a number, a text, a "
                        "list or a dict of them)") from None


def toml_text(config):
    """A dict of tables as TOML."""
    lines = []
    for table, keys in config.items():
        if not isinstance(keys, dict):
            raise UsageError(f"config: {table!r} is not a table of keys")
        lines.append(f"[{table}]")
        lines += [f"{key} = {_toml_value(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _run(kind, p, sizes, dim, folder, rule, seed, graphs, sampling, chosen, run):
    """Creates a study, runs it and returns it. `chosen`: keys of [sampling] besides `sampling`;
    None: not given. `run`: arguments of Study.run()."""
    folder = pathlib.Path(arguments.path("folder", folder or f"studies/{kind}-{dim}d"))
    if not isinstance(sampling, dict | None):
        raise TypeError(f"sampling: {sampling!r} is not a dict of keys")
    lattice = {"dim": dim, "p": arguments.reals("p", p), "rule": rule,
               "sizes": sizes if isinstance(sizes, str) else list(np.atleast_1d(sizes))}
    if graphs is not None:
        lattice["graphs"] = graphs if np.ndim(graphs) == 0 else list(graphs)
    sampling = dict(sampling or {}) | {key: value for key, value in chosen.items()
                                       if value is not None}
    config = {"study": {"name": re.sub(r"[^A-Za-z0-9._-]", "-", folder.name), "seed": seed},
              "lattice": lattice} | ({"sampling": sampling} if sampling else {})
    return Study(folder, config, kind=kind).run(**run)


def _error(target_error):
    return None if target_error is None else arguments.real("target_error", target_error)


@arguments.checks_names(temperature="sampling={'temperatures': ..}",
                        measure="sampling={'measure': ..}", replicas="sampling={'replicas': ..}",
                        engine="sampling={'engine': ..}", schedule="sampling={'schedule': ..}")
def tc(p: arguments.Reals, sizes: Sequence[int] | str, *, dim: int = 2,
       target_error: float | None = None, folder: arguments.Path | None = None,
       rule: str = "rewire", seed: int = 1, graphs: int | Sequence[int] | None = None,
       sampling: dict[str, Any] | None = None, device: str | None = None,
       threads: int | None = None, time_limit: str | None = None,
       progress: bool | None = None) -> Study:
    """Critical temperatures Tc(p): creates a study, runs it and returns it. Study.tc is the table.

    p: one or several rewiring probabilities.
    sizes: edge lengths, ascending; "auto": as many as `target_error` requires.
    target_error: relative error that every Tc should reach. Without it, `graphs` (per size) and
        the dict `sampling` (keys of the configuration's table of that name) set the effort.
    folder: of the study; default "studies/tc-<dim>d". The same call in the same folder continues
        the study. A call with other p, sizes or graphs in that folder uses what is finished there
        and replaces the results in the folder; the Study of the first call keeps its own table.
        HeldError if the folder contains a study of another kind, name, seed or model.
    dim, rule, seed: see rewire(). device, threads, time_limit, progress: see Study.run().

    J = k_B = 1. Tc is where N^(1/2) <m^2> of neighbouring sizes crosses and U has its limit, by
    multi-histogram reweighting (Ferrenberg & Swendsen, Phys. Rev. Lett. 63, 1195 (1989)) and one
    fit over all sizes; with sampling={"method": "both"} (the default if target_error <= 1e-3) also
    by the tree condition (analysis/README.md). If a Tc fails a check, it is NaN; `status` and
    Study.summary["points"][..]["reasons"] say why. Raises Interrupted after `time_limit`.
    """
    return _run("tc", p, sizes, dim, folder, rule, seed, graphs, sampling,
                {"target_error": _error(target_error)},
                {"device": device, "threads": threads, "time_limit": time_limit,
                 "progress": progress})


@arguments.checks_names(measure="sampling={'measure': ..}", replicas="sampling={'replicas': ..}",
                        engine="sampling={'engine': ..}", schedule="sampling={'schedule': ..}")
def sweep(p: arguments.Reals, sizes: Sequence[int],
          temperature: arguments.Reals | Mapping[str, float] | None = None, *, dim: int = 2,
          target_error: float | None = None, folder: arguments.Path | None = None,
          rule: str = "rewire", seed: int = 1, graphs: int | Sequence[int] | None = None,
          sampling: dict[str, Any] | None = None, device: str | None = None,
          threads: int | None = None, time_limit: str | None = None,
          progress: bool | None = None) -> Study:
    """Thermal averages over several networks: creates a study, runs it and returns it.
    Study.curve(p, size) has the averages of one size at one p, with errors that include the spread
    of the networks.

    temperature: one, several, or {"from": 2.0, "to": 3.0, "count": 11}; None: around the
        transition.
    target_error: relative error that the energy and m^2 should reach at every temperature. Others:
        sampling={"target_observables": [..]}.
    folder: of the study; default "studies/sweep-<dim>d".
    The other arguments are those of tc().
    """
    given = temperature
    if given is not None:
        given = dict(given) if isinstance(given, Mapping) else arguments.reals("temperature", given)
    return _run("sweep", p, sizes, dim, folder, rule, seed, graphs, sampling,
                {"target_error": _error(target_error), "temperatures": given},
                {"device": device, "threads": threads, "time_limit": time_limit,
                 "progress": progress})
