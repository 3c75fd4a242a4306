#include "analysis/series/observables.hpp"

#include <string>

#include "analysis/series/jackknife.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

template <Moment moment>
double moment_of(const Moments& m, double, double) {
  return m[moment];
}

}  // namespace

std::span<const Observable> observables() {
  static constexpr Observable all[] = {
      {"energy", "e", R"(energy per site $e$ ($J$))", moment_of<kEnergy>},
      {"abs_magnetisation", "|m|", R"(magnetisation $\langle|m|\rangle$)",
       moment_of<kAbsMagnetisation>},
      {"m2", "m^2", R"($\langle m^2\rangle$)", moment_of<kM2>},
      {"m4", "", R"($\langle m^4\rangle$)", moment_of<kM4>},
      {"binder", "U", R"(Binder ratio $U$)",
       [](const Moments& m, double, double) { return binder(m); }},
      {"scaled_m2", "", R"($N^{1/2}\,\langle m^2\rangle$)",
       [](const Moments& m, double sites, double) { return scaled_m2(m, sites); }, true},
      {.name = "specific_heat",
       .symbol = "C",
       .label = R"(specific heat $C$ ($k_{\mathrm{B}}$))",
       .of = specific_heat,
       .is_variance = true},
      {.name = "susceptibility",
       .symbol = "chi",
       .label = R"(susceptibility $\chi$ ($1/J$))",
       .of = susceptibility,
       .is_variance = true}};
  return all;
}

std::span<const Observable> staggered_observables() {
  static constexpr Observable all[] = {
      {"abs_staggered", "|m_s|", R"(staggered magnetisation $\langle|m_s|\rangle$)",
       moment_of<kAbsMagnetisation>},
      {"staggered_m2", "m_s^2", R"($\langle m_s^2\rangle$)", moment_of<kM2>},
      {"staggered_m4", "", R"($\langle m_s^4\rangle$)", moment_of<kM4>},
      {"staggered_binder", "U_s", R"(staggered Binder ratio $U_s$)",
       [](const Moments& m, double, double) { return binder(m); }},
      {.name = "staggered_susceptibility",
       .symbol = "chi_s",
       .label = R"(staggered susceptibility $\chi_s$ ($1/J$))",
       .of = susceptibility,
       .is_variance = true}};
  return all;
}

std::span<const Observable> field_observables() {
  static constexpr Observable all[] = {
      {"magnetisation", "m", R"(magnetisation $\langle m\rangle$)", moment_of<kMagnetisation>},
      {.name = "field_susceptibility",
       .symbol = "dm/dh",
       .label = R"(susceptibility $\mathrm{d}m/\mathrm{d}h$ ($1/J$))",
       .of = field_susceptibility,
       .is_variance = true}};
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
    for (const Observable& o : which) result[k++] = o.of(m, sites, temperature);
    return result;
  };
  return jackknife(rows, all).values();
}

}  // namespace rewise
