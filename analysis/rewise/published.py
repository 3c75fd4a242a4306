"""Published values: properties of regular lattices by dimension, and exponents to compare with.

Sources, and what C++ needs of the lattices: analysis/scaling/regular_lattice.hpp.
"""

import math

BETA_C = {2: (math.log(1 + 2**0.5) / 2, 0.0), 3: (0.221654626, 5e-9),
          4: (0.149693785, 1e-8)}  # 1/Tc and its error
GAMMA = {2: 7 / 4, 3: 1.2370755, 4: 1.0}
# In two dimensions, also that of Potts spins with four states; with three states it is 4/15.
ETA = {1: 1.0, 2: 1 / 4, 3: 0.03627}
# A of <M^2>/N = A (1 - Tc/T)^-gamma above Tc; that of the cubic lattice belongs to this gamma.
SUSCEPTIBILITY = {2: 0.9625817323087721, 3: 1.1231}
BOND_ENERGY = {2: 2**-0.5, 3: 0.3302022}  # <s_i s_j> at Tc; cubic: Hasenbusch 2010
# Cubic lattice: exponents of the correction of X and of the specific heat (Chang et al.,
# arXiv 2411.15300).
CUBIC_DELTA, CUBIC_ALPHA = 0.5226, 0.110087
GLASS_ETA = {3: -0.3900}  # of the spin glass with J = +-1
# Exponents of Tc(p) - Tc(0) that Hawick & James (2006) fitted to all their p, for the rule `swap`.
HAWICK_JAMES = {2: 0.50, 3: 0.698, 4: 0.75}


def square_potts_beta_c(q):
    """1/Tc of the Potts model on the square lattice; for q = 2 twice that of the Ising model."""
    return math.log(1 + math.sqrt(q))
