// The study of `tc`, by the method that its configuration selects (tc_config.hpp). Each method has
// its data, criterion, search, and report:
//
//   crossings  of U and N^x m^2: window_data, crossings_criterion, crossings_target, window_search,
//              crossings_analysis, crossings_report
//   peaks      of C and chi (Potts): window_data, peaks_criterion, window_search, peaks_analysis,
//              peaks_report
//   tree       the tree condition, alone or with crossings: tree_data, tree_criterion, tree_search,
//              tree_analysis, tree_report
//   glass      crossings of overlaps: ../sweep/sweep_data, glass_criterion, glass_search,
//              ../sweep/sweep_analysis, glass_report
#pragma once

#include "src/search/study_analysis.hpp"
#include "src/search/tc_method.hpp"

namespace rewise {

// `config` comes from tc_config(), and `method` is its tc_method().
StudyAnalysis tc_study(const StudyConfig& config, TcMethod method);

}  // namespace rewise
