"""Runs of `rewise reproduce` that time cluster updates: the kinds speed, labelling and few-cluster,
for tables and figures of Komura & Okabe (2012, 2013) and Weigel (2011).

The hidden command `rewise time-updates REQUEST` times the updates. This module computes medians,
errors and ratios. REQUEST is a JSON object:

    extents, p, rule, graph_seed      the lattice
    engine, q, beta, replicas, seed   the system; q = 2 is the Ising model
    device, threads                   where the spins are equilibrated; device -1 is the CPU
    equilibrate                       number of Swendsen-Wang updates after an ordered start
    timings                           a list of timings, which all begin with the same state:
                                      device, cluster, wolff_method or label_method, tile, ranks;
                                      least and most updates, a limit in seconds, warm-up updates,
                                      repeats of the same updates

The reply has a list of repeats for each timing. A repeat has columns of equal length, with one
number per update: cluster, measure, activate, label, merge and flip are seconds (of the update, of
the measurement after it, and of the steps of the update); sites is the number of sites that were
flipped (Wolff) or visited; passes is the number of passes of a labelling by relaxation.
"""

import json
import math
import statistics

from . import published
from .errors import UsageError
from .reproduce_curves import (TIMING_NOTE, Timing, Value, add_metrics, add_point, divide, finished,
                               jackknife, mean_and_error, new_set, number_text, quotient)

TILED = ("+sew", "+relax")  # suffixes of labelling methods with tiles


def timing_of(repeats):
    """Median of the repeats, its error from the median absolute deviation, and their range."""
    middle = statistics.median(repeats)
    error = math.nan
    if len(repeats) > 1:
        # The formula of median_and_error() in analysis/series/decorrelation.cpp.
        deviation = statistics.median(abs(x - middle) for x in repeats)
        error = 1.4826 * 1.2533 * deviation / math.sqrt(len(repeats))
    return Timing(middle, error, min(repeats), max(repeats))


def device_index(device):
    """N of "cuda:N"; -1 for the CPU."""
    return -1 if device == "cpu" else int(device.partition(":")[2])


def request(run, size, seed, beta, timings, **how):
    """A REQUEST for one size. `how` overrides entries."""
    entries = {"extents": [size] * run["dim"], "p": run["p"][0], "rule": run["rule"],
               "graph_seed": 1, "engine": "bytespin", "q": 2, "beta": beta, "replicas": 1,
               "seed": seed, "threads": 1, "equilibrate": run["equilibrate"], "timings": timings}
    return ["time-updates", json.dumps(entries | how)]


def summed(repeat, names):
    """The sum of these columns for each update."""
    return [sum(parts) for parts in zip(*(repeat[name] for name in names))]


# --- labelling and few-cluster

def critical_beta(dim, q):
    """beta_c of the Potts model: for q = 2 twice that of the Ising model, since the bond
    probabilities are then equal."""
    if dim == 2:
        return published.square_potts_beta_c(q)
    if dim == 3 and q == 2:
        return 2 * published.BETA_C[3][0]
    raise UsageError(f"beta_c is not known for dim = {dim}, q = {q}")


def system(run, q, ratio):
    """The entries of a REQUEST for q states at beta / beta_c = ratio."""
    beta = ratio * critical_beta(run["dim"], q)
    return {"q": q, "beta": beta / 2 if q == 2 else beta}


def timing_request(run, device, cluster, **how):
    """An entry of `timings`: at most run["measure"] updates, stopped after 0.3 s."""
    core = device < 0
    return {"device": device, "cluster": cluster, "least": 2 if core else 3,
            "most": run["measure"], "seconds": 0.3, "warm": 1 if core else 3} | how


def update_times(repeat, sites):
    """Timings of an update and its steps in nanoseconds per site, and the mean number of passes."""
    columns = {"total": ["cluster"], "measured": ["cluster", "measure"], "activate": ["activate"],
               "label": ["label"], "merge": ["merge"], "flip": ["flip"],
               "identify": ["label", "merge"]}
    times = {name: timing_of([1e9 / sites * x for x in summed(repeat, parts)])
             for name, parts in columns.items()}
    return times | {"passes": mean_and_error(repeat["passes"])}


