"""Tc by the tree condition, compared with crossings, exact values and its scatter.

    tree_settings.py PROGRAM both [--device cuda] [--error 1e-4] [--out DIR] [--settings WORD ..]
    tree_settings.py PROGRAM exact [--device ..] [--out DIR] [--settings WORD ..]
    tree_settings.py PROGRAM scatter [--seeds 30] [--jobs N] [--error 1e-3]

both     22 settings (d, p, rule) by crossings and by the tree condition. Prints their difference z
         in standard errors, the mean of z^2 (should be 0.7 to 1.4) and the largest |z| (at most 4).
         About two minutes per setting on one H200, nearly all of them for the crossings.
exact    32 values, to 1e-5 of T or better, that are known without simulation. One dimension: rule
         add, tanh(1/T) (1/2 + p + sqrt((1/2 - p)^2 + 4 p)) = 1; rule rewire,
         tanh(1/T) (1 + p - p^2/4) = 1. Two to four dimensions: the series of the plain lattice
         (analysis/rewise/plain_lattice.py), as tabulated in experiments/results/tc-table.csv.
scatter  Many seeds of one small setting, one thread each on the CPU. Prints the scatter around the
         mean over the quoted error (should be 0.8 to 1.25).
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# dim, rule, p, sizes, graphs
BOTH = [(2, "rewire", p, s, 64) for p, s in (
    (0.001, [256, 512, 1024]), (0.003, [128, 256, 512]), (0.01, [64, 128, 256, 512]),
    (0.03, [64, 128, 256, 512]), (0.1, [32, 64, 128, 256]), (0.3, [32, 64, 128, 256]),
    (1.0, [32, 64, 128, 256]))]
BOTH += [(2, "add", p, s, 64) for p, s in (
    (0.003, [128, 256, 512]), (0.01, [64, 128, 256, 512]), (0.1, [32, 64, 128, 256]),
    (0.3, [32, 64, 128, 256]), (1.0, [32, 64, 128, 256]))]
BOTH += [(3, "rewire", p, s, 64) for p, s in (
    (0.01, [32, 48, 64, 96]), (0.03, [16, 24, 32, 48, 64]), (0.1, [16, 24, 32, 48, 64]),
    (0.3, [16, 24, 32, 48]), (1.0, [16, 24, 32, 48]))]
BOTH += [(3, "add", p, s, 64) for p, s in (
    (0.03, [16, 24, 32, 48, 64]), (0.1, [16, 24, 32, 48, 64]), (0.3, [16, 24, 32, 48]))]
BOTH += [(1, "rewire", 0.3, [1024, 2048, 4096, 8192], 64),
         (1, "add", 0.3, [1024, 2048, 4096, 8192], 64)]


def study(seed, dim, rule, p, method, error, device, sizes='"auto"', graphs=32, threads=0):
    return "\n".join([
        "[study]", 'name = "tree-settings"', f"seed = {seed}", "[lattice]", f"dim = {dim}",
        f"sizes = {sizes}", f"p = {[p] if not isinstance(p, list) else p}", f'rule = "{rule}"',
        f"graphs = {graphs}", "[sampling]", f'method = "{method}"', f"target_error = {error}",
        "[run]", f'device = "{device}"', f"threads = {threads}", ""])


def run(program, text, folder):
    """Runs one study, or continues it if `folder` has one, and returns its summary."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "s.toml"
    config.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "tc", str(config), "--out", str(folder / "out"), "--no-plots"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tc: status {done.returncode}: {done.stderr[-400:]}\n{text}")
    return json.loads((folder / "out/summary.json").read_text(encoding="utf-8"))


def error_of(entry):
    return entry["total_error"] if "total_error" in entry else entry["error"]


def both(options):
    print("| d | rule | p | crossings | tree | z | seconds |\n|---|---|---|---|---|---|---|")
    scores = []
    for dim, rule, p, sizes, graphs in BOTH:
        name = f"{dim}d-{rule}-p{p:g}"
        if options.settings and not any(word in name for word in options.settings):
            continue
        summary = run(options.program, study(1, dim, rule, p, "both", options.error,
                                             options.device, sizes, graphs),
                      pathlib.Path(options.out) / name)
        point = summary["points"][0]
        text = [point[key]["text"] if point[key] else f"- ({point['status']})" for key in ("tc",)]
        tree = point["tree"]["tc"]
        text.append(tree["text"] if tree else "- " + "; ".join(point["tree"]["reasons"]))
        z = point["comparison"]["z"] if point["comparison"] else None
        print(f"| {dim} | {rule} | {p:g} | {text[0]} | {text[1]} | "
              f"{'-' if z is None else f'{z:+.2f}'} | {summary['seconds']:.0f} |", flush=True)
        if z is not None:
            scores.append(z)
    if scores:
        print(f"\n{len(scores)} settings: mean z^2 = {sum(z * z for z in scores) / len(scores):.2f}"
              f", largest |z| = {max(map(abs, scores)):.2f}")
    return 0


