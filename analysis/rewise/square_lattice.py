"""Tc(p) of rewired square lattices from the exact susceptibility of the plain square lattice.

    python3 -m rewise.square_lattice TC-TABLE.csv [--p P ..] [--out NEW.csv]

Solves the tree condition (analysis/README.md, "Tree condition without simulation") for the p of an
existing table and those of --p. The condition is exact at all p for rule `add`. For the rules
`rewire` and `swap` it is of first order in p and is solved up to p = 3.2e-4. Compares the simulated
values of the table with the results, and writes a table that rewise.plots.tc_table reads.
"""

import argparse
import functools
import math
import pathlib
import sys

import numpy as np

from .plots import tc_table

# <M^2>/N = sum of SERIES[n] v^n, v = tanh(beta) (Orrick, Nickel, Guttmann & Perk, J. Stat. Phys.
# 102, 795 (2001), which has many more terms).
SERIES = (1, 4, 12, 36, 100, 276, 740, 1972, 5172, 13492, 34876, 89764, 229628, 585508, 1486308,
          3763460, 9497380, 23918708, 60080156, 150660388, 377009300)
AMPLITUDE = 0.9625817323087721  # of |1 - Tc/T|^(-7/4) (Barouch, McCoy & Wu 1973)
CRITICAL = math.log(1 + 2**0.5) / 2  # 1/Tc
LARGEST = 3.2e-4  # largest p at which the first order in p is used


class Susceptibility:
    """X(beta) = <M^2>/N of the square lattice above Tc.

    Near Tc it is A tau^(-7/4) s^(-1/2) (1 + tau^2/2 - tau^4/12) + B with s = sinh(2 beta),
    tau = (1/s - s)/2 and A = AMPLITUDE (2 sqrt(2)/Tc)^(7/4) (the source of SERIES); B is nearly
    constant. The first term is expanded in powers (1 - v/v_c)^(k - 7/4), and the six leading powers
    are summed in closed form. Their coefficients are subtracted from SERIES. The remaining
    coefficients, times v_c^n, fall as 1/n^2 with different amplitudes for even and odd n. They are
    extrapolated in this form to n = 3999 and summed term by term.
    """

    def __init__(self, terms=len(SERIES)):
        self.critical = 2**0.5 - 1
        # Coefficients of the powers, from values on a circle around x = 1 - v/v_c = 0.
        x = 0.15 * np.exp(2j * np.pi * np.arange(64) / 64)
        v = self.critical * (1 - x)
        s = 2 * v / (1 - v * v)
        tau = (1 / s - s) / 2
        scale = AMPLITUDE * (2 * 2**0.5 * CRITICAL)**1.75
        first = scale * (tau / x)**-1.75 / np.sqrt(s) * (1 + tau**2 / 2 - tau**4 / 12)
        self.powers = (np.fft.fft(first) / 64 / 0.15**np.arange(64)).real[:6]
        self.rest = [SERIES[n] * self.critical**n
                     - sum(a * binomial(k - 1.75, n) for k, a in enumerate(self.powers))
                     for n in range(terms)]
        tail = {n % 2: self.rest[n] * n**2 for n in (terms - 2, terms - 1)}
        self.rest += [tail[n % 2] / n**2 for n in range(terms, 4000)]
        self.orders = np.arange(len(self.rest))

    def __call__(self, beta):
        ratio = math.tanh(beta) / self.critical
        x = 1 - ratio
        return (sum(a * x**(k - 1.75) for k, a in enumerate(self.powers))
                + float(np.dot(self.rest, ratio**self.orders)))


def binomial(power, n):
    """The coefficient of x^n in (1 - x)^power."""
    value = 1.0
    for k in range(1, n + 1):
        value *= (k - 1 - power) / k
    return value


def bond_energy(beta):
    """<s s'> of neighbours on the square lattice (Onsager)."""
    k = 2 * math.sinh(2 * beta) / math.cosh(2 * beta)**2
    a, b = 1.0, math.sqrt(max((1 - k) * (1 + k), 0.0))
    for _ in range(40):
        a, b = (a + b) / 2, math.sqrt(a * b)
    elliptic = math.pi / (2 * a)
    log_part = (2 * math.tanh(2 * beta)**2 - 1) * elliptic
    return (1 + 2 / math.pi * log_part) / math.tanh(2 * beta) / 2


