// Engines with couplings and fields against exact enumeration: e, |m|, m^2, m^4, moments of the
// staggered magnetisation, and for pairs of replicas q^2, q^4 and the link overlap. Errors, limits
// and distribution tests are those of enumeration_check.hpp.
//
// The oracle sums over all 2^N states. The distribution of the overlap of two independent replicas
// is the autocorrelation of P(s) under XOR, by two Walsh-Hadamard transforms.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/engine/couplings.hpp"
#include "src/engine/registry.hpp"
#include "tests/engines/enumeration_check.hpp"

namespace rewise::oracle {

struct CoupledCase {
  std::string name;
  std::shared_ptr<const Graph> graph;
  Model model;
  bool metropolis_mixes = true;
  bool slow = false;  // two energy valleys at the lowest temperature: a longer equilibration
};

struct CoupledAverages {
  double energy = 0, abs_m = 0, m2 = 0, m4 = 0;
  double q2 = 0, q4 = 0, link = 0;           // Ising
  double abs_staggered = 0, s2 = 0, s4 = 0;  // graphs with two sublattices
};

// 1 and -1 on the two sublattices: the parity of the sum of the coordinates on the lattice from
// which a graph was built, or two colours; empty if there are no two colours. [sites]
inline std::vector<int> sublattice_signs(const Graph& graph, const EdgeList& list) {
  std::vector<int> sign(list.sites, 0);
  if (const auto& extents = graph.spec().extents; !extents.empty()) {
    for (std::uint32_t site = 0; site < list.sites; ++site) {
      std::uint32_t sum = 0, rest = site;
      for (const std::uint32_t extent : extents) {
        sum += rest % extent;
        rest /= extent;
      }
      sign[site] = sum % 2 == 0 ? 1 : -1;
    }
    return sign;
  }
  for (std::uint32_t root = 0; root < list.sites; ++root) {
    if (sign[root] != 0) continue;
    sign[root] = 1;
    for (bool grew = true; grew;) {
      grew = false;
      for (const Edge& edge : list.edges) {
        if (sign[edge.a] == 0 && sign[edge.b] != 0) {
          sign[edge.a] = -sign[edge.b];
        } else if (sign[edge.b] == 0 && sign[edge.a] != 0) {
          sign[edge.b] = -sign[edge.a];
        } else {
          continue;
        }
        grew = true;
      }
    }
  }
  for (const Edge& edge : list.edges) {
    if (sign[edge.a] == sign[edge.b]) return {};
  }
  return sign;
}

// J of all edges and h of all sites, in floating point.
struct Instance {
  EdgeList list;
  std::vector<double> coupling, field;
  std::vector<int> staggered;  // sublattice_signs()

  explicit Instance(const CoupledCase& one)
      : list(edges_of(*one.graph)), staggered(sublattice_signs(*one.graph, list)) {
    const Couplings couplings(one.model, *one.graph);
    for (const Edge& edge : list.edges) {
      coupling.push_back(couplings.coupling(edge.id) * kFixedUnit);
    }
    for (std::uint32_t site = 0; site < list.sites; ++site) {
      field.push_back(couplings.field(site) * kFixedUnit);
    }
  }
};

inline void walsh_hadamard(std::vector<double>& x) {
  for (std::size_t half = 1; half < x.size(); half *= 2) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if ((i & half) != 0) continue;
      const double a = x[i], b = x[i | half];
      x[i] = a + b;
      x[i | half] = a - b;
    }
  }
}

