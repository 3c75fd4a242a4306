"""Compares the winners of the tuner with long runs of all candidates with another seed.

The tuner has a budget in seconds. Prints a line per setting and the number of winners within 10%
of the true best. Exit status 1 if fewer than 9 of 10 are.

    tune_brute_force.py REWISE [--device cpu|cuda] [--replicas 0] [--size-2d 64] [--size-3d 16]
                        [--budget 20] [--long 120] [--settings 2d-0-at,2d-1e-2-below,..]
                        [--json FILE]

A setting is DIM-P-WHERE, where WHERE is below, at or above for T = 0.97, 1 or 1.03 Tc. There are 24
settings by default: both dimensions, p = 0, 1e-3, 1e-2 and 0.1. On a shared CPU, times are CPU
times of one thread.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys

# Tc(0): exact in 2D, Ferrenberg, Xu & Landau 2018 in 3D; Tc(p) as in "rewise tune" (tree
# approximation).
TC = {("2d", "0"): 2.269185, ("2d", "1e-3"): 2.3175, ("2d", "1e-2"): 2.4342, ("2d", "0.1"): 2.769,
      ("3d", "0"): 4.5115232, ("3d", "1e-3"): 4.5266, ("3d", "1e-2"): 4.5913, ("3d", "0.1"): 4.855}
WHERE = {"below": 0.97, "at": 1.0, "above": 1.03}
ENOUGH = 0.9


def known_settings():
    return ["-".join((dim, p, where)) for (dim, p), where in itertools.product(TC, WHERE)]


def parts(setting):
    dim, rest = setting.split("-", 1)
    p, where = rest.rsplit("-", 1)
    return dim, p, where


def tune(options, dim, p, wheres, *more):
    """Runs `rewise tune` for one lattice and p at several temperatures, in one process because the
    start of CUDA is slow."""
    size = options.size_2d if dim == "2d" else options.size_3d
    temperatures = ",".join(f"{TC[dim, p] * WHERE[where]:.5g}" for where in wheres)
    command = [options.rewise, "tune", "--dim", dim[0], "--size", str(size), "--p", p,
               "--temperature", temperatures, "--engine", options.engine,
               "--device", options.device, "--json", *more]
    if options.threads:
        command += ["--threads", str(options.threads)]
    if options.replicas:
        command += ["--replicas", str(options.replicas)]
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{' '.join(command)}: {output.stderr.strip()}")
    return json.loads(output.stdout)["settings"]


def rates(result):
    """{candidate: (worth, error)} of candidates with known tau. A lower bound of tau would make the
    worth too high."""
    return {(c["schedule"], c["cluster"]): (c["worth"]["value"], c["worth"]["error"])
            for c in result["candidates"]
            if c["worth"]["value"] is not None and not c["worth_is_upper_bound"]}


def name(candidate):
    return ("swendsen-wang/" if candidate[1] == "swendsen-wang" else "") + candidate[0]


def check(options, dim, p, wheres):
    short = tune(options, dim, p, wheres, "--budget", f"{options.budget}s", "--seed", "1")
    long = tune(options, dim, p, wheres, "--budget", f"{options.long}s", "--keep-all",
                "--seed", "1001")
    for where, quick, brute in zip(wheres, short, map(rates, long)):
        yield verdict("-".join((dim, p, where)), quick, brute)


def verdict(setting, quick, brute):
    winner = (quick["winner"]["schedule"], quick["winner"]["cluster"])
    best = max(brute, key=lambda candidate: brute[candidate][0])
    rate, error = brute.get(winner, (0, 0))  # a winner without a known tau has failed
    top, top_error = brute[best]
    ratio = rate / top
    known = winner != best and rate > 0
    spread = ratio * math.hypot(error / rate, top_error / top) if known else 0.0
    return {"setting": setting, "winner": name(winner), "best": name(best), "ratio": ratio,
            "error": spread, "seconds": quick["seconds"], "warnings": quick["warnings"],
            "dropped": sum(c["dropped"] is not None for c in quick["candidates"]),
            "candidates": len(quick["candidates"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("rewise")
    parser.add_argument("--engine", default="multispin")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--replicas", type=int, default=0, help="0: as rewise tune")
    parser.add_argument("--size-2d", type=int, default=64)
    parser.add_argument("--size-3d", type=int, default=16)
    parser.add_argument("--budget", type=float, default=20, help="seconds of the tuner")
    parser.add_argument("--long", type=float, default=120, help="seconds of the long runs")
    parser.add_argument("--settings", default=",".join(known_settings()))
    parser.add_argument("--json", help="keep the figures here")
    options = parser.parse_args()
    settings = options.settings.split(",")
    unknown = [s for s in settings if s not in known_settings()]
    if unknown:
        parser.error(f"no such setting: {unknown[0]} (one of {', '.join(known_settings())})")
    groups = {}
    for setting in settings:
        dim, p, where = parts(setting)
        groups.setdefault((dim, p), []).append(where)
    results = []
    for r in (r for (dim, p), wheres in groups.items() for r in check(options, dim, p, wheres)):
        results.append(r)
        print(f"{r['setting']:16} chose {r['winner']:8} best {r['best']:8} "
              f"ratio {r['ratio']:.3f} +- {r['error']:.3f}  "
              f"({r['dropped']} of {r['candidates']} dropped, {r['seconds']:.0f} s)", flush=True)
    good = sum(r["ratio"] >= ENOUGH for r in results)
    print(f"{good} of {len(results)} winners within 10% of the true best")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"engine": options.engine, "device": options.device, "results": results},
                      file, indent=2)
    return 0 if good >= 0.9 * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
