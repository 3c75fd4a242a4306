// What surrounds the labelling in a Swendsen-Wang update by a named method: bond activation before
// it, cluster sizes and the flip after it. Each is queued for all systems on a stream; draws are
// those of rules.hpp, so that the moves are the same whatever labels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/single/device_plan.hpp"
#include "src/single/labels/label_field.hpp"

namespace rewise::single {

// The field of a plan's systems without the arrays that are the caller's.
inline LabelField label_outline(const DevicePlan& plan, std::uint32_t systems,
                                std::uint64_t stride) {
  LabelField field;
  field.geometry = Geometry::make(plan.lattice);
  field.dim = plan.lattice.dim;
  field.sites = plan.sites;
  field.systems = systems;
  field.stride = stride;
  field.shortcuts = plan.rewired;
  field.shortcut_count = plan.rewired_count;
  return field;
}

// Sums over clusters of one update, per system: n^2, n^4 low and high.
inline constexpr std::uint32_t kClusterSums = 3;

// field.bonds: the lattice's bonds that are drawn and join equal spins; shortcut_on: the rewired
// ones. Weigel 2011, section II.1, prepare_bonds(); a Philox call gives four bonds.
void launch_activate(const DevicePlan& plan, const DeviceSystems& systems, const LabelField& field,
                     std::uint8_t* shortcut_on, cudaStream_t stream);
// Its two kernels, the second after the first of all devices.
void launch_activate_lattice(const DevicePlan& plan, const DeviceSystems& systems,
                             const LabelField& field, cudaStream_t stream);
void launch_activate_shortcuts(const DevicePlan& plan, const DeviceSystems& systems,
                               const LabelField& field, std::uint8_t* shortcut_on,
                               cudaStream_t stream);

// field.size: sites of a cluster at its label, 0 elsewhere; their sums are added to systems.pending
// and quartic [systems][low, high]. sums: [systems][kClusterSums], 0 before and after.
void launch_cluster_sums(const DeviceSystems& systems, const LabelField& field,
                         unsigned long long* sums, unsigned long long* quartic,
                         cudaStream_t stream);
// Its kernels, each after that before it of all devices; field.size is 0 before.
void launch_count_clusters(const LabelField& field, cudaStream_t stream);
void launch_sum_clusters(const LabelField& field, unsigned long long* sums, cudaStream_t stream);
void launch_close_sums(const DeviceSystems& systems, unsigned long long* sums,
                       unsigned long long* quartic, cudaStream_t stream);

// Every cluster flips or not (Potts: takes a state), as its label draws. Section II.4: what a site
// would draw is written to the array of bonds (prepare_flip()), then sites read it at their label
// (flip()).
void launch_flip_labels(const DevicePlan& plan, const DeviceSystems& systems,
                        const LabelField& field, cudaStream_t stream);
// Its two kernels, likewise.
void launch_draw_orientations(const DevicePlan& plan, const DeviceSystems& systems,
                              const LabelField& field, cudaStream_t stream);
void launch_flip_sites(const DevicePlan& plan, const DeviceSystems& systems,
                       const LabelField& field, cudaStream_t stream);

}  // namespace rewise::single
