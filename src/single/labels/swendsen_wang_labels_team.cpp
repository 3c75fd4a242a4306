#include "src/single/labels/swendsen_wang_labels_team.hpp"

#include <algorithm>

#include "src/single/labels/label_parts.hpp"
#include "src/single/labels/label_steps.hpp"

namespace rewise::single {

TeamLabels::TeamLabels(const DeviceTeam& team, const std::vector<DevicePlan>& plans,
                       std::uint32_t systems, std::uint64_t system_stride)
    : team_(team), plans_(plans) {
  const DevicePlan& plan = plans.front();
  const auto add = [&]<class T>(T*& array, std::uint64_t of_system) {
    arrays_.emplace_back(sizeof(T) * of_system * systems, sizeof(T) * of_system, team.devices());
    array = reinterpret_cast<T*>(arrays_.back().data());
  };
  LabelField shared = label_outline(plan, systems, system_stride);
  add(shared.bonds, system_stride);
  add(shared.label, system_stride);
  add(shared.size, system_stride);
  if (plan.rewired_count > 0) add(shortcut_on_, plan.rewired_count);
  add(sums_, kClusterSums);
  StripedMemory& sums = arrays_.back();
  shared.shortcut_on = shortcut_on_;
  team.for_each([&](std::size_t part, cudaStream_t) {
    fields_.push_back(shared);
    fields_.back().shortcuts = plans[part].rewired;
    fields_.back().part = {static_cast<std::uint32_t>(part),
                           static_cast<std::uint32_t>(team.size())};
    within_.push_back(std::make_unique<FixedPoint>());
  });
  team.use(0);
  across_ = std::make_unique<FixedPoint>();
  clock_ = std::make_unique<LabelClock>();
  sums.clear(team.stream(0));
  team.barrier();
}

std::uint64_t TeamLabels::bytes(const DevicePlan& plan, std::uint32_t systems,
                                std::uint64_t system_stride, std::size_t devices) {
  return systems * (9 * system_stride + plan.rewired_count) / devices + (5u << 21);
}

std::uint64_t TeamLabels::label_parts() {
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    launch_part_start(fields_[part], stream);
    within_[part]->start();
  });
  std::vector<bool> done(team_.size(), false);
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      if (done[part]) return;
      within_[part]->queue(stream, [&](const PassFlags& flags) {
        launch_part_equivalence(fields_[part], flags, stream);
      });
    });
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      if (!done[part]) done[part] = within_[part]->wait(stream);
    });
  }
  team_.barrier();
  std::uint64_t most = 0;
  for (const auto& part : within_) most = std::max(most, part->passes());
  return most;
}

std::uint64_t TeamLabels::join_parts() {
  team_.use(0);
  across_->run(team_.stream(0), [&](const PassFlags& flags) {
    if (flags.before == nullptr) team_.barrier();  // a batch: its flags have been cleared
    step([&](std::size_t part, cudaStream_t stream) {
      launch_border_scan(fields_[part], flags, stream);
    });
    // All have done with a batch's flags before the first clears them for the next.
    step([&](std::size_t part, cudaStream_t stream) {
      launch_border_analysis(fields_[part], flags, stream);
    });
    team_.use(0);
  });
  step([&](std::size_t part, cudaStream_t stream) { launch_part_end(fields_[part], stream); });
  return across_->passes();
}

void TeamLabels::update(const std::vector<DeviceSystems>& systems, unsigned long long* quartic) {
  const auto mark = [&] {
    team_.use(0);
    clock_->mark(team_.stream(0));
  };
  mark();
  step([&](std::size_t part, cudaStream_t stream) {
    launch_activate_lattice(plans_[part], systems[part], fields_[part], stream);
  });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_activate_shortcuts(plans_[part], systems[part], fields_[part], shortcut_on_, stream);
  });
  mark();
  std::uint64_t passes = label_parts();
  mark();
  passes += join_parts();
  mark();
  step([&](std::size_t part, cudaStream_t stream) {
    launch_draw_orientations(plans_[part], systems[part], fields_[part], stream);
  });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_flip_sites(plans_[part], systems[part], fields_[part], stream);
  });
  mark();
  step(
      [&](std::size_t part, cudaStream_t stream) { launch_count_clusters(fields_[part], stream); });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_sum_clusters(fields_[part], sums_, stream);
  });
  team_.use(0);
  launch_close_sums(systems.front(), sums_, quartic, team_.stream(0));
  mark();
  clock_->end_update(passes);
}

void TeamLabels::run(std::vector<DeviceSystems> systems, std::uint32_t updates,
                     unsigned long long* quartic) {
  for (std::uint32_t n = 0; n < updates; ++n) {
    update(systems, quartic);
    for (DeviceSystems& of_part : systems) ++of_part.step;
  }
  team_.barrier();
}

}  // namespace rewise::single
