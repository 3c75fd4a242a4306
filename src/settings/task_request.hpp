// The settings of a run as a user gives them, on the command line, in a study's file or in Python,
// and the task that they describe. Callers fill a TaskRequest. The functions here resolve "auto",
// check settings that depend on each other, and name them in messages by a SettingNames.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/engine/registry.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/setting_names.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

struct TaskRequest {
  GraphSpec lattice;                   // no extents: only `graph` is given
  std::shared_ptr<const Graph> graph;  // replaces the lattice
  Model model;
  // No schedule, no cluster update: they are chosen later.
  GivenUpdates updates;
  std::optional<std::uint64_t> few_cluster_tile;
  std::optional<double> few_cluster_flip;
  std::string engine = "auto";
  NamedEngines allowed = NamedEngines::of_studies;
  bool exchange = false, houdayer = false;
  bool share_ranks = false;  // ranks share each replica
  std::optional<bool> staggered;
  std::vector<double> temperatures;  // with exchange also the two ends of a range
  std::uint64_t replicas = 32;
  Start start = Start::mixed;
  std::shared_ptr<const std::vector<std::uint8_t>> start_spins;  // of Start::given
  // By default that of the network, because averages over runs of different networks need random
  // numbers that are not the same; 1 for graphs without a seed.
  std::optional<std::uint64_t> seed;
  std::uint64_t equilibrate = 1000, measure = 1000, every = 1;
};

// The settings that do not depend on temperatures, which a study may choose. For a study of
// lattices, `lattice` is its first one. Throws Error(usage).
TaskSettings task_settings(const TaskRequest& request, const SettingNames& names);
// The task. Without a schedule in `request`, it has the schedule 1:1, or 1:0 if its engine has no
// cluster updates. Throws Error(usage).
TaskSpec task_spec(const TaskRequest& request, const SettingNames& names);

// Throw Error(usage) for a number beyond the limits of the key in the table [sampling] of a study,
// except that `measure` may be 0.
void check_limits(std::uint64_t value, const char* key, const SettingNames& names);
void check_limits(double value, const char* key, const SettingNames& names);
// Throws Error(usage) if replica exchange has fewer than two temperatures.
void check_exchange_temperatures(std::size_t count, const SettingNames& names);
// Throws Error(usage) without a temperature, for one out of range, or for too few of them.
void check_temperatures(const TaskRequest& request, const SettingNames& names);

}  // namespace rewise
