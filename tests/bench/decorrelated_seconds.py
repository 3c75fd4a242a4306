"""Seconds per decorrelated measurement of m^2 and replica, 2 tau_int times the cost of a cycle,
beside the aims; and how many times as many the multispin engine makes in a second as the bytespin
engine with frontier-local Wolff and its best M:W, the way of Hawick, Leist & Playne (2010).
Everything in one run, on one device.

    decorrelated_seconds.py REWISE [--device cuda] [--settings 256:0.01:2.4345,1024:0.1:2.784,..]
                            [--against 1024:0.01:2.43,..] [--budget 20] [--budget-small 6]
                            [--budget-bytespin 20] [--json FILE]

A setting is L:p:T in two dimensions. "measured" has the cost of measurements in it, with the
tuner's spacing between them, which is half a tau or less. A lower bound of tau ("only a bound")
means that the budget was too short.
"""

import argparse
import json
import math
import subprocess
import sys

# Aims in us, by L and p.
AIMS = {("256", "0.01"): 6, ("256", "0.1"): 4, ("1024", "0.01"): 80, ("1024", "0.1"): 120}
SETTINGS = ("256:0.01:2.43,256:0.01:2.4345,256:0.1:2.784,"
            "1024:0.01:2.43,1024:0.01:2.4345,1024:0.1:2.784")
AGAINST = "1024:0.01:2.43,1024:0.01:2.4345"
BYTESPIN = ["--engine", "bytespin", "--wolff-method", "frontier-local", "--cluster", "wolff",
          "--candidates"]
BYTESPIN_CANDIDATES = "1:0,64:1,16:1,8:1,4:1,1:1,1:4,1:8,0:1"


def tune(options, setting, budget, *more):
    size, p, temperature = setting.split(":")
    command = [options.rewise, "tune", "--size", size, "--p", p, "--temperature", temperature,
               "--device", options.device, "--budget", f"{budget}s", "--json", *more]
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{' '.join(command)}: {output.stderr.strip()}")
    return json.loads(output.stdout)["settings"][0]


def name_of(candidate):
    return candidate["schedule"] + (" SW" if candidate["cluster"] == "swendsen-wang" else "")


def figures(result):
    """Of the winner; seconds per decorrelated measurement with its error, without and with the
    measurements' cost."""
    best, *others = sorted(result["candidates"], key=lambda c: c["rank"])
    rate, error = best["rate"]["value"], best["rate"]["error"]
    updates, both = (best[key]["value"] for key in
                     ("seconds_per_cycle", "seconds_per_cycle_measured"))
    seconds = 1 / rate
    return {"schedule": name_of(best),
            "next": {name_of(c): c["rate"]["value"] / rate for c in others[:5]
                     if c["rate"]["value"] is not None},
            "tau": best["tau"]["m2"]["value"], "tau_error": best["tau"]["m2"]["error"],
            "cycle": updates, "every": best["every"], "samples": best["samples"],
            "seconds": seconds, "error": seconds * error / rate,
            "measured": seconds * (1 + (both - updates) / best["every"] / updates),
            "bound": best["tau_is_lower_bound"], "replicas": result["replicas"],
            "device": result["device"], "warnings": result["warnings"]}


def line(name, f):
    note = "  only a bound" if f["bound"] else ""
    note += "; next: " + ", ".join(f"{k} {v:.2f}" for k, v in f["next"].items())
    return (f"{name}  {f['schedule']:8} tau {f['tau']:7.4g}({f['tau_error']:.2g}) cycles of "
            f"{1e6 * f['cycle']:8.4g} us; us per decorrelated measurement: "
            f"{1e6 * f['seconds']:7.4g}({1e6 * f['error']:.2g}), "
            f"measured {1e6 * f['measured']:7.4g}{note}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rewise")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--settings", default=SETTINGS, help="L:p:T, comma separated")
    parser.add_argument("--against", default=AGAINST,
                        help="of them: with the bytespin engine beside")
    parser.add_argument("--budget", type=float, default=20, help="seconds, from L = 512 on")
    parser.add_argument("--budget-small", type=float, default=6, help="seconds, below")
    parser.add_argument("--budget-bytespin", type=float, default=20, help="seconds")
    parser.add_argument("--multispin-options", default="", metavar="TEXT",
                        help="more of 'rewise tune': fewer candidates take a smaller budget")
    parser.add_argument("--bytespin-candidates", default=BYTESPIN_CANDIDATES, metavar="M:W,..")
    parser.add_argument("--json", help="keep the figures here")
    options = parser.parse_args()
    kept = []
    for setting in options.settings.split(","):
        size, p, temperature = setting.split(":")
        budget = options.budget if int(size) >= 512 else options.budget_small
        word_group = figures(tune(options, setting, budget, "--engine", "multispin",
                              *options.multispin_options.split()))
        aim = AIMS.get((size, p))
        name = f"L = {size}, p = {p}, T = {temperature}:"
        print(line(f"{name} {word group['replicas']} replicas", word_group)
              + (f" (aim {aim})" if aim else ""), flush=True)
        kept.append({"setting": setting, "aim": aim, "multispin": word_group})
        if setting not in options.against.split(","):
            continue
        single = figures(tune(options, setting, options.budget_bytespin, *BYTESPIN,
                              options.bytespin_candidates))
        ratio = single["seconds"] / word_group["seconds"]
        error = ratio * math.hypot(single["error"] / single["seconds"],
                                   word_group["error"] / word_group["seconds"])
        kept[-1].update({"bytespin": single, "ratio": ratio, "ratio_error": error})
        print(line(f"{name} bytespin engine", single))
        print(f"{name} multispin over bytespin {ratio:.3g}({error:.2g})", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
