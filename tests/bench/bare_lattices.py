"""T_SG of rule `rewire` in three dimensions for small p, from bench_bare_lattices.

    bare_lattices.py reduce OUT.csv MEASURED.csv ..   one line per lattice size and temperature
    bare_lattices.py tsg TABLE.csv                    T_dil and T_SG from such a table
    bare_lattices.py add TSG-TABLE.csv                T_SG of rule `add` for small p

`reduce` reads files that bench_bare_lattices wrote. The table is
experiments/results/tsg-bare-lattices.csv: U of the bare lattice, and ln lambda of the spin glass
where sums over pairs of clusters were measured, with jackknife errors; control variates are the
numbers of removed bonds and D ends (analysis/README.md, "Small p in three dimensions"). `add` reads
experiments/results/tsg-table.csv.
"""

import csv
import math
import sys

import numpy as np

TC0 = 4.5115232          # of the cubic lattice (Ferrenberg, Xu & Landau 2018)
BOND = 0.330202          # <s s'> of its bonds at Tc
SLOPE, SLOPE_ERROR = {0.1: 0.61, 0.03: 0.595}, 0.03  # of -ln lambda in ln(T - T_dil) near T_SG
COLUMNS = ("p", "edge", "lattices", "temperature", "binder", "binder_error", "ln_lambda",
           "ln_lambda_error")


