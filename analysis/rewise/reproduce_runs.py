"""Runs of `rewise reproduce`: calls commands of the program and converts their output. There is one
function per kind of run. It takes the parameters of the run, writes the files of its set of curves,
and returns the set and its text.

Runs about the time of cluster updates are in reproduce_times.py.
"""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time

from .command import PROGRAM, options
from .errors import Error, Interrupted
from .files import write_atomically
from .reproduce_curves import (Value, add_metrics, add_point, finished, jackknife, mean_and_error,
                               new_set, number_text)


class CommandFailed(Error):
    """A command of the program failed. It has already printed its error message."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class CommandRunner:
    """Runs commands of the program one after the other and stores their output. A command that has
    finished before is not run again."""

    def __init__(self, program, folder, device, version, threads=0, limit=None):
        # For the Python package, the program is this interpreter.
        packaged = os.path.realpath(sys.executable) == os.path.realpath(program)
        self.words = PROGRAM if packaged else [program]
        self.folder, self.device, self.version, self.threads = folder, device, version, threads
        self.end = math.inf if limit is None else time.monotonic() + limit
        self.title = ""
        self._child, self._signal = None, None

    def install_signal_handlers(self):
        """Installs signal handlers: SIGINT, SIGTERM and SIGHUP stop the running command, and call()
        raises Interrupted."""
        def stop(number, _):
            self._signal = self._signal or number
            if self._child is not None:
                self._child.send_signal(signal.SIGTERM)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # as the program started it

    def check_stop(self):
        """Raises Interrupted after a signal, or after the time limit."""
        if self._signal is None and time.monotonic() < self.end:
            return
        why = "the time limit" if self._signal is None else signal.Signals(self._signal).name
        raise Interrupted(f"stopped by {why}; finished runs are in {self.folder}; run the same "
                          "command again to continue")

    def about(self, run, **other):
        """The settings of the run, for `about` in curves.json."""
        return {"lattice": {"dim": run["dim"], "extents": [run["sizes"][0]] * run["dim"],
                            "p": run["p"][0], "rule": run["rule"], "graph_seed": 1,
                            "graphs": run["graphs"]},
                "model": "ising", "q": 2, "engine": run["engine"], "device": self.device,
                "threads": self.threads, "replicas": run["replicas"], "seed": run["seed"]} | other

    @staticmethod
    def derived_seed(seed, purpose):
        """As derived_seed() in src/study/study.cpp."""
        import xxhash

        return xxhash.xxh3_64_intdigest(f"{seed}|{purpose}".encode()) >> 1

    def options(self):
        """Options that do not affect results."""
        return options(device=self.device, threads=self.threads)

    def call_json(self, name, command, words=None):
        """call() of a command that prints JSON."""
        return json.loads(self.call(name, command, words))

    def call(self, name, command, words=None, written_file=None):
        """Runs a command of the program and returns its output, which is stored in runs/NAME.json.
        The stored output is used again while `command` (the words that determine the result) and
        the kind of device are the same.

        words: the command line, if it differs from `command`.
        written_file: a file that the command writes and that must not have changed since."""
        stored = self.folder / "runs" / f"{name}.json"
        command = [*command, "cpu" if self.device == "cpu" else "cuda"]
        output = read_stored(stored, command, written_file)
        if output is not None:
            return output
        self.check_stop()
        print(f"{self.title}: {name}", file=sys.stderr, flush=True)
        output = self._run(words or command[:-1])
        stored.parent.mkdir(parents=True, exist_ok=True)
        write_stored(stored, command, output, written_file)
        return output

    def _run(self, words):
        self._child = subprocess.Popen([*self.words, *words], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, text=True)
        if self._signal is not None:  # a signal arrived after check_stop()
            self._child.send_signal(signal.SIGTERM)
        try:
            left = None if math.isinf(self.end) else max(self.end - time.monotonic(), 0)
            output, _ = self._child.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            self._child.send_signal(signal.SIGTERM)
            output, _ = self._child.communicate()
        status = self._child.returncode
        self._child = None
        if status == 0:
            return output
        self.check_stop()
        raise CommandFailed(status if status > 0 else Error.status,
                            f"{self.title}: `rewise {' '.join(words)}` ended with "
                            + (f"status {status}" if status > 0 else f"signal {-status}"))


STORED_VERSION = 7  # Version of the content of runs/NAME.json.


def digest_of(entry):
    return hashlib.sha256(json.dumps(entry).encode()).hexdigest()


def digest_of_file(path):
    return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()


def write_stored(path, command, output, written_file):
    entry = {"version": STORED_VERSION, "command": command, "made": digest_of_file(written_file),
             "output": output}
    text = json.dumps(entry | {"digest": digest_of(entry)}, indent=1)
    write_atomically(path, (text + "\n").encode())


def read_stored(path, command, written_file):
    """The stored output of the command. None if it is missing or damaged, or if the command or the
    file that it wrote has changed.
    """
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        digest = entry.pop("digest")
        good = digest == digest_of(entry) and entry["version"] == STORED_VERSION and \
            entry["command"] == command and entry["made"] == digest_of_file(written_file)
        return entry["output"] if good else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def listed(values):
    """Values as one argument of the command line."""
    return ",".join(value if isinstance(value, str) else number_text(value) for value in values)


def graph_options(run, size, p):
    return options(dim=run["dim"], size=size, p=number_text(p), rule=run["rule"])


# --- equilibrate, decorrelate, clusters

OWN_OPTIONS = {"equilibrate": ("steps", "points", "timings"),
               "decorrelate": ("prepare", "equilibrate", "steps", "points", "origins"),
               "clusters": ("prepare", "equilibrate", "measure")}


def curves(run, runner):
    """Runs the command of the same name, which writes the set of curves and prints its metrics."""
    kind, folder = run["kind"], runner.folder / run["name"]
    command = [kind, *graph_options(run, run["sizes"][0], run["p"][0]), *options(
        graphs=run["graphs"], temperature=listed(run["temperature"]),
        schedule=listed(run["schedules"]), engine=run["engine"], replicas=run["replicas"],
        seed=run["seed"], **{name: run[name] for name in OWN_OPTIONS[kind]})]
    if kind == "clusters":
        command += options(fit=f"{number_text(run['fit_from'] or 10)}:{number_text(run['fit_to'])}")
    if run["linear"] and kind != "clusters":
        command.append("--linear")
    words = [*command, "--overwrite", "--no-plots", *runner.options(), "--out", str(folder)]
    text = runner.call(run["name"], command, words, folder / "curves.json")
    data = json.loads((folder / "curves.json").read_text(encoding="utf-8"))
    return data, text


# --- moments

OBSERVABLES = ("energy", "abs_magnetisation", "specific_heat", "susceptibility", "binder")


def split_schedule(text):
    """("metropolis", "swendsen-wang", "1:1") of "swendsen-wang/1:1"."""
    *words, schedule = text.split("/")
    local = [word for word in words if word in ("metropolis", "glauber")]
    cluster = [word for word in words if word not in local]
    return (local or ["metropolis"])[0], (cluster or ["wolff"])[0], schedule


def estimate(row, name):
    """The value at a temperature of `rewise run --json`, also if its checks failed, which is common
    for short runs."""
    return Value(*(math.nan if part is None else part for part in
                   ((row if row["candidate"] is None else row["candidate"])[name][key]
                    for key in ("value", "error"))))


def over_graphs(rows, name):
    """Mean over graphs; for a single graph, its own value and error. Binder's U is
    1 - [m^4] / 3 [m^2]^2 with means over graphs."""
    if len(rows) == 1:
        return estimate(rows[0], name)
    if name != "binder":
        return mean_and_error([estimate(row, name).value for row in rows])
    return jackknife([(estimate(row, "m2").value, estimate(row, "m4").value) for row in rows],
                     lambda m2, m4: 1 - m4 / (3 * m2 * m2))


def peak(temperatures, values):
    """The temperature with the largest value; error: half of the spacing."""
    best = max(range(len(values)), key=lambda k: values[k].value)
    other = best + 1 if best + 1 < len(temperatures) else best - 1
    return Value(temperatures[best], abs(temperatures[other] - temperatures[best]) / 2)


def crossing(temperatures, small, large):
    """The temperature where U of the larger size falls below that of the smaller size, by linear
    interpolation. The steepest crossing if there are several."""
    at = height = Value(math.nan, math.nan)
    steepest = 0
    for k, (t, following) in enumerate(zip(temperatures, temperatures[1:])):
        before = large[k].value - small[k].value
        after = large[k + 1].value - small[k + 1].value
        if not before > 0 >= after or before - after < steepest:
            continue
        steepest = before - after
        width, share = following - t, before / (before - after)
        noise = math.hypot(small[k].error, large[k].error)
        fall = small[k].value - small[k + 1].value
        at = Value(t + share * width, noise * width / (before - after))
        height = Value(small[k].value - share * fall, math.hypot(noise, fall * at.error / width))
    return {"crossing_temperature": at, "crossing_binder": height}


def moments(run, runner):
    """Table "moments": a curve per size and p, averages against temperature. Errors are over graphs
    if there are several. Metrics: the temperatures where C and chi are largest, and for each p
    those where U of consecutive sizes cross (crossing=largest: of the two largest)."""
    temperatures = run["temperature"]
    local, cluster, schedule = split_schedule(run["schedules"][0])
    data = new_set(runner.version, "moments", runner.about(run))
    for p in run["p"]:
        smaller = None
        for size in run["sizes"]:
            extents = "x".join([str(size)] * run["dim"])
            graphs = []
            for graph in range(run["graphs"]):
                seed = runner.derived_seed(run["seed"], f"{extents} {number_text(p)} {graph}")
                command = ["run", *graph_options(run, size, p), *options(
                    graph_seed=1 + graph, temperature=listed(temperatures), schedule=schedule,
                    local=local, cluster=cluster, engine=run["engine"], replicas=run["replicas"],
                    equilibrate=run["equilibrate"], measure=run["measure"], seed=seed), "--json"]
                name = f"{run['name']}-L{size}-p{number_text(p)}-graph{graph}"
                found = runner.call_json(name, command, [*command, *runner.options()])
                data["about"]["threads"] = found["threads"]
                graphs.append(found["results"])
            values = {name: [over_graphs(rows, name) for rows in zip(*graphs)]
                      for name in OBSERVABLES}
            keys = {"size": str(size), "p": number_text(p)}
            for k, t in enumerate(temperatures):
                add_point(data, "moments", keys,
                          {"temperature": t} | {name: values[name][k] for name in OBSERVABLES})
            add_metrics(data, keys, {
                "heat_peak_temperature": peak(temperatures, values["specific_heat"]),
                "chi_peak_temperature": peak(temperatures, values["susceptibility"])})
            if smaller is not None:
                pair = "largest" if size == run["sizes"][-1] else str(size)
                add_metrics(data, {"crossing": pair, "p": number_text(p)},
                            crossing(temperatures, smaller, values["binder"]))
            smaller = values["binder"]
    return finished(data, runner.folder / run["name"])


# --- tc

def study_of(run):
    """The text of a study file."""
    lines = ["[study]", f'name = "{run["name"]}"', f"seed = {run['seed']}", "[lattice]",
             f"dim = {run['dim']}", f"sizes = {run['sizes']}",
             f"p = [{', '.join(map(number_text, run['p']))}]", f'rule = "{run["rule"]}"',
             f"graphs = {run['graphs']}"]
    if run["schedules"]:
        _, cluster, schedule = split_schedule(run["schedules"][0])
        lines += ["[sampling]", f'schedule = "{schedule}"', f'cluster = "{cluster}"']
    return "\n".join(lines) + "\n"


def total_of(entry):
    """Value and total error of an entry of summary.json; NaN if it is null or the error is unknown.
    """
    error = entry and entry.get("total_error", entry["error"])
    return Value(math.nan) if error is None else Value(entry["value"], error)


def tc(run, runner):
    """Table "shift": p, shift; table "local": p, exponent. Metrics: tc and shift of every p, and
    one row with the exponent of the power law through all of them. The study is kept in tc/NAME and
    continues from there."""
    file = runner.folder / "tc" / f"{run['name']}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    study = study_of(run)
    write_atomically(file, study.encode())
    summary = runner.call_json(run["name"], ["tc", study], [
        "tc", str(file), "--json", "--no-plots", *runner.options(), "--out",
        str(file.with_suffix(""))])

    data = new_set(runner.version, "tc", runner.about(run))
    shifts = []
    for point in summary["points"]:
        shift = total_of(point["shift"])
        add_metrics(data, {"p": number_text(point["p"])}, {
            "tc": total_of(point["tc"] or point["candidate"]), "shift": shift})
        data["notes"] += point["warnings"]
        if not math.isnan(shift.value):
            shifts.append(point["p"])
            add_point(data, "shift", {}, {"p": point["p"], "shift": shift})
    local = [(law["p"], total_of(law["exponent"])) for law in summary["local_exponents"]]
    for p, exponent in local:
        add_point(data, "local", {}, {"p": p, "exponent": exponent})
    laws = [law for law in summary["power_laws"]
            if shifts and (law["p_first"], law["p_last"]) == (min(shifts), max(shifts))]
    exponents = [exponent for _, exponent in local] or [Value(math.nan)]
    add_metrics(data, {"p": "all"}, {
        "exponent": total_of(laws[0]["exponent"]) if laws else Value(math.nan),
        "fit_q": Value(laws[0]["q"] if laws and laws[0]["q"] is not None else math.nan, 0),
        "exponent_lowest_p": exponents[0], "exponent_highest_p": exponents[-1]})
    return finished(data, runner.folder / run["name"])


KINDS = {"equilibrate": curves, "decorrelate": curves, "clusters": curves, "moments": moments,
         "tc": tc}
