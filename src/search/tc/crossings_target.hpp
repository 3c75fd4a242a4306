// Decides which additional graphs, measurements and sizes reduce the error of Tc at one p to the
// target_error with the least work (growth_step.hpp). It is a pure function of the results so far,
// so processes that read the same results take the same step.
//
// The jackknife gives the contribution of each size to the covariance of the crossings. Two halves
// of each graph's replicas separate thermal noise from the spread between graphs. A larger size is
// also added if the crossings have not converged (for example, U at the crossing is far from its
// mean-field value).
#pragma once

#include "src/search/tc/growth_step.hpp"
#include "src/search/tc/window_data.hpp"

namespace rewise {

// For a study with a target_error. Every graph needs `measurements` and `thermal`
// (graph_sample.hpp).
GrowthStep next_step(const StudyConfig& config, const WindowPoint& point);

}  // namespace rewise
