// Distribution functions for errors and tests: normal, chi-square, Student's t.
#pragma once

namespace rewise {

// Regularised upper incomplete gamma function Q(a, x), a > 0, x >= 0.
double gamma_q(double a, double x);

// Standard normal distribution function.
double normal_cdf(double z);

// P(chi^2 >= chi2) with `dof` degrees of freedom; 1 for dof <= 0 (nothing was tested).
double chi_square_q(double chi2, double dof);

// P(|t| >= |value|) of Student's t distribution.
double student_two_sided(double value, double dof);

// Returns x such that |t| <= x with probability 68.27%, the probability of one standard deviation
// of a normal variable. Tends to 1 for many degrees of freedom.
double student_one_sigma(double dof);

}  // namespace rewise
