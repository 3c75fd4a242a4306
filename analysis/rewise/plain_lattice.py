"""Tc(p) of rewired square, cubic and hypercubic lattices from properties of the plain lattice.

    python3 -m rewise.plain_lattice TC-TABLE.csv [--p P ..] [--out NEW.csv]

Solves the tree condition (analysis/README.md, "Tree condition without simulation") for the p of an
existing table and those of --p. The condition is exact at all p for rule `add`. For the rules
`rewire` and `swap` it is of first order in p and is solved for small p (LARGEST). Compares the
simulated values of the table with the results, and writes a table that rewise.plots.tc_table reads.
"""

import argparse
import functools
import math
import pathlib
import sys

import numpy as np

from . import published
from .plots import tc_table

# <M^2>/N = sum of SERIES[dim][n] v^n, v = tanh(beta). Square: Orrick, Nickel, Guttmann & Perk,
# J. Stat. Phys. 102, 795 (2001), which has many more terms. Cubic: Butera & Comi, Phys. Rev. B 62,
# 14837 (2000), n = 24 and 25 Campostrini et al., Phys. Rev. E 65, 066127 (2002). Hypercubic: Gaunt,
# Sykes & McKenzie, J. Phys. A 12, 871 (1979).
SERIES = {
    2: (1, 4, 12, 36, 100, 276, 740, 1972, 5172, 13492, 34876, 89764, 229628, 585508, 1486308,
        3763460, 9497380, 23918708, 60080156, 150660388, 377009300),
    3: (1, 6, 30, 150, 726, 3510, 16710, 79494, 375174, 1769686, 8306862, 38975286, 182265822,
        852063558, 3973784886, 18527532310, 86228667894, 401225368086, 1864308847838,
        8660961643254, 40190947325670, 186475398518726, 864404776466406, 4006394107568934,
        18554916271112254, 85923704942057238),
    4: (1, 8, 56, 392, 2696, 18536, 126536, 863720, 5873768, 39942184, 271009112, 1838725896,
        12457092504, 84392312392, 571140732808, 3865210690888, 26138072412040, 176752645540264)}
# Z^(1/N) = 2 cosh(beta)^dim sum of PARTITION[dim][n] v^2n. Cubic: Guttmann & Enting, J. Phys. A 26,
# 807 (1993) and 27, 8007 (1994). Hypercubic: sequence A030044 of the OEIS.
PARTITION = {
    3: (1, 0, 3, 22, 192, 2046, 24853, 329334, 4649601, 68884356, 1059830112, 16809862992,
        273374177222, 4539862959852),
    4: (1, 0, 6, 76, 1389, 30608, 769646, 21242984, 627520006)}
# The largest p at which the first order in p is used: there the neglected orders contribute at most
# a relative 8e-6 to the error of Tc.
LARGEST_P = {2: 3.2e-4, 3: 1e-3, 4: 3.2e-3}


class SquareLattice:
    """X(beta) = <M^2>/N and the bond energy of the square lattice above Tc.

    Near Tc, X is A tau^(-7/4) s^(-1/2) (1 + tau^2/2 - tau^4/12) + B with s = sinh(2 beta),
    tau = (1/s - s)/2 and A = SUSCEPTIBILITY[2] (2 sqrt(2)/Tc)^(7/4) (the source of SERIES); B is
    nearly constant. The first term is expanded in powers (1 - v/v_c)^(k - 7/4), and the six leading
    powers are summed in closed form. Their coefficients are subtracted from SERIES. The remaining
    coefficients, times v_c^n, fall as 1/n^2 with different amplitudes for even and odd n. They are
    extrapolated in this form to n = 3999 and summed term by term.
    """

    dim = 2

    def __init__(self, variant=False, shifted=False):
        """A variant has two terms fewer. Nothing is shifted: Tc is exact."""
        terms = len(SERIES[2]) - 2 * variant
        self.beta_c = published.BETA_C[2][0]
        self.critical = 2**0.5 - 1
        # Coefficients of the powers, from values on a circle around x = 1 - v/v_c = 0.
        x = 0.15 * np.exp(2j * np.pi * np.arange(64) / 64)
        v = self.critical * (1 - x)
        s = 2 * v / (1 - v * v)
        tau = (1 / s - s) / 2
        scale = published.SUSCEPTIBILITY[2] * (2 * 2**0.5 * self.beta_c)**1.75
        first = scale * (tau / x)**-1.75 / np.sqrt(s) * (1 + tau**2 / 2 - tau**4 / 12)
        self.powers = (np.fft.fft(first) / 64 / 0.15**np.arange(64)).real[:6]
        known = np.array(SERIES[2][:terms]) * self.critical**np.arange(terms)
        self.rest = list(known - sum(a * singular_coefficients(k - 1.75, 0, 1, terms)
                                     for k, a in enumerate(self.powers)))
        tail = {n % 2: self.rest[n] * n**2 for n in (terms - 2, terms - 1)}
        self.rest += [tail[n % 2] / n**2 for n in range(terms, 4000)]
        self.orders = np.arange(len(self.rest))

    def susceptibility(self, beta):
        ratio = math.tanh(beta) / self.critical
        x = 1 - ratio
        return (sum(a * x**(k - 1.75) for k, a in enumerate(self.powers))
                + float(np.dot(self.rest, ratio**self.orders)))

    def bond_energy(self, beta):
        """<s s'> of neighbours (Onsager)."""
        k = 2 * math.sinh(2 * beta) / math.cosh(2 * beta)**2
        a, b = 1.0, math.sqrt(max((1 - k) * (1 + k), 0.0))
        for _ in range(40):
            a, b = (a + b) / 2, math.sqrt(a * b)
        elliptic = math.pi / (2 * a)
        log_part = (2 * math.tanh(2 * beta)**2 - 1) * elliptic
        return (1 + 2 / math.pi * log_part) / math.tanh(2 * beta) / 2


