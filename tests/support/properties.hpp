// Property tests by rapidcheck with a fixed seed, so that failures are reproducible.
#pragma once

#include <rapidcheck.h>

#include <sstream>
#include <string>
#include <utility>

namespace rewise::oracle {

// "" if the property holds for `cases` generated cases, else the report of rapidcheck.
template <class Property>
std::string counterexample(Property&& property, int cases = 100) {
  rc::detail::TestParams params;
  params.seed = 20100601;
  params.maxSuccess = cases;
  const rc::detail::TestResult result = rc::detail::checkTestable(
      std::forward<Property>(property), rc::detail::TestMetadata{}, params);
  if (result.template is<rc::detail::SuccessResult>()) return "";
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  return report.str();
}

}  // namespace rewise::oracle