inline CoupledAverages enumerate_ising(const Instance& on, double beta) {
  const std::uint32_t n = on.list.sites;
  const auto sign = [](std::size_t state, std::uint32_t site) {
    return (state >> site & 1u) != 0 ? 1 : -1;
  };
  std::vector<double> energy(std::size_t{1} << n);
  double least = 0;
  for (std::size_t s = 0; s < energy.size(); ++s) {
    for (std::size_t k = 0; k < on.coupling.size(); ++k) {
      energy[s] -= on.coupling[k] * sign(s, on.list.edges[k].a) * sign(s, on.list.edges[k].b);
    }
    for (std::uint32_t site = 0; site < n; ++site) energy[s] -= on.field[site] * sign(s, site);
    least = std::min(least, energy[s]);
  }
  std::vector<double> weight(energy.size());
  double sum = 0;
  for (std::size_t s = 0; s < energy.size(); ++s) {
    weight[s] = std::exp(-beta * (energy[s] - least));
    sum += weight[s];
  }
  CoupledAverages out;
  for (std::size_t s = 0; s < energy.size(); ++s) {
    weight[s] /= sum;
    const double m = 2.0 * std::popcount(s) / n - 1;
    out.energy += weight[s] * energy[s] / n;
    out.abs_m += weight[s] * std::abs(m);
    out.m2 += weight[s] * m * m;
    out.m4 += weight[s] * m * m * m * m;
    if (on.staggered.empty()) continue;
    double m_s = 0;
    for (std::uint32_t site = 0; site < n; ++site) m_s += on.staggered[site] * sign(s, site);
    m_s /= n;
    out.abs_staggered += weight[s] * std::abs(m_s);
    out.s2 += weight[s] * m_s * m_s;
    out.s4 += weight[s] * m_s * m_s * m_s * m_s;
  }
  walsh_hadamard(weight);
  for (double& w : weight) w *= w;
  walsh_hadamard(weight);  // 2^n times the probability of s XOR s'
  for (std::size_t x = 0; x < weight.size(); ++x) {
    const double p = weight[x] / static_cast<double>(weight.size());
    const double q = 1 - 2.0 * std::popcount(x) / n;
    double link = 0;
    for (const Edge& edge : on.list.edges) link += sign(x, edge.a) * sign(x, edge.b);
    out.q2 += p * q * q;
    out.q4 += p * q * q * q * q;
    out.link += p * link / static_cast<double>(on.list.edges.size());
  }
  return out;
}

inline CoupledAverages enumerate_potts(const Instance& on, std::uint32_t states, double beta) {
  const std::uint32_t n = on.list.sites;
  std::vector<std::uint32_t> spin(n, 0);
  CoupledAverages out;
  double sum = 0;
  while (true) {
    double energy = 0;
    for (std::size_t k = 0; k < on.coupling.size(); ++k) {
      if (spin[on.list.edges[k].a] == spin[on.list.edges[k].b]) energy -= on.coupling[k];
    }
    std::vector<std::uint32_t> count(states, 0);
    for (const std::uint32_t s : spin) ++count[s];
    const double most = *std::max_element(count.begin(), count.end());
    const double m = (states * most / n - 1) / (states - 1.0), w = std::exp(-beta * energy);
    sum += w;
    out.energy += w * energy / n;
    out.abs_m += w * m;
    out.m2 += w * m * m;
    out.m4 += w * m * m * m * m;
    std::uint32_t site = 0;
    while (site < n && ++spin[site] == states) spin[site++] = 0;
    if (site == n) break;
  }
  for (double* v : {&out.energy, &out.abs_m, &out.m2, &out.m4}) *v /= sum;
  return out;
}

// A case and its exact averages, computed once per temperature.
struct CoupledStates {
  const CoupledCase& one;
  Instance instance{one};
  std::map<double, CoupledAverages> known{};  // by beta

  const CoupledAverages& at(double beta) {
    auto found = known.find(beta);
    if (found == known.end()) {
      const Model& model = one.model;
      found = known
                  .emplace(beta, model.is_potts() ? enumerate_potts(instance, model.q, beta)
                                                  : enumerate_ising(instance, beta))
                  .first;
    }
    return found->second;
  }
};

// Sums over measurements for every pair of replicas: q^2, q^4, link overlap, and of the staggered
// magnetisation of its first replica |m_s|, m_s^2, m_s^4.
struct PairSums {
  std::size_t pairs;
  const EdgeList& list;
  bool staggered;
  std::vector<std::array<double, 6>> rows;  // [T][pairs]
  std::uint64_t measurements = 0;
  bool houdayer = false;

  void add(const Observation& seen) {
    REQUIRE(seen.overlap.size() == rows.size());
    REQUIRE(seen.staggered.size() == (staggered ? 2 * rows.size() : 0));
    ++measurements;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      auto& row = rows[k];
      const double q = static_cast<double>(seen.overlap[k]) / list.sites;
      row[0] += q * q;
      row[1] += q * q * q * q;
      row[2] += static_cast<double>(seen.link_overlap[k]) / static_cast<double>(list.edges.size());
      if (!staggered) continue;
      const double m_s = static_cast<double>(seen.staggered[2 * k]) / list.sites;
      row[3] += std::abs(m_s);
      row[4] += m_s * m_s;
      row[5] += m_s * m_s * m_s * m_s;
    }
  }

  // The time averages at one temperature. Houdayer moves correlate pairs 2k and 2k + 1.
  Estimate mean(std::size_t temperature, std::size_t which) const {
    const std::size_t together = houdayer ? 2 : 1, first = temperature * pairs;
    std::vector<double> values;
    for (std::size_t k = 0; k < pairs; ++k) {
      if (k % together == 0) values.push_back(0);
      values.back() += rows[first + k][which] / static_cast<double>(together * measurements);
    }
    return mean_of(values);
  }
};

