#include "experiments/study_schedule.hpp"

#include <fmt/format.h>

#include "experiments/auto_schedule.hpp"
#include "experiments/options.hpp"

namespace rewise {

Schedule study_schedule(const Study& study, const TaskSpec& spec, double work,
                        const Schedule& otherwise, const StopToken& stop, Progress& progress) {
  ScheduleWish wish;
  wish.spec = spec;
  wish.work = work;
  wish.rule_of_thumb = otherwise;
  wish.options.device = study.devices().front();
  wish.options.threads = 1;
  const ChosenSchedule chosen = choose_schedule(study.folder(), wish, stop);
  if (chosen.tuned) {
    progress.line(fmt::format("p = {}, {}: schedule {}, {}", number_text(spec.graph.p),
                              extents_text(spec.graph.extents), to_string(chosen.schedule),
                              chosen.reason));
  }
  return chosen.schedule;
}

}  // namespace rewise
