#include "src/curves/kept_points.hpp"

#include <algorithm>

#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/parse.hpp"

namespace rewise {

KeptPoints::KeptPoints(std::filesystem::path file, std::string parameters)
    : file_(std::move(file)), parameters_(std::move(parameters)) {
  if (file_.empty() || !file_exists(file_)) return;
  const auto [state, kept] = parse_kept(read_text_file(file_));
  if (state != KeptState::good || !kept.contains("parameters") ||
      kept["parameters"] != parameters_) {
    return;
  }
  const auto points = kept.find("points");
  if (points != kept.end() && points->is_object()) points_ = *points;
}

CurveSet KeptPoints::point(const std::string& name, double work, Progress& progress,
                           const std::function<CurveSet()>& measure) {
  if (const auto kept = points_.find(name); kept != points_.end()) {
    progress.skip(work);
    return curves_from_json(*kept);
  }
  CurveSet set = measure();
  if (file_.empty()) return set;
  points_[name] = curves_json(set);
  make_folder(file_.parent_path());
  write_text_file(file_, kept_text({{"parameters", parameters_}, {"points", points_}}, -1));
  return set;
}

void KeptPoints::remove() {
  std::error_code none;
  if (!file_.empty()) std::filesystem::remove(file_, none);
}

void append(CurveSet& whole, const CurveSet& part) {
  for (const CurveTable& table : part.tables) {
    CurveTable& all = whole.table(table.name);
    for (const Curve& curve : table.curves) {
      Curve& longer = all.curve(curve.keys);
      for (const auto& [name, values] : curve.columns) {
        for (const double value : values) longer.append(name, value);
      }
    }
  }
  whole.metrics.insert(whole.metrics.end(), part.metrics.begin(), part.metrics.end());
  for (const std::string& note : part.notes) {
    if (std::find(whole.notes.begin(), whole.notes.end(), note) == whole.notes.end()) {
      whole.notes.push_back(note);
    }
  }
}

}  // namespace rewise
