#include "analysis/series/statistics.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Parses "1.2345(67)e-8": the error is in units of the last digit unless it has a decimal point.
Value parse(const std::string& text) {
  const auto open = text.find('('), close = text.find(')');
  const std::string digits = text.substr(0, open), error = text.substr(open + 1, close - open - 1);
  const double scale =
      close + 1 < text.size() ? std::pow(10.0, std::stoi(text.substr(close + 2))) : 1;
  double unit = 1;
  if (error.find('.') == std::string::npos && digits.find('.') != std::string::npos) {
    unit = std::pow(10.0, -static_cast<double>(digits.size() - digits.find('.') - 1));
  }
  return {std::stod(digits) * scale, std::stod(error) * unit * scale};
}

}  // namespace

TEST_CASE("values are printed with their error in units of the last digit") {
  const auto [value, error, text] = GENERATE(table<double, double, std::string>({
      {2.37718, 0.0004, "2.3772(4)"},
      {2.37718, 0.00042, "2.3772(4)"},
      {2.37718, 0.00013, "2.37718(13)"},
      {2.37718, 0.00019, "2.37718(19)"},
      {2.37718, 0.000196, "2.3772(2)"},
      {2.37718, 0.0096, "2.377(10)"},
      {2.37718, 0.0095, "2.377(10)"},
      {2.37718, 0.0094, "2.377(9)"},
      {2.37718, 0.00996, "2.377(10)"},
      {2.37718, 0.999, "2.4(1.0)"},
      {-0.2705, 0.0021, "-0.271(2)"},
      {0.0, 0.003, "0.000(3)"},
      {-0.0004, 0.003, "0.000(3)"},
      {1234.5, 23, "1230(20)"},
      {1234.4, 2.3, "1234(2)"},
      {1234.4, 12, "1234(12)"},
      {1234.5, 1.2, "1234.5(1.2)"},
      {0.7, 2.4, "1(2)"},
      {3.0, 1234, "0(1200)"},
      {1.303e-7, 2.1e-9, "1.30(2)e-7"},
      {4.51e10, 3e8, "4.51(3)e10"},
      {-6.02214e23, 1.4e19, "-6.02214(14)e23"},
      {9.97e-5, 3e-5, "1.0(3)e-4"},
      {-9.97e-5, 3e-5, "-1.0(3)e-4"},
      {1e-4, 3e-5, "1.0(3)e-4"},
      {9.9996e-4, 3e-7, "0.0010000(3)"},
      {9.96e-5, 1.2e-6, "9.96(12)e-5"},
      {9.996e-7, 1.2e-9, "9.996(12)e-7"},
      {9.9996e-7, 3e-10, "1.0000(3)e-6"},
      {999999.7, 3, "1.000000(3)e6"},
      {0.0, 2e-9, "0(2)e-9"},
      {1e-12, 2e-9, "0(2)e-9"},
      {2.269185314213022, 0.0, "2.26918531421(0)"},
      {2.377182, kNaN, "2.37718(nan)"},
      {kNaN, 0.1, "nan"},
      {std::numeric_limits<double>::infinity(), 0.1, "inf"},
  }));
  CHECK(format_value({value, error}) == text);
}

TEST_CASE("a printed value reads back within the rounding of its digits") {
  const std::string broken = oracle::counterexample([] {
    const double mantissa = *rc::gen::inRange(-999999, 1000000) / 1e5;
    const double value = mantissa * std::pow(10.0, *rc::gen::inRange(-12, 12));
    const double relative = *rc::gen::inRange(10, 1000) / 1e3;
    const double error = relative * std::pow(10.0, *rc::gen::inRange(-12, 12));
    RC_PRE(error > 1e-9 * std::abs(value));
    const Value back = parse(format_value({value, error}));
    // An error of one digit is off by at most a quarter, since a leading 1 keeps two digits.
    RC_ASSERT(std::abs(back.error - error) <= 0.26 * error);
    RC_ASSERT(std::abs(back.value - value) <= 0.51 * back.error);
  });
  CHECK(broken == "");
}

TEST_CASE("mean and error of a few numbers") {
  const std::vector<double> values{1, 2, 3, 6};
  const Value v = mean_and_error(values);
  CHECK(v.value == Approx(3.0));
  CHECK(v.error == Approx(std::sqrt(14.0 / 12)));
  CHECK(std::isnan(mean_and_error(std::vector<double>{1.0}).error));
}

TEST_CASE("the median is the middle one, or the mean of the two") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
}

TEST_CASE("a mean is zero or not") {
  // Mean 3, error sqrt(5/3)/2 x 2 = 1.29: t = 2.3238 with 3 degrees of freedom, p = 0.1027.
  const double four[] = {0.0, 2.0, 4.0, 6.0};
  CHECK(compare_to_zero(four).z == Approx(2.32379).epsilon(1e-5));
  CHECK(compare_to_zero(four).p_value == Approx(0.1027).epsilon(1e-3));
  const double same[] = {0.0, 0.0, 0.0};
  CHECK(compare_to_zero(same).agree);
}

TEST_CASE("hot and cold halves: stated rate of false alarms, real differences are detected") {
  // Level 5%: 2000 comparisons of 2 x 16 equal means, 100 alarms expected, 3.5 sd = 34
  test::Dice dice(11);
  std::vector<char> cold(32);
  for (std::size_t r = 0; r < cold.size(); ++r) cold[r] = r % 2 == 1;
  int alarms = 0, seen = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> means(32);
    for (double& m : means) m = dice.normal();
    if (!compare_hot_cold(means, cold, 0.05).agree) ++alarms;
    for (std::size_t r = 0; r < means.size(); ++r) means[r] += cold[r] ? 3.0 : 0.0;
    if (!compare_hot_cold(means, cold).agree) ++seen;
  }
  CHECK(std::abs(alarms - 100) < 34);
  CHECK(seen > 1950);
}