// The means of `count` successive rows. Houdayer moves correlate replicas 4k to 4k + 3.
template <class Row>
std::vector<Row> group_means(const std::vector<Row>& rows, std::size_t count) {
  std::vector<Row> means;
  for (std::size_t first = 0; first + count <= rows.size(); first += count) {
    means.push_back(rows[first]);
    for (std::size_t k = 0; k < means.back().size(); ++k) {
      for (std::size_t r = first + 1; r < first + count; ++r) means.back()[k] += rows[r][k];
      means.back()[k] /= static_cast<double>(count);
    }
  }
  return means;
}

inline void compare_coupled(CoupledStates& states, const Update& update, EngineMaker make,
                            const std::vector<double>& temperatures, std::uint64_t seed,
                            const Effort& effort, int device, Scores& scores) {
  const CoupledCase& one = states.one;
  const Instance& instance = states.instance;
  const bool potts = one.model.is_potts();
  EngineSpec spec;
  spec.model = one.model;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = effort.replicas;
  spec.seed = seed;
  spec.local = update.local;
  spec.cluster = update.cluster;
  spec.exchange = update.schedule.exchange;
  spec.houdayer = update.schedule.houdayer;
  EngineOptions options;
  options.threads = 1;
  options.device = device;
  REQUIRE(one.graph->has_sublattices() == !instance.staggered.empty());
  spec.staggered = !potts && one.graph->has_sublattices();
  const double unit = one.model.interactions.energy_unit();
  const auto engine = make(*one.graph, spec, options);
  const std::size_t pairs = spec.replicas / 2;
  PairSums sums{pairs, instance.list, spec.staggered, {}};
  sums.rows.resize(temperatures.size() * pairs);
  sums.houdayer = spec.houdayer;
  auto rows = sample(*engine, spec, update.schedule, instance.list.sites, effort.lengths,
                     [&](const Observation& seen) {
                       if (!potts) sums.add(seen);
                     });
  for (std::size_t t = 0; t < spec.betas.size(); ++t) {
    const CoupledAverages& exact = states.at(spec.betas[t]);
    for (auto& row : rows[t]) row[kE] *= unit;
    if (spec.houdayer) rows[t] = group_means(rows[t], 4);
    std::vector<std::pair<std::string, double>> z = {{"e", column(rows[t], kE).z(exact.energy)},
                                                     {"|m|", column(rows[t], kAbsM).z(exact.abs_m)},
                                                     {"m^2", column(rows[t], kM2).z(exact.m2)},
                                                     {"m^4", column(rows[t], kM4).z(exact.m4)}};
    if (!potts) {
      z.emplace_back("q^2", sums.mean(t, 0).z(exact.q2));
      z.emplace_back("q^4", sums.mean(t, 1).z(exact.q4));
      z.emplace_back("link overlap", sums.mean(t, 2).z(exact.link));
    }
    if (spec.staggered) {
      z.emplace_back("|m_s|", sums.mean(t, 3).z(exact.abs_staggered));
      z.emplace_back("m_s^2", sums.mean(t, 4).z(exact.s2));
      z.emplace_back("m_s^4", sums.mean(t, 5).z(exact.s4));
    }
    for (const auto& [name, value] : z) {
      scores.largest = std::max(scores.largest, std::abs(value));
      ++scores.checks;
      INFO(engine->name() << " on " << engine->device() << ", " << update.name << ", " << one.name
                          << ", T = " << temperatures[t] << ", " << name << ": z = " << value);
      CHECK(std::abs(value) < 4);
    }
    scores.independent.push_back(z[scores.independent.size() % z.size()].second);
  }
}