# dim, rule, p, relative error
EXACT = [(2, "add", [1e-4, 0.001, 0.01, 0.1, 1.0], 5e-6), (2, "rewire", [1e-5, 1e-4], 5e-6),
         (2, "swap", [1e-5, 1e-4], 5e-6), (3, "add", [0.001, 0.01, 0.1, 1.0], 8e-6),
         (3, "rewire", [3.16227766e-4, 0.001], 8e-6), (3, "swap", [3.16227766e-4, 0.001], 8e-6),
         (4, "add", [0.01, 0.1, 1.0], 1e-5), (4, "rewire", [0.00316227766], 1e-5),
         (4, "swap", [0.00316227766], 1e-5)]


def exact(options):
    print("| d | rule | p | simulated | known | z |\n|---|---|---|---|---|---|")
    scores = []
    chain = {rule: [] for rule in ("add", "rewire")}
    for p in (1e-4, 0.01, 0.1, 0.3, 1.0):
        for rule, ways in (("add", 0.5 + p + math.sqrt((0.5 - p)**2 + 4 * p)),
                           ("rewire", 1 + p - p * p / 4)):
            chain[rule].append((p, 1 / math.atanh(1 / ways), 0.0))
    for rule, known in chain.items():
        scores += compare(options, 1, rule, known, 5e-6)
    for dim, rule, ps, error in EXACT:
        scores += compare(options, dim, rule, [tabulated(dim, rule, p) for p in ps], error)
    if scores:
        print(f"\n{len(scores)} values: mean z = {statistics.mean(scores):+.2f}, mean z^2 = "
              f"{sum(z * z for z in scores) / len(scores):.2f}")
    return 0


def tabulated(dim, rule, p):
    """(p, Tc, error) of the table of results, which has no simulations at these p."""
    table = pathlib.Path(__file__).parents[2] / "experiments/results/tc-table.csv"
    with table.open(encoding="utf-8", newline="") as lines:
        row = next(row for row in csv.DictReader(lines) if int(row["dim"]) == dim
                   and row["rule"] == rule and math.isclose(float(row["p"]), p, rel_tol=1e-6))
    return p, float(row["tree"]), float(row["tree_error"])


def compare(options, dim, rule, known, error):
    """Simulates all p of `known`, [(p, Tc, error)], and returns z of each that has a value."""
    name = f"exact-{dim}d-{rule}"
    if options.settings and not any(word in name for word in options.settings):
        return []
    summary = run(options.program, study(1, dim, rule, [entry[0] for entry in known], "tree", error,
                                         options.device), pathlib.Path(options.out) / name)
    scores = []
    for point, (p, tc, tc_error) in zip(summary["points"], known, strict=True):
        tree = point["tree"]["tc"]
        if tree:
            scores.append((tree["value"] - tc) / math.hypot(error_of(tree), tc_error))
        print(f"| {dim} | {rule} | {p:g} | {tree['text'] if tree else '-'} | {tc:.9g} | "
              f"{f'{scores[-1]:+.2f}' if tree else '-'} |", flush=True)
    return scores


def scatter(options):
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run, options.program,
                            study(1000 + seed, 2, "rewire", 0.1, "tree", options.error, "cpu",
                                  threads=1), f"{folder}/{seed}")
                for seed in range(options.seeds)]
        found = [job.result()["points"][0]["tree"]["tc"] for job in jobs]
    values = [tc["value"] for tc in found]
    errors = [error_of(tc) for tc in found]
    print(f"2D p = 0.1, {len(values)} seeds: mean {statistics.mean(values):.6f}, scatter "
          f"{statistics.stdev(values):.2e}, median error {statistics.median(errors):.2e}, scatter "
          f"over error {statistics.stdev(values) / statistics.median(errors):.2f}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("what", choices=["both", "exact", "scatter"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--error", type=float)
    parser.add_argument("--out", default="studies/tree-settings")
    parser.add_argument("--settings", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.error = options.error or {"both": 1e-4, "scatter": 1e-3}.get(options.what)
    return {"both": both, "exact": exact, "scatter": scatter}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
