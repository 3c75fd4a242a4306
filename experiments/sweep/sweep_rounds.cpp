#include "experiments/sweep/sweep_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/sweep/sweep_target.hpp"

namespace rewise {
namespace {

class SweepRounds {
 public:
  SweepRounds(SweepTasks& tasks, const std::function<void()>& interim)
      : tasks_(tasks), interim_(interim) {
    for (SweepWork& work : tasks.works) {
      for (std::size_t k = 0; k < work.point.sizes.size(); ++k) {
        const SizeData& size = work.point.sizes[k];
        SweepTarget target;
        target.asked = *tasks.config().target_error;
        target.graphs_before = static_cast<std::uint32_t>(size.samples.graphs.size());
        target.measurements_before = size.plan.measure;
        work.point.targets.push_back(std::move(target));
        open_.push_back({&work, k, {}});
      }
    }
  }

  void run() {
    while (true) {
      for (Cell& cell : open_) look_at(cell);
      std::erase_if(
          open_, [](const Cell& cell) { return cell.step.reached || !cell.step.stopped.empty(); });
      if (open_.empty()) return;
      if (interim_) interim_();
      add();
    }
  }

 private:
  struct Cell {
    SweepWork* work = nullptr;
    std::size_t size = 0;
    SweepStep step;
  };

  void look_at(Cell& cell) const {
    SweepPoint& point = cell.work->point;
    cell.step = next_sweep_step(tasks_.config(), point.p, point.sizes[cell.size]);
    SweepTarget& target = point.targets[cell.size];
    target.reached = cell.step.error;
    target.observable = cell.step.observable;
    target.temperature = cell.step.temperature;
    target.thermal = cell.step.thermal;
    target.stopped = cell.step.stopped;
  }

  // Of all graphs of the cell so far, on one core.
  double seconds_done(const Cell& cell) const {
    const SizeData& size = cell.work->point.sizes[cell.size];
    return tasks_.task_of(*cell.work, cell.size, 0, size.plan, "sweep").seconds *
           static_cast<double>(size.samples.graphs.size());
  }

  void add() {
    const double target = *tasks_.config().target_error;
    double worst = 0, all = 0;
    std::vector<SweepCell> cells;
    for (const Cell& cell : open_) {
      all += cell.step.work_left * seconds_done(cell);
      worst = std::max(worst, cell.step.error);
      cell.work->point.sizes[cell.size].plan.measure = cell.step.measure;
      ++cell.work->point.targets[cell.size].rounds;
      cells.push_back({cell.work, cell.size, cell.step.graphs});
    }
    tasks_.progress().line(
        fmt::format("round {}: relative error {:.2g} at the worst of {} size(s) that are above the "
                    "target {:.2g}",
                    ++round_, worst, open_.size(), target));
    tasks_.progress().stage(fmt::format("to {:.2g}", target));
    const double now = tasks_.seconds_to_fill(cells);
    tasks_.expect(now, std::max(all - now, 0.0), false);
    tasks_.fill(cells);
  }

  SweepTasks& tasks_;
  const std::function<void()>& interim_;
  std::vector<Cell> open_;  // still to be brought to the target
  int round_ = 0;
};

}  // namespace

void run_sweep_rounds(SweepTasks& tasks, const std::function<void()>& interim) {
  SweepRounds(tasks, interim).run();
}

}  // namespace rewise