// Bipartite and other graphs of 10 to 16 sites, with every kind of couplings and fields.
inline std::vector<CoupledCase> coupled_cases() {
  std::vector<CoupledCase> cases;
  const auto built = [&](const GraphSpec& spec, const Interactions& interactions, bool mixes = true,
                         std::uint32_t states = 0) {
    Model model;
    if (states > 0) model = {ModelKind::potts, states};
    model.interactions = interactions;
    std::string name = to_string(model) + ", " + std::string(to_string(spec.rule));
    cases.push_back({name, std::make_shared<const Graph>(build_graph(spec)), model, mixes});
  };
  const std::vector<std::uint32_t> square{4, 4};
  const auto of = [](CouplingKind kind) {
    Interactions out;
    out.couplings = kind;
    return out;
  };
  built({square, 0.3, Rule::rewire, 31}, of(CouplingKind::plus_minus), false);
  built({square, 0.5, Rule::rewire_any, 32}, of(CouplingKind::antiferromagnet), false);
  built({square, 0, Rule::rewire, 33}, of(CouplingKind::gaussian));
  built({square, 0.5, Rule::add_any, 34}, of(CouplingKind::gaussian));
  Interactions mixed = of(CouplingKind::plus_minus);
  mixed.negative_fraction = 0.2;
  mixed.on_shortcuts = true;
  built({square, 0.6, Rule::add, 35}, mixed, false);
  mixed.shortcut_strength = 0.6;
  built({square, 0.6, Rule::rewire, 36}, mixed);
  Interactions field;
  field.field = 0.2;
  built({square, 0.4, Rule::rewire, 37}, field);
  cases.back().slow = true;
  built({{14}, 0.5, Rule::swap, 38}, field);
  field.couplings = CouplingKind::plus_minus;
  field.random_field = RandomField::gaussian;
  field.field_width = 0.7;
  field.seed = 5;
  built({square, 0.3, Rule::rewire, 39}, field);
  field.random_field = RandomField::plus_minus;
  field.field = 0;
  field.couplings = CouplingKind::ferromagnet;
  built({square, 0.3, Rule::rewire_any, 40}, field);
  cases.back().slow = true;

  // Weights and fields as read from a graph file.
  Graph graph = imported_graph(hubs(8, 3, 1), "hubs");
  std::vector<std::int32_t> weights, fields;
  for (std::uint64_t k = 0; k < graph.bonds(); ++k) {
    weights.push_back(static_cast<std::int32_t>(k % 5 * (kFixedOne / 3)) - kFixedOne / 2);
  }
  for (std::uint64_t k = 0; k < graph.sites(); ++k) {
    fields.push_back(static_cast<std::int32_t>(k % 3 * (kFixedOne / 4)) - kFixedOne / 4);
  }
  graph.set_couplings_and_fields(weights, fields);
  Model file;
  file.interactions.couplings = CouplingKind::file;
  cases.push_back({"file", std::make_shared<const Graph>(std::move(graph)), file});

  Interactions weak;
  weak.shortcut_strength = 0.5;
  built({{10}, 0.6, Rule::add, 41}, weak, true, 3);
  return cases;
}

// Updates with replica exchange.
inline std::vector<Update> exchange_updates() {
  const auto wolff = ClusterUpdate::wolff, sw = ClusterUpdate::swendsen_wang;
  return {{"Glauber, exchange", LocalUpdate::glauber, wolff, {1, 0, true}},
          {"Metropolis : Wolff 1:2, exchange", LocalUpdate::metropolis, wolff, {1, 2, true}},
          {"Swendsen-Wang, exchange", LocalUpdate::metropolis, sw, {0, 1, true}}};
}

// Updates with Houdayer moves; for Ising spins.
inline std::vector<Update> houdayer_updates() {
  const auto wolff = ClusterUpdate::wolff, sw = ClusterUpdate::swendsen_wang;
  return {{"Glauber, Houdayer", LocalUpdate::glauber, wolff, {1, 0, false, true}},
          {"Glauber, exchange, Houdayer", LocalUpdate::glauber, wolff, {1, 0, true, true}},
          {"Metropolis : Swendsen-Wang 1:2, exchange, Houdayer",
           LocalUpdate::metropolis,
           sw,
           {1, 2, true, true}}};
}

