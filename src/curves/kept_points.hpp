// Finished points of a run of `rewise reproduce` (one temperature and schedule, one lattice, one
// labelling method ..), kept in one file as they come, so that a run that was ended early goes on
// after the last of them. A point is a part of the run's CurveSet; append() puts parts together.
//
// Every write replaces the file in one step. Points count only for the same `parameters` (all that
// determines the run), so that a changed configuration starts anew; a file that is damaged counts
// as none, since nothing in it took more than a run to find out.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "src/curves/curve_set.hpp"
#include "src/study/progress.hpp"

namespace rewise {

class KeptPoints {
 public:
  KeptPoints() = default;  // keeps nothing: every point is measured
  KeptPoints(std::filesystem::path file, std::string parameters);

  // The point `name` as it was kept, else as `measure` gives it. `work`: what `measure` adds to
  // the progress.
  CurveSet point(const std::string& name, double work, Progress& progress,
                 const std::function<CurveSet()>& measure);
  std::size_t count() const { return points_.size(); }
  void remove();  // the file: the whole run is kept elsewhere by now

 private:
  std::filesystem::path file_;
  std::string parameters_;
  Json points_ = Json::object();  // name -> curves_json
};

// Adds tables, metrics and notes of a part: a curve with the keys of one that is there is its
// continuation, a note that is there already is not repeated.
void append(CurveSet& whole, const CurveSet& part);

}  // namespace rewise
