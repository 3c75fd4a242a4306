// Parts common to the summaries of all studies (analysis/SUMMARY.md): values, curves, one size at
// one p, and the rows of summary.csv.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/scaling/exponents.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/results/cells.hpp"
#include "src/search/study_point.hpp"
#include "src/search/tc_value.hpp"
#include "src/settings/config.hpp"

namespace rewise {

// value_json() with "text": "2.3772(4)"; null if there is no value.
Json printed_json(Value v);
Json printed_json(const std::optional<Value>& v);
// With a systematic error: both errors, "total_error" (both in quadrature) and its "text".
Json printed_json(const TwoErrors& v);
// {"value": [..], "error": [..]}
Json curve_json(const std::vector<Value>& values);
// The end of the title of a table: ", " and the model; "" for an Ising ferromagnet.
std::string model_title(const Model& model);
// What a number with its error means; the sentence goes on.
inline constexpr std::string_view kErrorLegend = "2.3772(4) means 2.3772 +- 0.0004";
// "exact Tc(0.1) is 2.345678; this result differs by -0.3 standard errors": `quantity` is what is
// exact.
std::string beside_exact(std::string_view quantity, double exact, Value found, int decimals = 6,
                         std::string_view which = "this result");
// "1.2e-04", or "-".
std::string relative_error(const std::optional<Value>& v);

// asked, error, reached, stopped, rounds: the first keys of a "target".
Json progress_json(const TargetProgress& target);
// Adds the graphs and measurements of a size before the target and those that it added.
void add_growth(const SizeBefore& before, const SizeData& now, Json& target);

// The first cells of a row of tc.csv and of its table: p, Tc with its errors.
Cells tc_cells(double p, std::string symbol, const std::optional<TwoErrors>& tc);
// A row of tc.csv and of its table: p, Tc with its errors, `own` cells, the fit, sizes, status and
// reasons. Tc and fit are known only if `accepted`.
Cells tc_row(double p, std::string symbol, const Extrapolation& tc, bool accepted,
             const std::vector<SizeData>& sizes, TcStatus status,
             const std::vector<std::string>& reasons, const Cells& own);

// Exponents between neighbouring p, as a JSON array and as a table; "" if there are none.
Json local_exponents_json(const Shifts& shift, const LocalExponents& local);
std::string local_exponents_table(const Shifts& shift, const LocalExponents& local);

// One entry of "sizes".
Json size_json(const SizeData& size, const SizeAverages& averages, std::uint32_t replicas);

// All keys before "points". "seconds" is 0 until the study ends.
Json summary_head(const StudyConfig& config, const std::string& kind);

std::string csv_header(const StudyConfig& config);
std::string csv_rows(const StudyConfig& config, const StudyPoint& point,
                     const std::vector<SizeAverages>& averages);

}  // namespace rewise