// Checks Houdayer moves alone: they flip the same sites in both replicas of a couple (r, r + 2),
// and conserve the sum of the two energies.
inline void check_houdayer_conserves(EngineMaker make, const CoupledCase& one, int device) {
  EngineSpec spec;
  spec.model = one.model;
  spec.betas = {0.4, 0.9};
  spec.replicas = 32;
  spec.houdayer = true;
  EngineOptions options;
  options.device = device;
  const auto engine = make(*one.graph, spec, options);
  engine->advance({3, 0, false, true}, 2);
  Observation before, after;
  engine->measure(before);
  const auto all_spins = [&] {
    std::vector<std::vector<std::uint8_t>> all(64, std::vector<std::uint8_t>(one.graph->sites()));
    for (std::uint32_t who = 0; who < 64; ++who) engine->spins(who / 32, who % 32, all[who]);
    return all;
  };
  // In a field spins flip only where the two replicas differ.
  const bool field =
      one.model.interactions.has_field() || one.model.interactions.couplings == CouplingKind::file;
  // Couples whose energies changed; couples in which some, but not all, sites flipped.
  int changed = 0, partly = 0;
  auto old = all_spins();
  for (int move = 0; move < 4; ++move) {
    engine->advance({0, 0, false, true}, 1);
    engine->measure(after);
    const auto spins = all_spins();
    for (std::uint32_t who = 0; who < 64; ++who) {
      if (who % 4 > 1) continue;
      INFO(one.name << ", replica " << who << ", move " << move);
      const auto &a = spins[who], &b = spins[who + 2];
      std::size_t flipped = 0;
      bool together = true, allowed = true;
      for (std::size_t site = 0; site < a.size(); ++site) {
        const bool flips = a[site] != old[who][site];
        flipped += flips ? 1 : 0;
        together = together && flips == (b[site] != old[who + 2][site]);
        allowed = allowed && !(field && flips && a[site] == b[site]);
      }
      CHECK(together);
      CHECK(allowed);
      CHECK(after.bond_sum[who] + after.bond_sum[who + 2] ==
            before.bond_sum[who] + before.bond_sum[who + 2]);
      changed += after.bond_sum[who] != before.bond_sum[who] ? 1 : 0;
      partly += flipped > 0 && flipped < a.size() ? 1 : 0;
    }
    before = after;
    old = spins;
  }
  CHECK(changed > 5);
  CHECK(partly > 5);
}

// The cases that the multispin engine supports.
inline std::vector<CoupledCase> unit_cases() {
  std::vector<CoupledCase> cases;
  for (const CoupledCase& one : coupled_cases()) {
    if (has(EngineKind::multispin, one.model)) cases.push_back(one);
  }
  return cases;
}

// Compares every update of the multispin engine on every case. `slow`: cycles of equilibration
// without exchange, for schedules of cluster updates only and for cases with `slow` set.
inline void compare_unit_cases(EngineMaker make, std::uint64_t seed, const Effort& effort,
                               std::uint32_t slow, int device, Scores& scores) {
  auto updates = wolff_updates();
  for (const Update& update : swendsen_wang_updates()) updates.push_back(update);
  for (const Update& update : exchange_updates()) updates.push_back(update);
  for (const Update& update : houdayer_updates()) updates.push_back(update);
  for (const CoupledCase& one : unit_cases()) {
    CoupledStates states{one};
    for (const Update& update : updates) {
      const bool sweeps_alone = update.schedule.cluster == 0;
      if (update.local == LocalUpdate::metropolis && sweeps_alone && !one.metropolis_mixes)
        continue;
      Effort own = effort;
      // Cluster updates alone rarely leave an energy valley of a frustrated graph.
      if (update.schedule.local == 0 && !update.schedule.exchange) own.lengths.equilibrate = slow;
      // At the lowest temperature, only exchange moves replicas between two valleys often enough.
      std::vector<double> temperatures{1.2, 1.9, 3.0};
      if (one.slow && !update.schedule.exchange) {
        own.lengths.equilibrate = slow;
        temperatures.erase(temperatures.begin());
      }
      compare_coupled(states, update, make, temperatures, ++seed, own, device, scores);
    }
  }
  check_distribution(scores, 1000);
}

// Every update on every case.
inline void compare_all_coupled(EngineMaker make, std::uint64_t seed, const Effort& effort,
                                int device, Scores& scores) {
  const auto cases = coupled_cases();
  auto updates = wolff_updates();
  for (const Update& update : swendsen_wang_updates()) updates.push_back(update);
  for (std::size_t c = 0; c < cases.size(); ++c) {
    CoupledStates states{cases[c]};
    Effort own = effort;
    if (cases[c].slow) own.lengths.equilibrate *= 4;
    const bool potts = cases[c].model.is_potts();
    for (std::size_t u = 0; u < updates.size(); ++u) {
      const bool pure_metropolis = updates[u].local == LocalUpdate::metropolis &&
                                   updates[u].schedule.local > 0 &&
                                   updates[u].schedule.cluster == 0;
      if (pure_metropolis && !cases[c].metropolis_mixes) continue;
      const std::vector<double> temperatures =
          potts ? std::vector<double>{0.4, 0.8} : std::vector<double>{1.9, 3.0};
      compare_coupled(states, updates[u], make, temperatures, seed + 100 * c + u, own, device,
                      scores);
    }
  }
}

}  // namespace rewise::oracle
