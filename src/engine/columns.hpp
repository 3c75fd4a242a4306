// The table of observables: the columns of integers that a measurement consists of.
//
// A column is one member of Columns and one line of for_each_column(). Batches, device results,
// task files, their digests and checks, cuts and joins of series, and Python arrays all loop over
// this table. Only the engine that fills a column and the statistic that reads it name it, so that
// access costs no lookup. How to add one: CONTRIBUTING.md, "an observable".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/fixed_point.hpp"
#include "src/engine/schedule.hpp"
#include "src/model/model.hpp"

namespace rewise {

// At each temperature, a column has one value per item of this kind. A word group has 32 replicas.
// A pair consists of replicas 2k and 2k + 1, of which the first starts ordered and the second
// random (Start::mixed), so every replica is in one pair.
enum class Per { replica, word_group, replica_pair, temperature };

constexpr std::size_t values_per_temperature(Per per, std::size_t replicas) {
  switch (per) {
    case Per::replica:
      return replicas;
    case Per::word_group:
      return replicas / 32;
    case Per::replica_pair:
      return replicas / 2;
    case Per::temperature:
      return replicas > 0 ? 1 : 0;
  }
  return 0;
}

// The runs that have a column. Columns with the same value of MeasuredIn, except `some`, occur
// together or not at all.
enum class MeasuredIn {
  all,                // every run of every engine
  cluster_updates,    // runs with cluster updates
  swendsen_wang,      // runs with Swendsen-Wang updates
  weighted_clusters,  // likewise, on a graph with weights (graphs/bare.hpp), multispin engine
  cluster_pairs,      // Swendsen-Wang updates with EngineSpec::cluster_pairs
  weighted_pairs,     // likewise, on a graph with weights
  // Runs whose engine fills the column; empty otherwise. An engine fills it on all devices or on
  // none, so that a run may be continued on another device.
  some,
};

// The run that measures: determines its columns and the range of their values. The sizes are real
// numbers, because estimates use mean numbers of bonds.
struct MeasuredRun {
  Model model;
  double sites = 0, bonds = 0;
  double dim = 0;  // of the lattice
  double temperatures = 1, replicas = 32;
  double cycles = 1;           // per measurement
  double cluster_updates = 0;  // likewise
  ClusterUpdate cluster = ClusterUpdate::wolff;
  bool bare = false, cluster_pairs = false, exchange = false, staggered = false;
  double max_coupling = kMaxCoupling;  // largest |J| and |h|, unless all are 1

  // At most one end of a removed bond stayed (graphs/bare.hpp).
  double max_weights() const { return dim * sites; }
  double max_cross() const { return cluster_updates * sites * max_weights(); }
  double max_weight() const { return cluster_updates * max_weights() * max_weights(); }
  double max_size() const { return cluster_updates * sites * sites; }
  double max_quartic() const { return 3 * max_size() * sites * sites; }
  bool has_overlaps() const { return !model.is_ferromagnet() || exchange; }
  double max_exchanges() const { return exchange ? cycles * replicas : 0; }
  // Largest sum over bonds, with fields.
  double max_energy() const {
    const double unit = model.interactions.energy_unit();
    if (unit == 1) return bonds;
    return (bonds + (model.interactions.may_have_field() ? sites : 0)) * max_coupling / unit;
  }
};

// Smallest and largest possible value of a column. A bound of 2^64 or more is no restriction.
struct ColumnRange {
  double least = 0, most = 0;
  bool both_signs = false;  // values of both signs are common

  static constexpr ColumnRange up_to(double most) { return {0, most}; }
  static constexpr ColumnRange of_both_signs(double most) { return {-most, most, true}; }
};

struct ColumnInfo {
  std::string_view name;  // of the dataset in task files
  Per per;
  MeasuredIn in;
  ColumnRange (*range)(const MeasuredRun& run);  // of MeasuredIn::some: 0, 0 without the column
  std::string_view help;                         // what the integer is, with its normalisation
  std::string_view in_python = "";               // other name of the integer array in Python

