// A figure of a paper, as data (experiments/configs/reproduce/NAME.toml): runs, panels to draw from
// them, and checks of what the paper found.
//
//   title, paper, found   what it shows, where, and what the paper says about it
//   note                  what to know about ours (optional); long texts may be lists of lines
//   [[run]]               name, kind, parameters; [run.quick] and [run.paper] add those of a scale
//   [[panel]]             run, table, x, y and how to draw them (rewise/plots/plot_curves.py);
//                         theirs = [{ label, source, x = [..], y = [..] }]: the numbers that the
//                         paper's text, tables and captions give of its curves, and where; x alone:
//                         vertical lines; y alone: horizontal ones; slope: of a power law in x
//   [[check]]             claim, left, relation, right, ..: a computed verdict; source: of a
//                         number on the right; `why` is said where ours does not agree; scale: of
//                         this one only; ratio: it is told
//
// Kinds of runs: equilibrate, decorrelate, clusters (as the commands), moments (thermal averages
// against temperature), tc (the study behind `rewise tc`), speed (time of a Wolff update,
// figure_speed.hpp), labelling and few-cluster (times of cluster updates by method,
// figure_labels.hpp).
#pragma once

#include <string>
#include <vector>

#include "src/curves/curve_spec.hpp"

namespace rewise {

struct FigureRun {
  std::string name, kind;
  CurveSpec spec;                                 // sizes.front(), ps.front()
  std::vector<std::vector<std::uint32_t>> sizes;  // moments, tc: all of them
  std::vector<double> ps;                         // moments, tc: all of them
  std::vector<std::uint32_t> q;                   // labelling: Potts states
  std::vector<double> ratios;                     // labelling: beta / beta_c
  std::vector<LabelMethod> labels;                // labelling: its methods
  std::vector<WolffMethod> wolffs;                // speed: likewise; none: the default
  std::vector<std::uint32_t> tiles;               // labelling: edges; 0: the method's own
  std::vector<std::uint32_t> ranks;  // labelling: that share a system; none: one engine
  std::string axis;                  // labelling: size, ratio, tile or ranks
  std::uint64_t core = 0;            // labelling: largest edge that one core is timed for
  bool fit_passes = false;           // labelling: with fit_from; figure_labels.hpp
  std::string parameters;            // all that determines the run, one line
};

struct FigureCheck {
  std::string claim, why, source;
  std::string relation;  // less, greater, near, least
  // "run[key=value,..].metric", or a number; size=SMALLEST, size=LARGEST: of the run's sizes.
  std::string left, right;
  std::vector<std::string> among;  // least: left is the smallest of these
  double factor = 1;               // right is multiplied by it
  double tolerance = 0;            // near: beside the errors
  bool needs_gpu = false;          // undecided where the left run had none
  bool ratio = false;              // less, greater: the factor is told, not the errors
};

struct Figure {
  std::string name, title, paper, found, note, scale;
  std::vector<FigureRun> runs;
  Json panels;
  std::vector<FigureCheck> checks;
};

// Error(usage) with file, line and key. `scale`: "quick" or "paper".
Figure parse_figure(const std::string& text, const std::string& name, const std::string& file,
                    const std::string& scale);

struct Verdict {
  std::string verdict;  // agrees, disagrees, undecided
  std::string detail;   // the numbers, as a sentence
};

// What the three words mean, for people.
std::string verdict_definitions();

// Of independent values; an error that is unknown counts as none.
Value quotient(Value a, Value b);

using FigureResults = std::vector<std::pair<std::string, CurveSet>>;  // by run name

// By verdict_definitions(). Error(usage) where a metric does not exist.
Verdict check_figure(const FigureCheck& check, const FigureResults& results);

}  // namespace rewise