def time_per_flipped_site(repeat):
    """Nanoseconds per flipped site. Updates flip different numbers of sites. Therefore the series
    is cut into eight parts, each with the sum of seconds over the sum of sites."""
    updates = len(repeat["cluster"])
    stretches = min(updates, 8)
    ends = [k * updates // stretches for k in range(stretches + 1)]
    return timing_of([1e9 * sum(repeat["cluster"][a:b]) / sum(repeat["sites"][a:b])
                      for a, b in zip(ends, ends[1:])])


def labelling_keys(size, q, ratio, method, tile, ranks):
    keys = {"size": str(size), "q": str(q), "ratio": number_text(ratio), "method": method,
            "tile": str(tile or "own")}
    return keys | ({"ranks": str(ranks)} if ranks else {})


def labelling(run, runner):
    """Times Swendsen-Wang updates of the q-state Potts model on the device, for all combinations of
    size, q, ratio beta / beta_c, method, tile and number of ranks. For comparison, times the
    default method on one core for edges up to run["core"].

    Table "times" has run["axis"] as its abscissa. Its columns are nanoseconds per spin of an update
    (total), of its steps (activate, label, merge, flip; identify = label + merge), of an update
    with its measurement (measured), and of an update on one core (core); then
    speedup = core / total; passes; tiles_across = L / tile. If there are several tiles, table
    "best_tile" gives for each size the tile edge with the smallest `identify`. The metrics are the
    same numbers. With fit_from they include passes_exponent, from a fit of
    passes ~ (L / tile)^exponent for L / tile >= fit_from.

    Ranks are threads of one process, each with its subdomain of the lattice and its core or CUDA
    device. With fewer devices than ranks, several ranks use the same device."""
    device = device_index(runner.device)
    note = "speedup: time on one CPU core of this machine / time on the CUDA device" \
        if device >= 0 else \
        "no CUDA device: the methods ran on one core; speedup: time of the default method / theirs"
    data = new_set(runner.version, "labelling", runner.about(run, engine="bytespin"),
                   [TIMING_NOTE, note])
    settings = [(method, tile, ranks) for method in run["methods"] or ["fast"]
                for tile in (run["tiles"] if method.endswith(TILED) else [0])
                for ranks in run["ranks"] or [0]]
    for size in run["sizes"]:
        for q in run["q"]:
            for ratio in run["ratio"]:
                timings = [timing_request(run, device, "swendsen-wang", label_method=method,
                                          tile=tile, ranks=max(ranks, 1))
                           for method, tile, ranks in settings]
                if size <= run["core"]:
                    timings.append(timing_request(run, -1, "swendsen-wang"))
                replies = runner.call_json(
                    f"{run['name']}-L{size}-q{q}-ratio{number_text(ratio)}",
                    request(run, size, run["seed"], timings=timings, device=device,
                            threads=runner.threads, **system(run, q, ratio)))
                times = [update_times(reply[0], size ** run["dim"]) for reply in replies]
                core = times.pop()["total"] if size <= run["core"] else Timing(math.nan)
                for (method, tile, ranks), one in zip(settings, times):
                    add_labelling(data, run, (size, q, ratio, method, tile, ranks), one, core)
    if len(run["tiles"]) > 1:
        add_best_tiles(data, run, settings)
    if run["fit_from"] is not None:
        for method in run["methods"]:
            add_passes_law(data, run, method)
    return finished(data, runner.folder / run["name"])


def add_labelling(data, run, setting, times, core):
    """Adds a point to "times" and its row of metrics."""
    size, _, ratio, _, tile, ranks = setting
    one = Timing(1, 0, 1, 1)
    columns = {name: times[name] for name in ("total", "measured", "activate", "label", "merge",
                                              "flip", "identify")}
    columns |= {"core": core, "speedup": quotient(core, times["total"]),
                "flips_per_ns": quotient(one, times["total"]),
                "flips_per_ns_measured": quotient(one, times["measured"]),
                "passes": times["passes"]}
    keys = labelling_keys(*setting)
    axis = {"size": size, "ratio": ratio, "tile": tile, "ranks": ranks}[run["axis"]]
    across = size / tile if tile else math.nan
    add_point(data, "times", {key: value for key, value in keys.items() if key != run["axis"]},
              {run["axis"]: axis, "tiles_across": across} | columns)
    add_metrics(data, keys, columns)


def add_best_tiles(data, run, settings):
    """Adds the best tile for every method with tiles and every size."""
    for method in dict.fromkeys(method for method, tile, _ in settings if tile):
        for size in run["sizes"]:
            rows = [row for row in data["metrics"] if row["keys"]["method"] == method
                    and row["keys"]["size"] == str(size) and "identify" in row["values"]]
            best = min(rows, key=lambda row: row["values"]["identify"]["value"])
            tile = int(best["keys"]["tile"])
            add_point(data, "best_tile", {"method": method}, {
                "size": size, "tile": tile, "identify": best["values"]["identify"]["value"]})
            add_metrics(data, {"method": method, "size": str(size), "tile": "best"},
                        {"best_tile": tile})


def slope(points):
    """The slope of y against x by least squares; NaN if x does not vary."""
    if len({x for x, _ in points}) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*points)).slope