def diluted(beta, removed):
    """The beta at which the plain lattice is equivalent to a lattice at `beta` that lacks a
    fraction `removed` of its bonds, to first order in `removed`."""
    return beta - removed * math.sinh(beta) / (math.cosh(beta)
                                               - bond_energy(beta) * math.sinh(beta))


def log_lambda(rule, p, temperature, susceptibility):
    """ln lambda of the tree condition lambda = 1; infinity at and below the transition temperature
    of the lattice without its shortcuts."""
    beta = 1 / temperature
    t = math.tanh(beta)
    if rule == "add":
        return math.log(4 * p * t * susceptibility(beta)) if beta < CRITICAL else math.inf

    def off(at):  # <s M> / X, s the spin at one end of a removed bond
        return math.exp(-beta) / (math.cosh(beta) - bond_energy(at) * math.sinh(beta))

    removed, field = p - p * p / 4, None
    if rule == "swap":
        e = bond_energy(beta)
        g = (e - t) / (1 - t * e)  # <s s'> of the two ends of a removed bond
        removed = field = 0.0
        for k in range(2, 20):  # rings of k regions (analysis/README.md, "Rule swap")
            share = (p / 2)**(k - 1) * (k * (1 - p) + (k - 1) * p / 2)
            around = (t * g)**(k - 1)
            coupling = t * around
            field += share * t * (1 - around) / (1 - t * g) / (1 + coupling * g)
            removed += share * (1 - coupling * (1 + t * g) / (t * (1 + coupling * g)))
    at = diluted(beta, removed)
    if at >= CRITICAL:
        return math.inf
    x, f = susceptibility(at), off(at)
    if rule == "swap":
        return math.log(4 * field * f * f * x)
    return math.log(2 * p * t * x * (p / 2 + (2 - p) * f))


def critical_temperature(rule, p, susceptibility):
    low, high = (1 - 2 * min(p, 0.1)) / CRITICAL, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        if log_lambda(rule, p, middle, susceptibility) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@functools.cache
def sizes():
    return Susceptibility(), Susceptibility(len(SERIES) - 2)


def tc_with_error(rule, p):
    """Tc and its error. The error of the series is the difference from a series with two terms
    fewer. For `rewire` and `swap`, the neglected orders in p contribute p (Tc - Tc(0)) to the
    error. In simulations at p = 0.003 and 0.01 they raise Tc by only 0.3 times that, but the factor
    may grow slowly as p falls."""
    value, shorter = (critical_temperature(rule, p, size) for size in sizes())
    of_series = abs(value - shorter)
    of_order = 0 if rule == "add" else p * (value - 1 / CRITICAL)
    return value, max(math.hypot(of_series, of_order), 1e-8)


def main(arguments):
    parser = argparse.ArgumentParser(prog="square_lattice", description=__doc__.split("\n")[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--p", type=float, nargs="*", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args(arguments)
    table = tc_table.summaries_of_table(options.table)
    made, squares = [], []
    for summary in table:
        rule = summary["lattice"]["rule"]
        if summary["lattice"]["dim"] != 2:
            continue
        simulated = {point["p"]: point["tree"]["tc"] for point in summary["points"]}
        points = []
        for p in sorted({*simulated, *options.p}):
            if rule != "add" and p > LARGEST:
                continue
            value, error = tc_with_error(rule, p)
            line = f"{rule} {p:.4g}: {value:.8f} +- {error:.1e}"
            if p in simulated:
                other = simulated[p]
                z = (other["value"] - value) / math.hypot(other["total_error"], error)
                line += f"   table: {other['value']:.7f} +- {other['total_error']:.1e}, z {z:+.1f}"
                squares.append(z)
            print(line)
            nothing = {"value": math.nan, "total_error": math.nan}
            points.append({"p": p, "tc": nothing,
                           "tree": {"tc": {"value": value, "total_error": error}}})
        made.append({"lattice": summary["lattice"], "points": points,
                     "best": {"tc0": {"value": 1 / CRITICAL, "error": 0.0}}})
    print(f"{len(squares)} values of the table: mean z {np.mean(squares):+.2f}, "
          f"mean z^2 {np.mean(np.square(squares)):.2f}")
    if options.out:
        options.out.write_text(tc_table.as_csv(tc_table.rows_of(made)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
