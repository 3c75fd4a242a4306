// The list of observables: one entry per function of averaged moments. Tables, JSON, CSV files,
// plots and sampling.target_observables read this list. Reweighting and averages over graphs act on
// the moments, and errors come from the jackknife, so that a new observable needs only an entry
// here (and in moments.hpp, if its moment is new).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analysis/series/moments.hpp"

namespace rewise {

struct ObservableInfo {
  std::string_view name;    // key in JSON and CSV
  std::string_view symbol;  // heads the columns of tables; "": not in the tables of `run`
  std::string_view label;   // of an axis, LaTeX, with the unit; J = k_B = 1
  // Meaningful only in comparison with other sizes: not in the output of `run`.
  bool compares_sizes = false;
};

struct Observable : ObservableInfo {
  double (*value)(const Moments& m, double sites, double temperature);
  bool is_variance = false;  // over time: a short block of a correlated series gives too small a
                             // value
  Moment mean_of = kMomentCount;  // the moment that it is; kMomentCount: another function
};

std::span<const Observable> observables();

// Observables of the staggered magnetisation m_s = (1/N) sum_i eps_i s_i, eps_i = 1 and -1 on the
// two sublattices: functions of Moments in which m_s takes the place of m.
std::span<const Observable> staggered_observables();

// Observables of models in a field: <m> with its sign, and dm/dh.
std::span<const Observable> field_observables();

// The index in observables(); Error(internal) for an unknown name.
std::size_t observable(std::string_view name);

// Observables of one graph, [which]: jackknife over the rows of block_moments. With one
// row every error is NaN. (The jackknife's correction of C and chi over replicas equals that of
// products of different replicas.)
std::vector<Value> observables_of_graph(const MomentRows& rows, double sites, double temperature,
                                        std::span<const Observable> which = observables());

}  // namespace rewise