def add_passes_law(data, run, method):
    """Fits ln passes against ln(L / tile). For one size, all tile edges label the same
    configurations, so their passes are correlated. The error therefore comes from a jackknife over
    sizes."""
    by_size = {}
    for row in data["metrics"]:
        keys = row["keys"]
        if keys["method"] != method or not keys["tile"].isdigit() or "passes" not in row["values"]:
            continue
        across, passes = int(keys["size"]) / int(keys["tile"]), row["values"]["passes"]["value"]
        if across >= run["fit_from"] and passes > 0:
            by_size.setdefault(keys["size"], []).append((math.log(across), math.log(passes)))
    exponent = slope([point for points in by_size.values() for point in points])
    without = [slope([point for other, points in by_size.items() if other != size
                      for point in points]) for size in by_size]
    n = len(without)
    error = math.sqrt((n - 1) / n * sum((x - exponent) ** 2 for x in without)) if n > 1 else \
        math.nan
    add_metrics(data, {"method": method, "tile": "all"},
                {"passes_exponent": Value(exponent, error)})


def few_cluster(run, runner):
    """Nanoseconds per flipped site against size, for few-cluster updates on the device (with the
    best tile) and Wolff updates on one core, and their ratio."""
    device = device_index(runner.device)
    data = new_set(runner.version, "few-cluster", runner.about(run, engine="bytespin"),
                   [TIMING_NOTE])
    for size in run["sizes"]:
        tiles = [tile for tile in run["tiles"] if tile <= size]
        timings = [timing_request(run, -1, "wolff")]
        timings += [timing_request(run, device, "few-cluster", tile=tile) for tile in tiles]
        replies = runner.call_json(f"{run['name']}-L{size}", request(
            run, size, run["seed"], timings=timings, device=device, threads=runner.threads,
            **system(run, run["q"][0], run["ratio"][0])))
        wolff, *few = [time_per_flipped_site(reply[0]) for reply in replies]
        best, tile = min(zip(few, tiles), default=(Timing(math.inf), 0),
                         key=lambda pair: pair[0].value)
        columns = {"core": wolff, "few_cluster": best, "speedup": quotient(wolff, best)}
        add_point(data, "few-cluster", {}, {"size": size} | columns | {"tile": tile})
        add_metrics(data, {"size": str(size)}, columns | {"tile": tile})
    return finished(data, runner.folder / run["name"])


# --- speed

STRETCHES = 8  # parts of a series of updates; clusters are correlated in time


def medians(repeats, names):
    """For each update, the median over repeats of the sum of these columns."""
    return [statistics.median(values) for values in zip(*(summed(repeat, names)
                                                          for repeat in repeats))]


def stretches(series, updates):
    """Means of STRETCHES parts of the first `updates`. With enough updates, the first one is left
    out as a warm-up."""
    skip = 1 if updates > STRETCHES else 0
    length = (updates - skip) // STRETCHES
    return [statistics.fmean(series[skip + k * length:skip + (k + 1) * length])
            for k in range(STRETCHES)]


def mean_over_stretches(series):
    return mean_and_error(stretches(series, len(series)))


def ratio_of(a, b):
    """mean(a) / mean(b) over the updates that both series have. The error is from a jackknife over
    STRETCHES parts."""
    updates = min(len(a), len(b))
    return jackknife(list(zip(stretches(a, updates), stretches(b, updates))), divide)


def product(a, b):
    return Value(a.value * b.value, math.hypot(a.error * b.value, a.value * b.error))


class UpdateTimes:
    """Times of Wolff updates on one side of the comparison, in microseconds per replica."""

    def __init__(self, repeats, replicas, sites):
        self.repeats, self.unit = repeats, 1e6 / replicas
        self.fraction = [x / replicas / sites for x in repeats[0]["sites"]]  # mean cluster over N
        self.cluster_times = self.series(["cluster"])

    def series(self, names):
        return [self.unit * x for x in medians(self.repeats, names)]

    def timing(self, names, value_of=mean_over_stretches):
        """Returns value_of(medians over the repeats) as a Timing. Its low and high are the smallest
        and the largest mean of a repeat, scaled as the mean of the medians is scaled to the
        value."""
        series = self.series(names)
        value = value_of(series)
        means = [self.unit * statistics.fmean(summed(repeat, names)) for repeat in self.repeats]
        unit = divide(value.value, statistics.fmean(series))
        return Timing(*value, min(value.value, min(means) * unit),
                      max(value.value, max(means) * unit))


UPDATE, MEASURED_UPDATE = ["cluster"], ["cluster", "measure"]


