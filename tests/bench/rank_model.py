"""What sharing a lattice of the bitlattice engine among R ranks costs, fitted and foretold.

    rank_model.py ONE.json SHARED.json RANKS       fit to `rewise bench --json` of one device and of
                                                   RANKS, both --engine bitlattice --update
                                                   metropolis,
                                                   two dimensions, several sizes; then foretell
    rank_model.py --rate F --exchange X0 [--per-byte X1]    foretell: F flips per ns of a device,
                                                   X0 us + X1 us per byte of a row's colour

The model. A rank has N/R sites, half of them of a colour. A half-sweep updates these at F flips
per ns; meanwhile the two outer planes are updated and copied to the host, two messages go and
two come, and their planes are copied back: X = X0 + X1 b, b = N / (16 L) bytes, L the last
extent. Neither waits for the other but at the end:

    half-sweep = max(N / (2 R F), X),    sent by a rank per sweep: 4 messages, 4 b bytes

R = N / (2 F X) ranks are as many as are worth while; more of them make N / (2 X) flips per ns and
no more.
"""

import argparse
import json
import math
import sys


def rows(path):
    """[(L, us per half-sweep)] of square lattices, smallest first."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["rows"]
    found = [row for row in found if row["update"] == "metropolis" and len(row["extents"]) == 2]
    return sorted((row["extents"][1], row["extents"][0], row["us_per_update"] / 2) for row in found)


def line(points):
    """Least squares of y = a + c x, c >= 0."""
    n = len(points)
    mean_x, mean_y = (sum(p[k] for p in points) / n for k in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else 0.0
    slope = max(slope, 0.0)
    least = mean_y - slope * mean_x
    return (least, slope) if least > 0 else (mean_y, 0.0)


def half_sweep(sites, row, ranks, model):
    inside = sites / (2 * ranks * model.rate) * 1e-3  # us
    outside = model.exchange + model.per_byte * row / 16 if ranks > 1 else 0
    return max(inside, outside)


def fit(one, shared, ranks):
    """The rate by the largest lattice of one device; the exchange by those that it bounds."""
    last, first, least = one[-1]
    model = argparse.Namespace(rate=last * first / (2e3 * least), exchange=0.0, per_byte=0.0)
    bound = [(first / 16, us) for last, first, us in shared
             if us > 1.3 * half_sweep(last * first, first, ranks, model)]
    if not bound:
        sys.exit("no lattice here is bound by the exchange: add smaller sizes")
    model.exchange, model.per_byte = line(bound)
    print("| L | us per half-sweep, measured | modelled |\n|---|---|---|")
    for last, first, us in shared:
        print(f"| {last} | {us:.1f} | {half_sweep(last * first, first, ranks, model):.1f} |")
    return model


def foretell(model):
    print(f"\nF = {model.rate:.0f} flips per ns, X = {model.exchange:.1f} us + "
          f"{1e3 * model.per_byte:.3g} ns per byte\n")
    print("| | R | flips per ns | of R times one | KiB sent by a rank per sweep |")
    print("|---|---|---|---|---|")
    for name, size in (("strong, L = 131072", lambda _: 131072),
                       ("strong, L = 262144", lambda _: 262144),
                       ("weak, 131072^2 sites a rank", lambda r: 131072 * math.sqrt(r))):
        for ranks in (1, 2, 8, 64, 1024):
            edge = size(ranks)
            rate = edge * edge / (2e3 * half_sweep(edge * edge, edge, ranks, model))
            print(f"| {name} | {ranks} | {rate:.4g} | {100 * rate / (ranks * model.rate):.0f}% | "
                  f"{4 * edge / 16 / 1024 if ranks > 1 else 0:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--exchange", type=float)
    parser.add_argument("--per-byte", type=float, default=0.0)
    options = parser.parse_args()
    if len(options.files) == 3:
        model = fit(rows(options.files[0]), rows(options.files[1]), int(options.files[2]))
    elif options.rate and options.exchange:
        model = options
    else:
        parser.error("ONE.json SHARED.json RANKS, or --rate and --exchange")
    foretell(model)


if __name__ == "__main__":
    main()
