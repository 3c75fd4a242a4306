#include "analysis/scaling/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace rewise {
namespace {

using Eigen::VectorXd;

struct Vertex {
  VectorXd x;
  double value;
};

// One run: reflect, expand, contract, shrink with the usual 1, 2, 1/2, 1/2.
class Simplex {
 public:
  Simplex(const std::function<double(const VectorXd&)>& f, const VectorXd& start,
          const VectorXd& step)
      : f_(f), step_(step) {
    vertices_.push_back(evaluate(start));
    for (Eigen::Index i = 0; i < start.size(); ++i) {
      VectorXd x = start;
      x[i] += step[i];
      vertices_.push_back(evaluate(x));
    }
    sort();
  }

  void advance() {
    const std::size_t last = vertices_.size() - 1;
    VectorXd centre = VectorXd::Zero(step_.size());
    for (std::size_t i = 0; i < last; ++i) centre += vertices_[i].x / static_cast<double>(last);
    const Vertex& worst = vertices_[last];
    const Vertex reflected = evaluate(2 * centre - worst.x);
    if (reflected.value < vertices_[0].value) {
      const Vertex expanded = evaluate(3 * centre - 2 * worst.x);
      vertices_[last] = expanded.value < reflected.value ? expanded : reflected;
    } else if (reflected.value < vertices_[last - 1].value) {
      vertices_[last] = reflected;
    } else {
      const bool outside = reflected.value < worst.value;
      const Vertex contracted = evaluate(0.5 * (centre + (outside ? reflected.x : worst.x)));
      if (contracted.value < std::min(reflected.value, worst.value)) {
        vertices_[last] = contracted;
      } else {
        for (std::size_t i = 1; i <= last; ++i) {
          vertices_[i] = evaluate(0.5 * (vertices_[i].x + vertices_[0].x));
        }
      }
    }
    sort();
  }

  bool finished(double tolerance) const {
    double size = 0;
    for (const Vertex& v : vertices_) {
      size = std::max(size, (v.x - vertices_[0].x).cwiseQuotient(step_).cwiseAbs().maxCoeff());
    }
    const double spread = vertices_.back().value - vertices_[0].value;
    return size < std::sqrt(tolerance) &&
           spread <= tolerance * (std::abs(vertices_[0].value) + tolerance);
  }

  const Vertex& best() const { return vertices_[0]; }
  int evaluations() const { return evaluations_; }

 private:
  Vertex evaluate(const VectorXd& x) {
    ++evaluations_;
    const double value = f_(x);
    return {x, std::isnan(value) ? std::numeric_limits<double>::infinity() : value};
  }
  void sort() {
    std::stable_sort(vertices_.begin(), vertices_.end(),
                     [](const Vertex& a, const Vertex& b) { return a.value < b.value; });
  }

  const std::function<double(const VectorXd&)>& f_;
  VectorXd step_;
  std::vector<Vertex> vertices_;
  int evaluations_ = 0;
};

}  // namespace

Minimum minimise(const std::function<double(const VectorXd&)>& f, const VectorXd& start,
                 const VectorXd& step, double tolerance, int most_evaluations) {
  Minimum result{start, 0, true, 0};
  if (start.size() == 0) {
    result.value = f(start);
    return result;
  }
  for (int run = 0; run < 2; ++run) {
    Simplex simplex(f, result.x, run == 0 ? step : VectorXd(0.1 * step));
    while (!simplex.finished(tolerance) && simplex.evaluations() < most_evaluations / 2) {
      simplex.advance();
    }
    result.x = simplex.best().x;
    result.value = simplex.best().value;
    result.evaluations += simplex.evaluations();
    result.converged = simplex.finished(tolerance) && std::isfinite(result.value);
  }
  return result;
}

}  // namespace rewise