def controlled(statistic, rows, counts):
    """statistic(mean of rows) and its error, by the jackknife; `counts` are control variates with
    mean 0."""
    n = len(rows)
    whole = statistic(rows.mean(axis=0))
    pseudo = np.array([n * whole - (n - 1) * statistic((rows.sum(axis=0) - row) / (n - 1))
                       for row in rows])
    used = min(counts.shape[1], max(n // 4 - 1, 0))
    design = np.hstack([np.ones((n, 1)), counts[:, :used] / np.maximum(
        counts[:, :used].std(axis=0), 1e-300)])
    fit = np.linalg.lstsq(design, pseudo, rcond=None)[0]
    left = pseudo - design @ fit
    variance = (left @ left) / (n - 1 - used) * np.linalg.inv(design.T @ design)[0, 0]
    return fit[0], math.sqrt(variance)


def log_lambda(p, temperature, mm, md, dd):
    """ln of the largest eigenvalue of K2 in three dimensions for J = 1 or -1."""
    r, q = 3 * p, p / 2
    rho = r * (1 - q)
    rr, rd = r * q * mm + md, r * (1 - q) * mm
    dr, below = (r * q * md + dd) / rho, r * (1 - q) * md / rho
    largest = 0.5 * (rr + below) + math.sqrt(0.25 * (rr - below)**2 + rd * dr)
    return math.log(math.tanh(1 / temperature)**2 * largest)


def reduce(out, names):
    lines = []
    for name in names:
        with open(name, encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))
        head, rows = rows[0], np.array(rows[1:], float)
        at = {column: k for k, column in enumerate(head)}
        first = at["removed"]
        mean, rows = rows[rows[:, at["graph"]] < 0][0, first:], rows[rows[:, at["graph"]] >= 0]
        for temperature in np.unique(rows[:, at["temperature"]]):
            here = rows[rows[:, at["temperature"]] == temperature]
            p, counts = here[0, at["p"]], here[:, first:] - mean
            binder = controlled(lambda m: 1 - m[1] / (3 * m[0]**2),
                                here[:, [at["m2"], at["m4"]]], counts)
            pairs = here[:, [at["mm"], at["md"], at["dd"]]]
            of_lambda = ("", "")
            if pairs[:, 0].any():
                of_lambda = controlled(lambda x: log_lambda(p, temperature, *x), pairs, counts)
            lines.append([p, int(here[0, at["edge"]]), len(here), temperature, *binder,
                          *of_lambda])
    lines.sort()
    with open(out, "w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in lines:
            writer.writerow([f"{x:.6g}" if isinstance(x, float) else x for x in line])


def crossing(a, b):
    """Temperature at which parabolas through two curves (T, U) intersect."""
    (ta, ua), (tb, ub) = a, b
    difference = np.poly1d(np.polyfit(ta - TC0, ua, 2)) - np.poly1d(np.polyfit(tb - TC0, ub, 2))
    roots = difference.roots
    roots = roots[np.isreal(roots)].real + TC0
    return roots[np.argmin(abs(roots - tb[1]))]


def crossing_with_error(curves, small, large):
    (ta, ua, ea), (tb, ub, eb) = curves[small], curves[large]
    value = crossing((ta, ua), (tb, ub))
    square = 0.0
    for which, errors in ((0, ea), (1, eb)):
        for k, error in enumerate(errors):
            u = [ua.copy(), ub.copy()]
            u[which][k] += error
            square += (crossing((ta, u[0]), (tb, u[1])) - value)**2
    return value, math.sqrt(square)


def first_order():
    """-d ln T_dil / d q for a small fraction q of removed bonds."""
    beta = 1 / TC0
    t = math.tanh(beta)
    return t / (1 - BOND * t) / beta


def tsg(name):
    with open(name, encoding="utf-8", newline="") as text:
        rows = [{k: float(v or "nan") for k, v in row.items()} for row in csv.DictReader(text)]
    print(f"-d ln T_dil / dq = {first_order():.5f}")
    second = []  # (value, error) of the second order
    for p in sorted({row["p"] for row in rows}, reverse=True):
        q = p - p * p / 4
        curves = {}
        for edge in sorted({row["edge"] for row in rows if row["p"] == p}):
            edge_rows = [row for row in rows if (row["p"], row["edge"]) == (p, edge)]
            if len(edge_rows) == 3 and edge < 200:
                curves[edge] = [np.array([row[k] for row in edge_rows])
                                for k in ("temperature", "binder", "binder_error")]
        pairs = [(a, b) for a in curves for b in curves if a < b]
        found = {pair: crossing_with_error(curves, *pair) for pair in pairs}
        for pair, (value, error) in found.items():
            print(f"p = {p:g}: U of L = {pair[0]:.0f} and {pair[1]:.0f} cross at {value:.5f}"
                  f"({error:.5f})")
        best, error = found[pairs[1] if len(pairs) > 1 else pairs[0]]  # the widest pair
        c, c_error = (-math.log(best / TC0) - first_order() * q) / q**2, error / best / q**2
        print(f"   second order: {c:.3f}({c_error:.3f})")
        if p >= 0.03:
            second.append((c, c_error))
        weights = np.array([1 / e**2 for _, e in second])
        c = float(np.dot(weights, [v for v, _ in second]) / weights.sum())
        series = TC0 * math.exp(-first_order() * q - c * q * q)
        print(f"   T_dil by the expansion: {series:.5f}, crossings less expansion "
              f"{(best - series) / error:+.1f} errors")
        if p in SLOPE:
            measured = [row for row in rows if row["p"] == p and math.isfinite(row["ln_lambda"])]
            for row in measured:
                print(f"   L = {row['edge']:.0f}, T = {row['temperature']:.4f}: ln t "
                      f"{math.log(row['temperature'] / best - 1):.3f}, ln lambda "
                      f"{row['ln_lambda']:.4f}({row['ln_lambda_error']:.4f})")
            measured = [row for row in measured if row["edge"] == 256]  # the largest in equilibrium
            low = min(measured, key=lambda row: row["temperature"])
            t = low["temperature"] / best - 1

            def shift(at, slope=SLOPE[p], ln_lambda=low["ln_lambda"]):
                return at + (low["temperature"] - at) * math.exp(ln_lambda / slope)

            value = shift(best)
            parts = (shift(best + error) - value, shift(best, SLOPE[p] + SLOPE_ERROR) - value,
                     shift(best, SLOPE[p], low["ln_lambda"] - 0.02) - value,  # finite size
                     shift(best, SLOPE[p], low["ln_lambda"] + low["ln_lambda_error"]) - value)
            print(f"   t of the lowest T {t:.2e}; T_SG = {value:.5f}({math.hypot(*parts):.5f})")


# Exponents of the cubic lattice: (1 - 2 eta) nu and omega nu (Kos et al. 2016).
POWER, CORRECTION = (1 - 2 * 0.0362978) * 0.629971, 0.82968 * 0.629971


def added_size(p, tsg):
    """(X2, t): X2 from lambda = 1 of rule `add` at T_SG, and t = T_SG/Tc(0) - 1."""
    return 1 / (6 * p * math.tanh(1 / tsg)**2), tsg / TC0 - 1


def add(name):
    """T_SG of rule `add` for small p: solves lambda = 1 with X2 = B t^-POWER (1 + b t^CORRECTION).
    B and b follow from the known T_SG at p = 0.3 and 1."""
    with open(name, encoding="utf-8", newline="") as text:
        known = {float(row["p"]): (float(row["tsg"]), float(row["tsg_error"]))
                 for row in csv.DictReader(text) if (row["dim"], row["rule"]) == ("3", "add")}

    def solve(a, b, p):
        (xa, ta), (xb, tb) = added_size(0.3, a), added_size(1.0, b)
        ya, yb = xa * ta**POWER, xb * tb**POWER
        slope = (yb - ya) / (tb**CORRECTION - ta**CORRECTION)
        amplitude = ya - slope * ta**CORRECTION
        low, high = 1e-12, 1.0
        for _ in range(200):
            t = math.sqrt(low * high)
            x2 = t**-POWER * (amplitude + slope * t**CORRECTION)
            if 6 * p * math.tanh(1 / (TC0 * (1 + t)))**2 * x2 > 1:
                low = t
            else:
                high = t
        return TC0 * t, amplitude, slope

    (a, a_error), (b, b_error) = known[0.3], known[1.0]
    for p in (0.001, 0.003, 0.01, 0.03, 0.1):
        shift, amplitude, slope = solve(a, b, p)
        error = math.hypot(solve(a + a_error, b, p)[0] - shift, solve(a, b + b_error, p)[0] - shift,
                           0.05 * shift)  # 5%: next corrections
        print(f"p = {p:g}: T_SG - Tc(0) = {shift:.3e} +- {error:.1e}, T_SG = {TC0 + shift:.6f}, "
              f"X2 = {amplitude:.3f} t^-{POWER:.3f} (1 + {slope / amplitude:.2f} "
              f"t^{CORRECTION:.3f})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["reduce"]:
        reduce(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["tsg"]:
        tsg(sys.argv[2])
    elif sys.argv[1:2] == ["add"]:
        add(sys.argv[2])
    else:
        sys.exit(__doc__)