  constexpr std::string_view array() const { return in_python.empty() ? name : in_python; }
  // True if the column counts clusters since the previous measurement.
  constexpr bool of_clusters() const { return in != MeasuredIn::all && in != MeasuredIn::some; }
  // Columns of the first format of task files enter digests even when they are empty.
  constexpr bool of_first_format() const { return in <= MeasuredIn::swendsen_wang; }
};

// List<T>: the values of one column, in the type T in which it is counted. A 128-bit sum takes two
// columns.
template <template <class...> class List>
struct Columns {
  List<std::int64_t> bond_sum;  // files of tasks call it `energy`
  List<std::int64_t> magnetisation;
  List<std::uint64_t> cluster_size;
  List<std::uint64_t> cluster_quartic_low, cluster_quartic_high;
  List<std::uint64_t> cluster_cross, cluster_weight;
  List<std::uint64_t> pair_size, pair_cross, pair_weight;
  List<std::int64_t> overlap, link_overlap;
  List<std::uint64_t> walker, exchange_attempts, exchanges;
  List<std::int64_t> staggered;
};

// Calls f(ColumnInfo, its list in each of `columns`...) for each column, in the order of files.
// Each of `columns` is a Columns or derived from one.
template <class F, class... C>
void for_each_column(const F& f, C&... columns) {
  using Run = const MeasuredRun&;
  using Range = ColumnRange;
  f(ColumnInfo{"energy", Per::replica, MeasuredIn::all,
               [](Run run) {
                 return Range{
                     run.model.is_potts() && run.model.is_ferromagnet() ? 0 : -run.max_energy(),
                     run.max_energy()};
               },
               "sum over bonds of s_i s_j; Potts: of delta(s_i, s_j); e = -sum / N. With couplings "
               "and fields minus the energy, in units of 1 or 2^-20 (src/model/interactions.hpp)",
               "bond_sum"},
    columns.bond_sum...);
  f(ColumnInfo{"magnetisation", Per::replica, MeasuredIn::all,
               [](Run run) {
                 return run.model.is_potts() ? Range::up_to(run.sites * (run.model.q - 1))
                                             : Range::of_both_signs(run.sites);
               },
               "sum over sites of s_i; Potts: q N_max - N; m = sum / (N (q - 1))",
               "magnetisation_sum"},
    columns.magnetisation...);
  f(ColumnInfo{"cluster_size", Per::replica, MeasuredIn::cluster_updates,
               [](Run run) {
                 return Range::up_to(run.cluster == ClusterUpdate::wolff
                                         ? run.cluster_updates * run.sites
                                         : run.max_size());
               },
               "Wolff: sum over updates of the sites that flipped, <m^2> = sum / (updates N); "
               "Swendsen-Wang: sum over clusters of n^2, n its sites, <m^2> = sum / (updates N^2); "
               "few-cluster: sum over seed sites of n times the sites of its tile, <m^2> likewise"},
    columns.cluster_size...);
  f(ColumnInfo{"cluster_quartic_low", Per::replica, MeasuredIn::swendsen_wang,
               [](Run run) { return Range::up_to(run.max_quartic()); },
               "sum over updates of 3 (sum n^2)^2 - 2 sum n^4, bits 0..63; <m^4> = sum / (updates "
               "N^4)"},
    columns.cluster_quartic_low...);
  f(ColumnInfo{"cluster_quartic_high", Per::replica, MeasuredIn::swendsen_wang,
               [](Run run) { return Range::up_to(run.max_quartic() * 0x1p-64); },
               "likewise, bits 64..127"},
    columns.cluster_quartic_high...);
  f(ColumnInfo{"cluster_cross", Per::replica, MeasuredIn::weighted_clusters,
               [](Run run) { return Range::up_to(run.max_cross()); },
               "sum over updates and clusters of n w, w the sum of the weights of its sites"},
    columns.cluster_cross...);
  f(ColumnInfo{"cluster_weight", Per::replica, MeasuredIn::weighted_clusters,
               [](Run run) { return Range::up_to(run.max_weight()); },
               "sum over updates and clusters of w^2"},
    columns.cluster_weight...);
  f(
      ColumnInfo{
          "pair_size", Per::replica_pair, MeasuredIn::cluster_pairs,
          [](Run run) { return Range::up_to(run.max_size()); },
          "sum over updates and pairs of clusters, one of each replica, of n^2, n their common "
          "sites; sum over sites i, j of <s_i s_j>^2 = sum / updates"},
      columns.pair_size...);
  f(ColumnInfo{"pair_cross", Per::replica_pair, MeasuredIn::weighted_pairs,
               [](Run run) { return Range::up_to(run.max_cross()); },
               "likewise of n w, w the sum of the weights of their common sites"},
    columns.pair_cross...);
  f(ColumnInfo{"pair_weight", Per::replica_pair, MeasuredIn::weighted_pairs,
               [](Run run) { return Range::up_to(run.max_weight()); }, "likewise of w^2"},
    columns.pair_weight...);
  f(ColumnInfo{"overlap", Per::replica_pair, MeasuredIn::some,
               [](Run run) { return Range::of_both_signs(run.has_overlaps() ? run.sites : 0); },
               "sum over sites of s_i s'_i of two replicas; q = sum / N"},
    columns.overlap...);
  f(ColumnInfo{"link_overlap", Per::replica_pair, MeasuredIn::some,
               [](Run run) {
                 const double most = run.has_overlaps() ? run.bonds : 0;
                 return Range{-most, most};
               },
               "sum over bonds of s_i s_j s'_i s'_j of two replicas; q_l = sum / bonds"},
    columns.link_overlap...);
  f(ColumnInfo{"walker", Per::replica, MeasuredIn::some,
               [](Run run) { return Range::up_to(run.exchange ? run.temperatures - 1 : 0); },
               "replica exchange: index of the temperature at which this configuration started"},
    columns.walker...);
  f(ColumnInfo{"exchange_attempts", Per::temperature, MeasuredIn::some,
               [](Run run) { return Range::up_to(run.max_exchanges()); },
               "attempted exchanges with the next temperature since the previous measurement"},
    columns.exchange_attempts...);
  f(ColumnInfo{"exchanges", Per::temperature, MeasuredIn::some,
               [](Run run) { return Range::up_to(run.max_exchanges()); },
               "accepted exchanges with the next temperature since the previous measurement"},
    columns.exchanges...);
  f(ColumnInfo{"staggered", Per::replica, MeasuredIn::some,
               [](Run run) { return Range::of_both_signs(run.staggered ? run.sites : 0); },
               "sum over sites of eps_i s_i, eps = 1 on one sublattice and -1 on the other; m_s = "
               "sum / N"},
    columns.staggered...);
}

}  // namespace rewise