def singular_coefficients(power, log_power, offset, terms):
    """The first coefficients, in powers of x, of (1 - x)^power (offset - ln(1 - x))^log_power."""
    binomial, logs = np.ones(terms), np.zeros(terms)
    logs[0] = offset**log_power
    for n in range(1, terms):
        k = np.arange(1, n + 1)
        inner = np.dot((log_power * k - (n - k)) / k, logs[n - k])
        logs[n] = inner / (n * offset)
        binomial[n] = binomial[n - 1] * (n - 1 - power) / n
    return np.convolve(binomial, logs)[:terms]


class SingularSeries:
    """A power series in x with known coefficients and the form of its singularities at x = 1 and
    x = -1, each (sign, power, log_power, offset) for (1 - y)^power (offset - ln(1 - y))^log_power,
    y = sign x. The amplitudes follow from as many of the last coefficients; what the singular terms
    leave of the others is summed term by term."""

    def __init__(self, coefficients, terms):
        self.terms = terms
        self.orders = np.arange(len(coefficients))
        shapes = np.array([float(sign)**self.orders * singular_coefficients(*form, len(self.orders))
                           for sign, *form in terms])
        last = self.orders[-len(terms):]
        self.amplitudes = np.linalg.solve(shapes[:, last].T, np.array(coefficients)[last])
        self.rest = coefficients - self.amplitudes @ shapes

    def __call__(self, x):
        singular = sum(a * (1 - sign * x)**power * (offset - math.log(1 - sign * x))**log_power
                       for a, (sign, power, log_power, offset) in zip(self.amplitudes, self.terms))
        return singular + float(np.dot(self.rest, x**self.orders))


class SeriesLattice:
    """X(beta) = <M^2>/N and the bond energy of the cubic and the hypercubic lattice above Tc.

    With y = 1 - v/v_c, cubic: X ~ y^-gamma (1 + y^Delta + y + y^(1 + Delta)), and
    y'^(1 - alpha) (1 + y') at the antiferromagnetic transition, y' = 1 + v/v_c. Hypercubic:
    X ~ y^-1 L^(1/3) (1 + 1/L + y) with L = 4 - ln(y): the offset 4 is where three further
    coefficients are met. The energy has the form of the second transition in v^2.
    """

    def __init__(self, dim, variant=False, shifted=False):
        """A variant lacks the last correction of X (cubic) or has the offset 2 (hypercubic), and
        one term of PARTITION. `shifted`: 1/Tc is larger by its error."""
        self.dim = dim
        beta_c, error = published.BETA_C[dim]
        self.beta_c = beta_c + shifted * error
        self.critical = math.tanh(self.beta_c)
        if dim == 3:
            delta, alpha = published.CUBIC_DELTA, published.CUBIC_ALPHA
            corrections = (0, delta, 1, 1 + delta)[:3 if variant else 4]
            ferro = [(1, e - published.GAMMA[3], 0, 1) for e in corrections]
            energy = [(1, 1 + e - alpha, 0, 1) for e in (0, delta, 1)]
        else:
            offset = 2 if variant else 4
            ferro = [(1, *form, offset) for form in ((-1, 1 / 3), (-1, -2 / 3), (0, 1 / 3))]
            energy = [(1, *form, offset) for form in ((1, 1 / 3), (1, -2 / 3), (2, 1 / 3))]
        antiferro = [(-1, *form) for _, *form in (energy[0], energy[-1])]
        self.x = SingularSeries([c * self.critical**n for n, c in enumerate(SERIES[dim])],
                                ferro + antiferro)
        z = PARTITION[dim][:-1 if variant else None]
        log = [0.0]  # coefficients of ln(sum of z[n] v^2n)
        for n in range(1, len(z)):
            log.append(z[n] - sum(k * log[k] * z[n - k] for k in range(1, n)) / n)
        self.energy = SingularSeries([2 * n / dim * c * self.critical**(2 * n)
                                      for n, c in enumerate(log)], energy)

    def susceptibility(self, beta):
        return self.x(math.tanh(beta) / self.critical)

    def bond_energy(self, beta):
        """<s s'> of neighbours: the derivative of ln Z by beta, per bond."""
        v = math.tanh(beta)
        return v + (1 - v * v) / v * self.energy((v / self.critical)**2)


@functools.cache
def plain_lattice(dim, **options):
    return SquareLattice(**options) if dim == 2 else SeriesLattice(dim, **options)


