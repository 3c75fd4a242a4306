#include "src/search/cuda_rule.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "src/study/parse.hpp"

namespace rewise {
namespace {

enum class Best { wolff, swendsen_wang, sweeps };

// Best schedules on an H200 at Tc for rule `rewire` (tests/bench/RESULTS.md, "Tuner").
struct Measured {
  double edge, p;
  Schedule wolff, swendsen_wang;  // the best schedule with either update
  Best best;
};

constexpr Measured kSquare[] = {
    {64, 0, {4, 1}, {4, 1}, Best::wolff},
    {64, 1e-3, {4, 1}, {4, 1}, Best::wolff},
    {64, 0.01, {4, 1}, {16, 1}, Best::swendsen_wang},
    {64, 0.1, {16, 1}, {16, 1}, Best::sweeps},
    {128, 0, {4, 1}, {4, 1}, Best::wolff},
    {128, 1e-3, {4, 1}, {4, 1}, Best::swendsen_wang},
    {128, 0.01, {4, 1}, {4, 1}, Best::swendsen_wang},
    {128, 0.1, {64, 1}, {16, 1}, Best::sweeps},
    {256, 0, {4, 1}, {4, 1}, Best::wolff},
    {256, 1e-3, {4, 1}, {4, 1}, Best::swendsen_wang},
    {256, 0.01, {1, 16}, {4, 1}, Best::swendsen_wang},
    {256, 0.1, {64, 1}, {64, 1}, Best::sweeps},
    {512, 0, {1, 1}, {4, 1}, Best::wolff},
    {512, 1e-3, {1, 16}, {4, 1}, Best::swendsen_wang},
    {512, 0.01, {1, 32}, {1, 1}, Best::wolff},
    {512, 0.1, {64, 1}, {16, 1}, Best::sweeps},
    {1024, 0, {4, 1}, {1, 1}, Best::wolff},
    {1024, 1e-3, {1, 16}, {4, 1}, Best::wolff},
    {1024, 0.01, {1, 32}, {1, 1}, Best::wolff},
    {1024, 0.1, {1, 32}, {16, 1}, Best::wolff},
};
constexpr Measured kCubic[] = {
    {24, 0, {4, 1}, {4, 1}, Best::sweeps},     {24, 1e-3, {4, 1}, {4, 1}, Best::sweeps},
    {24, 0.01, {4, 1}, {4, 1}, Best::sweeps},  {24, 0.1, {16, 1}, {16, 1}, Best::sweeps},
    {64, 0, {4, 1}, {4, 1}, Best::wolff},      {64, 0.01, {1, 8}, {4, 1}, Best::sweeps},
    {64, 0.1, {16, 1}, {16, 1}, Best::sweeps},
};

// Distance between lattices is measured by size and by the distance between shortcuts, p^(-1/d) (in
// two dimensions, a factor in L counts as much as its square in p). Lattices with less than four
// shortcuts count as regular.
const Measured& nearest(std::span<const Measured> rows, double dim, double sites, double p) {
  const double edge = std::pow(sites, 1 / dim);
  const auto distance = [&](const Measured& row) {
    const double here = std::max(p, 4 / sites),
                 there = std::max(row.p, 4 / std::pow(row.edge, dim));
    return std::abs(std::log(edge / row.edge)) + std::abs(std::log(here / there)) / dim;
  };
  return *std::min_element(rows.begin(), rows.end(), [&](const Measured& a, const Measured& b) {
    return distance(a) < distance(b);
  });
}

}  // namespace

Updates cuda_candidate(const TaskSpec& spec, bool any_cluster, bool sweeps_alone) {
  const double sites = site_count(spec.graph.extents);
  const bool cubic = spec.graph.extents.size() == 3;  // there are no figures for other dimensions
  const Measured& row =
      cubic ? nearest(kCubic, 3, sites, spec.graph.p) : nearest(kSquare, 2, sites, spec.graph.p);
  if (row.best == Best::sweeps && sweeps_alone) return {{1, 0}, spec.cluster};
  const bool labels =
      any_cluster ? row.best == Best::swendsen_wang : spec.cluster == ClusterUpdate::swendsen_wang;
  if (labels) return {row.swendsen_wang, ClusterUpdate::swendsen_wang};
  return {row.wolff, ClusterUpdate::wolff};
}

}  // namespace rewise
