#include "analysis/series/observables.hpp"

#include <string>

#include "analysis/series/jackknife.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr bool kComparesSizes = true, kIsVariance = true;

template <Moment moment>
constexpr Observable mean(ObservableInfo info) {
  return {info, [](const Moments& m, double, double) { return m[moment]; }, false, moment};
}

}  // namespace

std::span<const Observable> observables() {
  static constexpr Observable all[] = {
      mean<kEnergy>({"energy", "e", R"(energy per site $e$ ($J$))"}),
      mean<kAbsMagnetisation>({"abs_magnetisation", "|m|", R"(magnetisation $\langle|m|\rangle$)"}),
      mean<kM2>({"m2", "m^2", R"($\langle m^2\rangle$)"}),
      mean<kM4>({"m4", "", R"($\langle m^4\rangle$)"}),
      {{"binder", "U", R"(Binder ratio $U$)"},
       [](const Moments& m, double, double) { return binder(m); }},
      {{"scaled_m2", "", R"($N^{1/2}\,\langle m^2\rangle$)", kComparesSizes},
       [](const Moments& m, double sites, double) { return scaled_m2(m, sites); }},
      {{"specific_heat", "C", R"(specific heat $C$ ($k_{\mathrm{B}}$))"},
       specific_heat,
       kIsVariance},
      {{"susceptibility", "chi", R"(susceptibility $\chi$ ($1/J$))"}, susceptibility, kIsVariance}};
  return all;
}

std::span<const Observable> staggered_observables() {
  static constexpr Observable all[] = {
      mean<kAbsMagnetisation>(
          {"abs_staggered", "|m_s|", R"(staggered magnetisation $\langle|m_s|\rangle$)"}),
      mean<kM2>({"staggered_m2", "m_s^2", R"($\langle m_s^2\rangle$)"}),
      mean<kM4>({"staggered_m4", "", R"($\langle m_s^4\rangle$)"}),
      {{"staggered_binder", "U_s", R"(staggered Binder ratio $U_s$)"},
       [](const Moments& m, double, double) { return binder(m); }},
      {{"staggered_susceptibility", "chi_s", R"(staggered susceptibility $\chi_s$ ($1/J$))"},
       susceptibility,
       kIsVariance}};
  return all;
}

std::span<const Observable> field_observables() {
  static constexpr Observable all[] = {
      mean<kMagnetisation>({"magnetisation", "m", R"(magnetisation $\langle m\rangle$)"}),
      {{"field_susceptibility", "dm/dh", R"(susceptibility $\mathrm{d}m/\mathrm{d}h$ ($1/J$))"},
       field_susceptibility,
       kIsVariance}};
  return all;
}

std::size_t observable(std::string_view name) {
  const auto all = observables();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].name == name) return k;
  }
  throw Error(ExitCode::internal, "no observable " + std::string(name));
}

std::vector<Value> observables_of_graph(const MomentRows& rows, double sites, double temperature,
                                        std::span<const Observable> which) {
  const VectorFunction all = [&](const Eigen::VectorXd& mean) {
    const Moments m = with_squares(mean.array());
    Eigen::VectorXd result(static_cast<Eigen::Index>(which.size()));
    Eigen::Index k = 0;
    for (const Observable& o : which) result[k++] = o.value(m, sites, temperature);
    return result;
  };
  return jackknife(rows, all).values();
}

}  // namespace rewise