def speed_columns(core, fast, same_moves, with_hybrid):
    """The times of both sides and their ratios. If both sides make the same updates, but the core
    made fewer of them, its time per flipped site is multiplied by the mean cluster of the longer
    series."""
    none = Timing(math.nan)
    if fast is None:
        return {"core_us": core.timing(UPDATE), "core_us_measured": core.timing(MEASURED_UPDATE),
                "fast_us": none, "fast_us_measured": none, "acceleration": none,
                "acceleration_measured": none,
                "cluster_fraction": exact_range(mean_over_stretches(core.fraction)),
                "hybrid_share": none}
    longer = same_moves and len(fast.fraction) > len(core.fraction)
    fraction = mean_over_stretches((fast if longer else core).fraction)

    def core_value(series):
        return product(ratio_of(series, core.fraction), fraction) if longer else \
            mean_over_stretches(series)

    columns = {"core_us": core.timing(UPDATE, core_value),
               "core_us_measured": core.timing(MEASURED_UPDATE, core_value),
               "fast_us": fast.timing(UPDATE), "fast_us_measured": fast.timing(MEASURED_UPDATE)}
    columns |= {"acceleration": quotient(columns["core_us"], columns["fast_us"]),
                "acceleration_measured": quotient(columns["core_us_measured"],
                                                  columns["fast_us_measured"]),
                "cluster_fraction": exact_range(fraction)}
    if with_hybrid:
        hybrid = [min(pair) for pair in zip(core.cluster_times, fast.cluster_times)]
        columns["hybrid_share"] = exact_range(ratio_of(hybrid, fast.cluster_times))
    return columns


def exact_range(value):
    """A Timing for a number that is the same in all repeats: its range is one point."""
    return Timing(*value, value.value, value.value)


def speed(run, runner):
    """Microseconds per Wolff update and replica, without and with a measurement. Compares one
    replica on one core (bytespin engine) with the accelerated side. This is the bytespin engine on
    CUDA with each of run["methods"] (if there are none, with the default method). Without a device,
    it is the multispin engine with 32 replicas on one core. Also gives the ratios and the mean
    cluster over N. Table "speed" has the temperature as its abscissa, table "by_size" the size.

    On CUDA, both sides grow the same clusters. With methods there is also hybrid_share: the mean of
    the shorter of both times of each update, over the mean time on the device. It bounds the gain
    from choosing the faster side for each cluster.

    Each side makes run["measure"] updates, or as many as fit into half a second (at least eight).
    This is repeated three times."""
    device, named = device_index(runner.device), bool(run["methods"])
    gpu = device >= 0
    engine = "bytespin" if gpu else "multispin"
    note = "accelerated: the bytespin engine on CUDA" if gpu else \
        "no CUDA device: its methods were not timed" if named else \
        "accelerated: 32 replicas per word on one core, because there is no CUDA device"
    data = new_set(runner.version, "speed",
                   runner.about(run, engine=engine, threads=1, replicas=1 if gpu else 32),
                   [TIMING_NOTE, note])

    def wolff(timed_device, most, **how):
        return {"device": timed_device, "cluster": "wolff", "least": min(STRETCHES, most),
                "most": most, "seconds": 0.5, "repeats": 3} | how

    for size in run["sizes"]:
        sites = size ** run["dim"]
        for t in run["temperature"]:
            name = f"{run['name']}-L{size}-T{number_text(t)}"
            seed = runner.derived_seed(run["seed"], f"graph 0 T {number_text(t)}")
            timings = [wolff(-1, run["measure"])]
            if gpu:
                timings += [wolff(device, run["measure"], **method) for method in
                            [{"wolff_method": word} for word in run["methods"]] or [{}]]
            core, *fast = runner.call_json(name, request(
                run, size, seed, 1 / t, timings, device=device))
            if not gpu and not named:
                fast = runner.call_json(name + "-word", request(
                    run, size, seed, 1 / t, [wolff(-1, max(run["measure"] // 8, STRETCHES))],
                    engine="multispin", replicas=32, device=-1))
            core = UpdateTimes(core, 1, sites)
            fast = [UpdateTimes(one, 1 if gpu else 32, sites) for one in fast]
            for method, one in zip(run["methods"] or [""], fast or [None] * len(run["methods"])):
                columns = speed_columns(core, one, gpu, named)
                keys = {"method": method} if named else {}
                size_key, t_key = {"size": str(size)}, {"temperature": number_text(t)}
                add_point(data, "speed", size_key | keys, {"temperature": t} | columns)
                add_point(data, "by_size", t_key | keys, {"size": size} | columns)
                add_metrics(data, size_key | keys | t_key, columns)
    return finished(data, runner.folder / run["name"])


KINDS = {"labelling": labelling, "few-cluster": few_cluster, "speed": speed}
