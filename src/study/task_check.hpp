// Checks the consistency of a stored task, with itself and with its specification. Digests detect
// damage but not intent: a user with write access can forge consistent numbers. Impossible values
// are rejected nevertheless, so that no file can crash a run, make it run forever or misdirect it:
//
//   temperatures, replicas, extents, p, rule and seed equal those of the specification;
//   cycles = discarded + every * measurements (checkpoints: up to one measurement more), and the
//   number of steps fits the cycles;
//   |sum of s_i s_j| <= bonds, |sum of s_i| <= sites; Potts: 0..bonds, 0..(q - 1) sites;
//   cluster sums exist only with cluster updates, within the bounds that these set.
//
// Cost: one pass over the series.
#pragma once

#include "src/settings/task_spec.hpp"

namespace rewise {

// Throws Error(data) with the file and the contradiction.
void check_task(const TaskData& task, const TaskSpec& spec, const std::filesystem::path& file);

// Throws Error(data) if the stored graph differs from the one that its seed generates. The caller
// adds the file's name.
void check_task_graph(const TaskData& task, const Graph& graph);

}  // namespace rewise
