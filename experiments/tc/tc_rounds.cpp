#include "experiments/tc/tc_rounds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "experiments/console/options.hpp"
#include "experiments/tc/tc_target.hpp"

namespace rewise {
namespace {

class Rounds {
 public:
  Rounds(TcTasks& tasks, const std::vector<std::size_t>& which, const AddSize& add_size,
         const TcInterim& interim)
      : tasks_(tasks),
        add_size_(add_size),
        interim_(interim),
        steps_(tasks.points.size()),
        open_(which) {
    for (TcPoint& point : tasks_.points) {
      point.data.target.emplace();
      point.data.target->asked = *tasks_.config().target_error;
    }
  }

  void run() {
    while (true) {
      for (const auto i : open_) {
        steps_[i] = next_step(tasks_.config(), tasks_.points[i].data);
        note(tasks_.points[i].data, steps_[i]);
      }
      std::erase_if(open_,
                    [&](std::size_t i) { return steps_[i].reached || !steps_[i].stopped.empty(); });
      if (open_.empty()) return;
      if (interim_) show();
      announce();
      add();
    }
  }

 private:
  static void note(PointData& point, const TargetStep& step) {
    TargetState& state = *point.target;
    state.reached = step.error;
    state.done = step.reached;
    state.stopped = step.stopped;
    state.sizes.resize(point.sizes.size());
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      state.sizes[k].share = step.sizes[k].share;
      state.sizes[k].thermal = step.sizes[k].thermal;
      if (state.rounds > 0) continue;
      state.sizes[k].graphs_before =
          static_cast<std::uint32_t>(point.sizes[k].samples.graphs.size());
      state.sizes[k].measurements_before = point.sizes[k].plan.measure;
    }
  }

  void show() const {
    std::vector<PointData> points;
    for (const TcPoint& point : tasks_.points) points.push_back(point.data);
    interim_(points);
  }

  // How far every p is; what is left, as the progress line's measure.
  void announce() {
    std::vector<std::string> errors;
    later_ = 0;
    for (const auto i : open_) {
      const TcPoint& point = tasks_.points[i];
      later_ += steps_[i].work_left * seconds_done(point);
      errors.push_back(fmt::format("{:.2g} at p = {}", steps_[i].error, number_text(point.data.p)));
    }
    const double target = *tasks_.config().target_error;
    tasks_.progress().line(fmt::format("round {}: relative error {}; target {:.2g}", ++round_,
                                       fmt::join(errors, ", "), target));
    tasks_.progress().stage(fmt::format("to {:.2g}", target));
    tasks_.expect(0, later_, false);
  }

  // Of all graphs so far, on one core.
  double seconds_done(const TcPoint& point) const {
    double seconds = 0;
    for (std::size_t k = 0; k < point.data.sizes.size(); ++k) {
      const SizeData& size = point.data.sizes[k];
      seconds += tasks_.task_of(point, k, 0, size.plan, "tc").seconds *
                 static_cast<double>(size.samples.graphs.size());
    }
    return seconds;
  }

  void add() {
    std::vector<TcCell> cells;
    std::map<std::size_t, std::vector<std::size_t>> growing;  // size -> points
    for (const auto i : open_) {
      PointData& point = tasks_.points[i].data;
      ++point.target->rounds;
      if (steps_[i].another_size) {
        growing[point.sizes.size()].push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < point.sizes.size(); ++k) {
        point.sizes[k].plan = steps_[i].plans[k];
        cells.push_back({i, k, steps_[i].graphs[k]});
      }
    }
    const double seconds = tasks_.fill(cells);
    tasks_.expect(seconds, std::max(later_ - seconds, 0.0), false);
    for (const auto& [size, points] : growing) add_size_(size, points);
  }

  TcTasks& tasks_;
  const AddSize& add_size_;
  const TcInterim& interim_;
  std::vector<TargetStep> steps_;  // [point]
  std::vector<std::size_t> open_;  // points still to be brought to the target
  int round_ = 0;
  double later_ = 0;  // seconds on one core to the target, from the start of the round
};

}  // namespace

void run_rounds(TcTasks& tasks, const std::vector<std::size_t>& which, const AddSize& add_size,
                const TcInterim& interim) {
  Rounds(tasks, which, add_size, interim).run();
}

}  // namespace rewise
