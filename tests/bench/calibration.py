"""Calibration of error estimates: many seeds of small studies against long runs.

    calibration.py PROGRAM [--seeds 30] [--jobs N] [--settings WORD ..] [--json FILE]

Every setting is run with `--seeds` seeds, one thread each, N studies at a time (default: all
cores). The reference values are known much more precisely:

- Tc of `tc` studies: exact values, or those of the tree condition
  (experiments/results/tc-table.csv; p = 0.03 is interpolated by the local exponents).
- e, m^2, U, C and chi of `sweep` studies at given temperatures: one study of 40 times as many
  graphs (p = 0: Kaufman's exact e and C where KAUFMAN has them).

The table has, per setting and quantity: the number of seeds that gave a value, rms and mean of
z = (value - reference)/error, the shares of |z| below 1 and 2 (0.68 and 0.95 if z is normal), and
the scatter over the median error. The error of Tc includes the terms that the extrapolation over
sizes neglects, which are the same for every seed; the table therefore also has the scatter of Tc
over its statistical error. If errors are right, the rms of 30 z has an error of 0.13, the shares
0.09 and 0.04.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# name, dim, rule, p, sizes, graphs, further lines of [sampling], Tc, its error
TC = [
    ("2d p=0.1 8..16", 2, "rewire", 0.1, [8, 12, 16], 64, "", 2.784989, 5e-6),
    ("2d p=0.1 8..16 target 3e-3", 2, "rewire", 0.1, [8, 12, 16], 32, "target_error = 3e-3",
     2.784989, 5e-6),
    ("2d p=0.1 8..16 target", 2, "rewire", 0.1, [8, 12, 16], 32, "target_error = 8e-3", 2.784989,
     5e-6),
    ("2d p=0.1 8..16 few", 2, "rewire", 0.1, [8, 12, 16, 24], 8, "", 2.784989, 5e-6),
    ("2d p=0.1 16..32", 2, "rewire", 0.1, [16, 24, 32], 32, "", 2.784989, 5e-6),
    ("2d p=0.1 16..32 target", 2, "rewire", 0.1, [16, 24, 32], 32, "target_error = 4e-3", 2.784989,
     5e-6),
    ("2d p=0.1 16..32 SW target", 2, "rewire", 0.1, [16, 24, 32], 32,
     'target_error = 4e-3\ncluster = "swendsen-wang"', 2.784989, 5e-6),
    ("2d p=0.01 64..256 SW target", 2, "rewire", 0.01, [64, 128, 256], 16,
     'target_error = 4e-4\ncluster = "swendsen-wang"\nschedule = "4:1"\nmethod = "crossings"',
     2.434570, 5e-6),
    ("2d p=0.1 64..256 SW target", 2, "rewire", 0.1, [64, 128, 256], 16,
     'target_error = 4e-4\ncluster = "swendsen-wang"\nschedule = "8:1"\nmethod = "crossings"',
     2.784989, 5e-6),
    ("2d p=0.03 64..128", 2, "rewire", 0.03, [64, 96, 128], 32, "", 2.55808, 2e-5),
    ("2d p=0.03 64..128 target", 2, "rewire", 0.03, [64, 96, 128], 16,
     'target_error = 3e-4\nmethod = "crossings"', 2.55808, 2e-5),
    ("2d p=1 8..24 target", 2, "rewire", 1.0, [8, 12, 16, 24], 32, "target_error = 5e-3", 3.658705,
     3.3e-5),
    ("2d p=1 8..24", 2, "rewire", 1.0, [8, 12, 16, 24], 40, "", 3.658705, 3.3e-5),
    ("3d p=0.1 6..12", 3, "rewire", 0.1, [6, 8, 10, 12], 32, "", 4.865613, 8e-6),
    ("3d p=0.1 target", 3, "rewire", 0.1, [6, 8, 10, 12], 32, "target_error = 3e-3", 4.865613,
     8e-6),
    ("2d add p=0.1 12..24", 2, "add", 0.1, [12, 16, 24], 40, "", 3.218863, 1.7e-5),
    ("2d swap p=0.1 12..32", 2, "swap", 0.1, [12, 16, 24, 32], 32, "", 2.66835, 6e-5),
    ("2d p=0 8..32", 2, "rewire", 0.0, [8, 16, 32], 32, "", 2 / math.log(1 + math.sqrt(2)), 0),
    ("3d p=0 6..12", 3, "rewire", 0.0, [6, 8, 10, 12], 24, "", 1 / 0.221654626, 1e-7),
]
# name, dim, rule, p, size, graphs, further lines of [sampling], temperatures
SWEEP = [
    ("sweep 2d p=0.1 L=16", 2, "rewire", 0.1, 16, 32, "measure = 20", [2.5, 2.78, 3.1]),
    ("sweep 2d p=0.1 L=16 short", 2, "rewire", 0.1, 16, 24, "measure = 2", [2.5, 2.78, 3.1]),
    ("sweep 2d p=1 L=12", 2, "rewire", 1.0, 12, 24, "measure = 10", [3.4, 3.66, 4.0]),
    ("sweep 3d p=0.1 L=8", 3, "rewire", 0.1, 8, 24, "measure = 20", [4.6, 4.86, 5.2]),
    ("sweep 2d add p=0.1 L=12", 2, "add", 0.1, 12, 24, "measure = 10", [3.0, 3.2, 3.5]),
    ("sweep 2d swap p=0.3 L=12", 2, "swap", 0.3, 12, 16, "measure = 10", [2.6, 2.9, 3.2]),
    ("sweep 2d p=0 L=16", 2, "rewire", 0.0, 16, 12, "measure = 40", [2.0, 2.4, 3.0]),
    ("sweep 2d p=0.1 L=12 target", 2, "rewire", 0.1, 12, 16, "target_error = 1e-2",
     [2.5, 2.78, 3.1]),
]
OBSERVABLES = ("energy", "m2", "binder", "specific_heat", "susceptibility")
LONG = 40  # times as many graphs in the reference run
# Kaufman's exact e and C at L = 16
KAUFMAN = {2.0: (-1.7455306690, 0.725508768), 2.4: (-1.2550431980, 1.408170079),
           3.0: (-0.8176893679, 0.404332574)}


def study(seed, dim, rule, p, sizes, graphs, sampling, temperatures=None):
    lines = ["[study]", 'name = "calibration"', f"seed = {seed}", "[lattice]", f"dim = {dim}",
             f"sizes = {sizes}", f"p = [{p}]", f'rule = "{rule}"', f"graphs = {graphs}",
             "more_sizes = 0", "[sampling]", sampling]
    if "schedule" not in sampling:
        lines.append('schedule = "1:1"')
    if temperatures:
        lines.append(f"temperatures = {temperatures}")
    return "\n".join(lines + ["[run]", 'device = "cpu"', "threads = 1", ""])


def run(program, command, text):
    """Runs one study and returns its summary."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "s.toml"
        config.write_text(text, encoding="utf-8")
        done = subprocess.run([program, command, str(config), "--out", folder + "/out",
                               "--no-plots"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: status {done.returncode}: {done.stderr[-400:]}\n{text}")
        return json.loads((pathlib.Path(folder) / "out/summary.json").read_text(encoding="utf-8"))


def tc_of(summary):
    point = summary["points"][0]
    tc = point["tc"]
    return None if tc is None else (tc["value"], tc["total_error"], tc["error"])


def curves_of(summary):
    size = summary["points"][0]["sizes"][0]
    return {(name, k): (size[name]["value"][k], size[name]["error"][k])
            for name in OBSERVABLES for k in range(len(size["temperatures"]))}


def row(name, quantity, pairs, seeds, statistical=None):
    """A row of the table from `pairs` of (value, error, reference, error of the reference).
    `statistical`: the statistical errors alone, if the errors include more."""
    z = [(v - t) / math.hypot(e, te) for v, e, t, te in pairs]
    result = {"setting": name, "quantity": quantity, "numbers": len(z), "of": seeds}
    if len(z) > 1:
        deviations = [v - t for v, _, t, _ in pairs]
        result["rms_z"] = math.sqrt(sum(x * x for x in z) / len(z))
        result["mean_z"] = sum(z) / len(z)
        result["below_1"] = sum(abs(x) < 1 for x in z) / len(z)
        result["below_2"] = sum(abs(x) < 2 for x in z) / len(z)
        result["scatter"] = statistics.pstdev(deviations) / statistics.median(p[1] for p in pairs)
        result["median_error"] = statistics.median(p[1] for p in pairs)
        if statistical:
            mean = statistics.mean(p[0] for p in pairs)
            own = [(p[0] - mean) / e for p, e in zip(pairs, statistical)]
            result["statistical"] = math.sqrt(sum(x * x for x in own) / (len(own) - 1))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--settings", nargs="*", default=[])
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = lambda name: not options.settings or any(w in name for w in options.settings)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tcs, sweeps = [], []
        for name, dim, rule, p, sizes, graphs, sampling, truth, error in filter(
                lambda s: chosen(s[0]), TC):
            jobs = [pool.submit(run, options.program, "tc",
                                study(1000 + s, dim, rule, p, sizes, graphs, sampling))
                    for s in range(options.seeds)]
            tcs.append((name, truth, error, jobs))
        for name, dim, rule, p, size, graphs, sampling, temperatures in filter(
                lambda s: chosen(s[0]), SWEEP):
            plain = "measure = 20" if "target" in sampling or p > 0 else sampling
            long = pool.submit(run, options.program, "sweep",
                               study(1, dim, rule, p, [size], LONG * graphs, plain, temperatures))
            jobs = [pool.submit(run, options.program, "sweep",
                                study(2000 + s, dim, rule, p, [size], graphs, sampling,
                                      temperatures)) for s in range(options.seeds)]
            sweeps.append((name, p, temperatures, long, jobs))
        for name, truth, error, jobs in tcs:
            found = [tc_of(job.result()) for job in jobs]
            known = [f for f in found if f]
            rows.append(row(name, "Tc", [(*f[:2], truth, error) for f in known], len(found),
                            [f[2] for f in known]))
        for name, p, temperatures, long, jobs in sweeps:
            truths = curves_of(long.result())
            for k, t in enumerate(temperatures):
                if p == 0 and t in KAUFMAN:
                    truths["energy", k] = (KAUFMAN[t][0], 0)
                    truths["specific_heat", k] = (KAUFMAN[t][1], 0)
            found = [curves_of(job.result()) for job in jobs]
            for observable in OBSERVABLES:
                pairs = [(*f[observable, k], *truths[observable, k])
                         for f in found for k in range(len(temperatures))]
                rows.append(row(name, observable, pairs, len(pairs)))
    print("| setting | quantity | numbers | rms z | mean z | below 1 | below 2 | scatter/error | "
          "scatter, statistical | median error |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        text = "| {setting} | {quantity} | {numbers}/{of} |".format(**r)
        if "rms_z" in r:
            text += (" {rms_z:.2f} | {mean_z:+.2f} | {below_1:.2f} | {below_2:.2f} | "
                     "{scatter:.2f} | {own} | {median_error:.1e} |").format(
                         own=f"{r['statistical']:.2f}" if "statistical" in r else "-", **r)
        else:
            text += 7 * " - |"
        print(text)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