def diluted(lattice, beta, removed):
    """The beta at which the plain lattice is equivalent to a lattice at `beta` that lacks a
    fraction `removed` of its bonds, to first order in `removed`."""
    return beta - removed * math.sinh(beta) / (math.cosh(beta)
                                               - lattice.bond_energy(beta) * math.sinh(beta))


def log_lambda(rule, p, temperature, lattice):
    """ln lambda of the tree condition lambda = 1; infinity at and below the transition temperature
    of the plain lattice, and of the lattice without its shortcuts."""
    beta = 1 / temperature
    t = math.tanh(beta)
    ends = 2 * lattice.dim * p * t
    if beta >= lattice.beta_c:
        return math.inf
    if rule == "add":
        return math.log(ends * lattice.susceptibility(beta))

    removed, field = p - p * p / 4, None
    if rule == "swap":
        e = lattice.bond_energy(beta)
        g = (e - t) / (1 - t * e)  # <s s'> of the two ends of a removed bond
        removed = field = 0.0
        for k in range(2, 20):  # rings of k regions (analysis/README.md, "Rule swap")
            share = (p / 2)**(k - 1) * (k * (1 - p) + (k - 1) * p / 2)
            around = (t * g)**(k - 1)
            coupling = t * around
            field += share * t * (1 - around) / (1 - t * g) / (1 + coupling * g)
            removed += share * (1 - coupling * (1 + t * g) / (t * (1 + coupling * g)))
    at = diluted(lattice, beta, removed)
    x = lattice.susceptibility(at)
    # <s M> / X, s the spin at one end of a removed bond
    off = math.exp(-beta) / (math.cosh(beta) - lattice.bond_energy(at) * math.sinh(beta))
    if rule == "swap":
        return math.log(2 * lattice.dim * field * off**2 * x)
    return math.log(ends / 2 * x * (p / 2 + (2 - p) * off))


def critical_temperature(rule, p, lattice):
    low, high = 1 / lattice.beta_c, 20.0
    for _ in range(45):
        middle = (low + high) / 2
        if log_lambda(rule, p, middle, lattice) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def tc_with_errors(dim, rule, p):
    """Tc, its error, and the error of Tc - Tc(0). Both contain the difference from a variant of the
    series, and the effect of the error of Tc(0), which nearly cancels in Tc - Tc(0) at small p. For
    `rewire` and `swap`, the neglected orders in p contribute p (Tc - Tc(0)). In simulations at
    p = 0.003 to 0.03 they raise Tc by 0.3 to 0.5 times that in two and three dimensions, and by
    0.6(1) and 0.9(2) times in four (experiments/results)."""
    lattice = plain_lattice(dim)
    value = critical_temperature(rule, p, lattice)
    tc0 = 1 / lattice.beta_c
    series_error = value - critical_temperature(rule, p, plain_lattice(dim, variant=True))
    order_error = 0 if rule == "add" else p * (value - tc0)
    other = plain_lattice(dim, shifted=True)
    tc0_effect = value - critical_temperature(rule, p, other)
    errors = [max(math.hypot(series_error, order_error, effect), 1e-8)
              for effect in (tc0_effect, tc0_effect - (tc0 - 1 / other.beta_c))]
    return value, *errors


def main(arguments):
    parser = argparse.ArgumentParser(prog="plain_lattice", description=__doc__.split("\n")[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--p", type=float, nargs="*", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args(arguments)
    table = tc_table.summaries_of_table(options.table)
    made, squares = [], []
    for summary in table:
        dim, rule = summary["lattice"]["dim"], summary["lattice"]["rule"]
        if dim not in published.BETA_C:
            continue
        beta_c, beta_c_error = published.BETA_C[dim]
        simulated = {point["p"]: point["tree"]["tc"] for point in summary["points"]}
        # A table may have rounded the p of --p.
        new = [p for p in options.p if not any(math.isclose(p, q, rel_tol=1e-5) for q in simulated)]
        points = []
        for p in sorted({*simulated, *new}):
            if rule != "add" and p > LARGEST_P[dim]:
                continue
            value, error, shift_error = tc_with_errors(dim, rule, p)
            line = f"{dim}D {rule} {p:.4g}: {value:.8f} +- {error:.1e}"
            if p in simulated:
                other = simulated[p]
                z = (other["value"] - value) / math.hypot(other["total_error"], error)
                line += f"   table: {other['value']:.7f} +- {other['total_error']:.1e}, z {z:+.1f}"
                squares.append(z)
            print(line)
            points.append({"p": p, "tc": None, "tree": {"tc": {
                "value": value, "total_error": error, "shift_error": shift_error,
                "method": "series"}}})
        made.append({"lattice": summary["lattice"], "points": points,
                     "best": {"tc0": {"value": 1 / beta_c, "error": beta_c_error / beta_c**2}}})
    print(f"{len(squares)} values of the table: mean z {np.mean(squares):+.2f}, "
          f"mean z^2 {np.mean(np.square(squares)):.2f}")
    if options.out:
        options.out.write_text(tc_table.as_csv(tc_table.rows_of(made)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
