#include "src/results/symbols.hpp"

#include <string>

#include "src/settings/parse.hpp"

namespace rewise {

std::span<const Symbol> symbols() {
  static constexpr Symbol all[] = {
      {"e", "energy", "energy per site",
       "E/N, E = -sum over bonds of J_ij s_i s_j - sum over sites of h_i s_i. Potts: minus the "
       "number of bonds between equal states, over N",
       "J", ""},
      {"m", "magnetisation", "magnetisation per site, with its sign",
       "<m>, m = (sum over sites of s_i)/N; printed in a field. Without a field it is 0 in "
       "equilibrium, see |m|",
       "1", ""},
      {"dm/dh", "field_susceptibility", "susceptibility per site in a field", "N (<m^2> - <m>^2)/T",
       "1/J", ""},
      {"|m|", "abs_magnetisation", "absolute magnetisation per site",
       "<|m|>, m = (sum over sites of s_i)/N. Potts: m = (q N_max/N - 1)/(q - 1), N_max sites in "
       "the most frequent state",
       "1", ""},
      {"m^2", "m2", "square of the magnetisation", "<m^2>", "1", ""},
      {"m^4", "m4", "fourth power of the magnetisation", "<m^4>", "1", ""},
      {"U", "binder", "Binder's ratio",
       "1 - [<m^4>]/(3 [<m^2>]^2). Of large Ising systems 2/3 below Tc and 0 above. The curves of "
       "different sizes cross near Tc",
       "1", "Binder, Z. Phys. B 43, 119 (1981)"},
      {"N^(1/2) m^2", "scaled_m2", "scaled square of the magnetisation",
       "N^(1/2) <m^2>. The curves of different sizes cross near Tc if p > 0, where exponents are "
       "those of mean field",
       "1", ""},
      {"C", "specific_heat", "specific heat per site", "N (<e^2> - <e>^2)/T^2", "k_B", ""},
      {"chi", "susceptibility", "susceptibility per site",
       "N (<m^2> - <|m|>^2)/T, from the fluctuations of |m|. Above Tc, in large Ising systems, it "
       "is 1 - 2/pi = 0.363 times the usual susceptibility N <m^2>/T. In a field see dm/dh",
       "1/J", ""},
      {"<C>/N", "cluster_fraction", "mean size of a Wolff cluster over N",
       "<sum over clusters of n_c^2>/N^2 with n_c sites in a cluster; in equilibrium equal to "
       "<m^2> of Ising spins",
       "1", "U. Wolff, Phys. Rev. Lett. 62, 361 (1989)"},
      {"|m_s|", "abs_staggered, m_s", "staggered magnetisation of antiferromagnets",
       "<|m_s|>, m_s = (sum over sites of eps_i s_i)/N, eps_i = 1 and -1 on the two sublattices",
       "1", ""},
      {"m_s^2", "staggered_m2", "square of the staggered magnetisation", "<m_s^2>", "1", ""},
      {"m_s^4", "staggered_m4", "fourth power of the staggered magnetisation", "<m_s^4>", "1", ""},
      {"U_s", "staggered_binder", "Binder's ratio of the staggered magnetisation",
       "1 - [<m_s^4>]/(3 [<m_s^2>]^2)", "1", "Binder, Z. Phys. B 43, 119 (1981)"},
      {"chi_s", "staggered_susceptibility", "staggered susceptibility per site",
       "N (<m_s^2> - <|m_s|>^2)/T", "1/J", ""},
      {"q", "overlap", "overlap of two replicas of a spin glass (Ising spins)",
       "(1/N) sum over sites of s_i^a s_i^b of the replicas a and b", "1",
       "Parisi, Phys. Rev. Lett. 50, 1946 (1983)"},
      {"q^2", "overlap_m2, q2", "square of the overlap", "[<q^2>]", "1", ""},
      {"q^4", "overlap_m4, q4", "fourth power of the overlap", "[<q^4>]", "1", ""},
      {"U_q", "overlap_binder", "Binder's ratio of the overlap",
       "(3 - [<q^4>]/[<q^2>]^2)/2: 0 for a normal distribution, 1 for two peaks", "1", ""},
      {"chi_SG", "spin_glass_susceptibility", "spin-glass susceptibility", "N [<q^2>]", "1", ""},
      {"N^(2/3) q^2", "scaled_overlap", "scaled square of the overlap",
       "N^(2/3) [<q^2>]. The curves of different sizes cross near T_SG of a mean-field spin glass",
       "1", ""},
      {"q_l", "link_overlap", "link overlap",
       "(1/B) sum over bonds of s_i^a s_j^a s_i^b s_j^b of the replicas a and b", "1", ""},
      {"tau", "tau_int, tau(e), tau(|m|), tau(m^2), tau(m), tau(m_s^2), tau(q^2), overlap_tau",
       "integrated autocorrelation time",
       "every x (1/2 + sum over t >= 1 of rho(t)), rho(t) the autocorrelation at a lag of t "
       "measurements. tau(m^2) is that of m^2. The error of a mean over n measurements is that of "
       "n every/(2 tau) independent ones",
       "cycles of the schedule M:W", "U. Wolff, Comput. Phys. Commun. 156, 143 (2004)"},
      {"accepted", "acceptance, exchange_accepted", "acceptance of replica exchange",
       "fraction of the attempted exchanges with the next temperature that are accepted; it should "
       "be 0.2 or more",
       "1", "Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996)"},
      {"round trips", "round_trips, trips_per_1000_cycles", "round trips of replica exchange",
       "how often replicas went from the first to the last temperature and back. Without any, the "
       "lowest temperatures may not be in equilibrium",
       "1, or 1/(1000 cycles) per replica", ""},
      {"fit_q", "", "quality of a fit",
       "the probability that a fit of a correct law has a larger chi^2. Below 0.01 the law does "
       "not hold in the fitted range",
       "1", ""},
      {"chi2/dof", "chi2, dof", "chi^2 of a fit over its degrees of freedom",
       "sum of squared residuals in units of the errors, over the number of points minus that of "
       "fitted parameters; about 1 for a law that holds",
       "1", ""},
      {"S", "quality", "quality of a data collapse",
       "mean squared distance of the points of each size from the curve through the others, in "
       "units of the errors; about 1 for a good collapse",
       "1", "Houdayer & Hartmann, Phys. Rev. B 70, 014418 (2004)"},
      {"of best", "", "a schedule's worth over that of the best schedule", "1 for the best", "1",
       ""},
      {"worth", "", "independent measurements per second, by which `tune` ranks schedules",
       "1/(t [tau(m^2) left(m^2) + tau(U) left(U)]), t the time of a cycle of one replica with its "
       "share of a measurement, `left` the fraction of the variance that control variates leave",
       "1/s", "analysis/README.md, \"What a schedule is worth\""},
      {"M:W", "cycle, step", "a cycle of a schedule",
       "M sweeps of the local update (N attempts each), then W cluster updates. Each of these M + "
       "W "
       "is a step, the unit of time of `decorrelate` and `equilibrate`",
       "", "Hawick, Leist & Playne (2010)"},
      {"jackknife", "", "how standard errors are computed",
       "each of n replicas, networks or blocks of time is left out in turn; the square of the "
       "error "
       "is (n - 1)/n times the sum of squared deviations of the n results, also for ratios such as "
       "U",
       "", "Efron, The Jackknife, SIAM (1982)"},
      {"J", "coupling, J_ij", "coupling of two neighbours",
       "1, unless `couplings` in [model] says otherwise; J > 0 favours equal spins", "J", ""},
      {"h", "field, h_i", "field of a site",
       "0, unless `field` and `field_random` in [model] say otherwise; h > 0 favours s = 1", "J",
       ""},
      {"z", "", "a difference in units of its standard error", "(a - b)/(error of a - b)", "1", ""},
      {"lambda", "", "transfer from shortcut to shortcut",
       "the factor by which a correlation grows from one shortcut to the next; 1 at Tc", "1",
       "analysis/README.md, \"The tree condition\""},
      {"L/xi", "", "edge of a lattice over its correlation length",
       "finite-size errors of the tree condition fall exponentially with it", "1",
       "analysis/README.md, \"The tree condition\""},
      {"rewired", "", "number of rewired bonds",
       "bonds of which at least one end was moved to another site (rule `add`: bonds that were "
       "added)",
       "1", ""},
      {"T", "", "temperature", "1/beta", "J/k_B", ""},
      {"beta", "", "inverse temperature", "1/T", "k_B/J", ""},
      {"N", "", "number of sites", "the product of the extents of a lattice", "1", ""},
      {"L", "edge, extents", "number of sites along an edge of a lattice", "N = L^d", "1", ""},
      {"Tc", "", "critical temperature Tc(p)",
       "where the infinite system becomes ordered. Tc(0) = 2/ln(1 + sqrt 2) on the square lattice",
       "J/k_B", ""},
      {"T_SG", "", "temperature of the spin-glass transition",
       "where the infinite system becomes a spin glass", "J/k_B", ""},
  };
  return all;
}

bool is_called(const Symbol& symbol, std::string_view word) {
  if (word == symbol.symbol) return true;
  if (symbol.names.empty()) return false;
  for (std::string name : split_list(std::string(symbol.names))) {
    name.erase(0, name.find_first_not_of(' '));
    if (word == name) return true;
  }
  return false;
}

}  // namespace rewise
