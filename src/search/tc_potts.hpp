// `tc` for Potts models whose transition may be of first order: three states and more, but for
// three and four on the plain square lattice. U does not cross there; what is looked at instead are
// the peaks of C and chi and the histogram of the energy, over three sizes or more
// (analysis/scaling/peaks.hpp).
//
//   1. Coarse scan of the smallest size over all temperatures at which it could order; where C is
//      largest is the first estimate.
//   2. Size by size, smallest first: a short run measures tau_int of m^2; 16 graphs locate the
//      peaks by reweighting, and the window moves until they are well inside, and narrows down to
//      three half widths of the peak of C, so that its temperatures cover both phases; the
//      remaining graphs fill the window, whose middle is that of the next size's.
//   3. The transition is where the temperatures of the largest chi and of equal weights meet; its
//      order is measured, or known exactly (square lattice, p = 0).
// The same tasks, leases and checkpoints as by crossings: running again computes what is missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/peaks.hpp"
#include "src/search/size_curves.hpp"
#include "src/study/json_output.hpp"
#include "src/study/study.hpp"

namespace rewise {

// Whether a study's transition is sought this way.
bool by_peaks(const StudyConfig& config);

// Error(usage), naming the file: fewer than three sizes, a target_error, a method, a ring without
// shortcuts.
void check_peaks_config(const StudyConfig& config, const std::string& file);

// One p.
struct PottsPoint {
  double p = 0;
  std::vector<SizeData> sizes;                       // ascending in sites
  std::vector<SizeCurves> simulated;                 // [size]
  std::vector<JackknifeCurve> heat, susceptibility;  // [size], reweighted
  std::vector<HotCold> hot_cold;                     // [size]
  std::vector<SizePeaks> peaks;                      // [size]
  PottsTransition transition;
  std::string status = "ok";                  // as in summary.json
  std::optional<double> exact, exact_latent;  // where they are known: the temperature, the latent
  std::optional<Order> exact_order;           // heat (0 of a second order transition), the order
  std::optional<Value> shift;                 // from p = 0
  std::vector<std::string> warnings;
};

// One per p of the configuration. Error(interrupted) as Study::run.
std::vector<PottsPoint> search_peaks(Study& study, const StopToken& stop, Progress& progress);

Json peaks_summary(const StudyConfig& config, const std::vector<PottsPoint>& points);
std::string peaks_csv(const StudyConfig& config, const std::vector<PottsPoint>& points);
// The tables on standard output.
std::string peaks_text(const StudyConfig& config, const std::vector<PottsPoint>& points);

}  // namespace rewise
