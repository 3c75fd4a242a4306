// One candidate of the tuner: an engine that runs a schedule from an equilibrated state, its series
// so far, and its times.
//
// All candidates share the same equilibrium, so each continues from the state in which the previous
// one left the engine. No state is stored per candidate: at L = 1024 with 1024 replicas, a state
// has 128 MiB, and restoring it takes 0.25 s. A series consists of segments, one per uninterrupted
// sequence of turns, and no lag crosses segments.
//
// Measurements are `every` cycles apart. If tau_int of m^2 exceeds kMaxTau samples or is not yet
// determined, every second sample is dropped and `every` doubles. If tau_int is below kMinTau
// samples (only after a wrong early guess), the series restarts with a quarter of `every`. tau thus
// stays between kMinTau and kMaxTau samples, or below if it is shorter than kMinTau cycles.
//
// With replica exchange, the engine holds all temperatures. The only observable is q^2, the squared
// overlap of a pair of replicas, at each temperature. The longest tau_int of q^2 over the
// temperatures replaces those of m^2 and U. Times and rates refer to a pair of replicas at all
// temperatures together and include the exchanges.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/series/coupled.hpp"
#include "src/curves/configuration_correlation.hpp"
#include "src/engine/batch.hpp"
#include "src/search/tune/race.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

inline constexpr double kMinTau = 2, kMaxTau = 14;  // samples

// One engine, shared by all candidates with the same cluster update.
class TuneEngine {
 public:
  // `exchanged`: number of temperatures with replica exchange, or 0. `dependence`: that of the
  // overlaps, with Houdayer moves.
  TuneEngine(std::unique_ptr<EngineBatch> batch, std::uint64_t sites, std::uint32_t replicas,
             const Model& model = {}, std::size_t exchanged = 0,
             ReplicaDependence dependence = ReplicaDependence::none)
      : batch_(std::move(batch)),
        sites_(sites),
        replicas_(replicas),
        model_(model),
        exchanged_(exchanged),
        dependence_(dependence) {}

  std::uint64_t sites() const { return sites_; }
  std::uint32_t replicas() const { return replicas_; }
  std::size_t exchanged() const { return exchanged_; }
  ReplicaDependence dependence() const { return dependence_; }
  // Number of independent members, to which times and rates refer. A member is a replica; with
  // replica exchange, a pair of replicas; with Houdayer moves, two such pairs (coupled.hpp).
  std::uint32_t members() const {
    if (exchanged_ == 0) return replicas_;
    return static_cast<std::uint32_t>(members_of(dependence_, replicas_ / 2));
  }
  // Columns of a series: [replica], or [temperature][pair] with replica exchange.
  std::uint32_t columns() const {
    return members() * static_cast<std::uint32_t>(std::max<std::size_t>(exchanged_, 1));
  }
  // With replica exchange, the mean of q^2 over all samples so far, [temperature][pair].
  Eigen::ArrayXd mean_q2() const { return q2_sum_ / samples_; }
  void add_q2(const Eigen::ArrayXd& q2);
  std::uint32_t states() const { return model_.q; }  // per spin
  SampleUnits units() const { return model_.sample_units(static_cast<double>(sites_)); }
  Engine& engine() { return batch_->engine(0); }

  // Begins a turn. Returns whether it continues the last turn of the same user.
  bool enter(const void* user) { return std::exchange(user_, user) == user; }

  // Throws Error(interrupted) if the engine is stopped.
  void advance(const Schedule& schedule, std::uint64_t cycles);
  std::vector<Observation> sample(const Schedule& schedule, std::uint64_t every, std::size_t count);

 private:
  std::unique_ptr<EngineBatch> batch_;
  std::uint64_t sites_;
  std::uint32_t replicas_;
  Model model_;
  std::size_t exchanged_;
  ReplicaDependence dependence_;
  const void* user_ = nullptr;  // user of the last turn
  Eigen::ArrayXd q2_sum_;
  double samples_ = 0;
};

// Squared overlaps of a measurement, [temperature][pair].
Eigen::ArrayXd squared_overlaps(const Observation& observation, double sites);

// Series of one temperature, [time][replica], divided into segments.
class TuneSeries {
 public:
  explicit TuneSeries(std::uint32_t columns) : replicas_(columns) {}

  void interrupt();  // the next time begins a segment
  void add(const Observation& observation, const SampleUnits& units);
  // With replica exchange: the columns are squared overlaps, and squared_order() has them.
  void add_overlaps(const Eigen::ArrayXd& q2);
  // Keeps every second time of each segment, including the last one. Improved estimators then cover
  // the updates since the previous kept time.
  void halve();
  void clear();
  std::size_t times() const { return squared_order_.size() / replicas_; }
  std::size_t longest_segment() const;
  std::span<const Eigen::Index> starts() const { return starts_; }

  using View = Eigen::Map<const RealSeries>;
  View energy() const { return view(energy_); }
  View abs_m() const { return view(abs_m_); }
  // m^2, or with replica exchange q^2.
  View squared_order() const { return view(squared_order_); }
  // Whether every time has the improved estimators of the Swendsen-Wang updates before it (Ising).
  bool has_improved() const {
    return !squared_order_.empty() && improved_m2_.size() == squared_order_.size();
  }
  View improved_m2() const { return view(improved_m2_); }
  View improved_m4() const { return view(improved_m4_); }

 private:
  View view(const std::vector<double>& values) const {
    return {values.data(), static_cast<Eigen::Index>(times()),
            static_cast<Eigen::Index>(replicas_)};
  }
  std::uint32_t replicas_;
  std::vector<double> energy_, abs_m_, squared_order_, improved_m2_, improved_m4_;
  std::vector<Eigen::Index> starts_;  // beginnings of segments; the last segment may be empty
};

// tau_int of an observable of a series. With many replicas, the automatic window closes only at
// more precision than a ranking needs. If it has not closed but is at least two tau wide, a small
// exponential tail beyond it is added. `known`: the window closed or is that wide. `found`: it
// closed or is at least four tau wide.
struct SeriesTau {
  Value tau;
  bool found = false, known = false;  // neither: tau is a lower bound
};
SeriesTau series_tau(const TuneSeries& series, RealSeriesRef observable);
// The longest tau_int of squared overlaps, whose columns are in groups of equal size, one per
// temperature. It is `found` (or `known`) if those of all temperatures are, and if the means of the
// pairs spread no more than tau explains (Wolff 2004, eq. 39). The second condition detects slow
// motion of small amplitude, which the window may miss.
struct SlowestTau {
  SeriesTau tau;
  std::size_t temperature = 0;  // index
};
SlowestTau slowest_tau(const TuneSeries& series, std::size_t temperatures);

// The noise that a series adds to an estimate of Tc: `m2` of N^(1/2) m^2, which has the noise of
// m^2, and `binder` of U, which has, to first order, that of m^4/<m^2>^2 - 2 m^2 <m^4>/<m^2>^3. If
// improved estimators serve as control variates (analysis/README.md), the fractions `m2_left` and
// `binder_left` of the variances, tau_int included, remain.
struct SeriesNoise {
  SeriesTau m2, binder;
  double m2_left = 1, binder_left = 1;
  bool left_known = true;  // false: the fractions are assumed, and probably too low

  // The tau, in samples, of a single observable that would have the same mean noise; each of the
  // two tau counts as at least `least`.
  Value tau(double least) const;
};
SeriesNoise series_noise(const TuneSeries& series, bool improved);

// Results of a trial. Times in cycles; seconds per cycle and replica; NaN if not measured.
struct TrialFigures {
  Value seconds{0, 0};           // updates only
  Value seconds_measured{0, 0};  // with a measurement in each cycle
  Value tau_energy, tau_abs_m, tau_m2, tau_binder, tau_configuration;
  Value tau_q2;             // with replica exchange, at the temperature where it is longest
  std::size_t slowest = 0;  // index of that temperature
  bool tau_known = false;   // false: tau_m2 (tau_q2) is a lower bound that may be far too low
  Value rate{0, 0};         // decorrelated measurements of m^2 (q^2) per second; tau at least 1/2
  // Rate of independent measurements, per second, that would give the same variance, averaged over
  // U and N^(1/2) m^2, as this schedule with one measurement per tau_m2. It ranks the schedules.
  Value worth{0, 0};
  bool worth_known = false;             // false: may be far too high
  double m2_left = 1, binder_left = 1;  // see SeriesNoise
  std::uint64_t every = 1, samples = 0;
};

class TuneTrial final : public Contender {
 public:
  // `expected`: approximate seconds per cycle of all replicas, which gives the steps of the first
  // turn and, before it, an upper bound of the rate. `improved`: use improved estimators.
  TuneTrial(const Updates& candidate, TuneEngine& engine, double expected, bool improved = false);

  const Updates& candidate() const { return candidate_; }
  Standing standing() const override;
  double run(double seconds) override;
  void dropped() override;
  TrialFigures figures() const;

 private:
  struct Piece {
    double cycles = 0, update_seconds = 0, measurements = 0, measure_seconds = 0;
  };

  void step(std::size_t count, bool configurations);
  void book(std::size_t count, double seconds, double measuring);
  void close_piece();
  void add(const Observation& observation);
  void judge();  // chooses the spacing from tau of m^2 or q^2
  void adapt();
  void refresh();  // updates the values behind standing()
  void take_configurations();
  double sample_seconds() const;
  Value cost(bool measured) const;
  Value rate() const;
  Value worth() const;
  bool worth_known() const { return noise_.m2.known && noise_.binder.known && noise_.left_known; }

  Updates candidate_;
  TuneEngine& engine_;
  double expected_;
  bool improved_;
  double piece_seconds_ = 0.02;  // minimum length of a timed piece
  std::uint64_t every_ = 1;
  TuneSeries series_;
  ConfigurationCorrelation correlation_;
  std::vector<std::uint32_t> watched_;  // replicas whose configurations are compared
  double watching_seconds_ = 0;         // per comparison of configurations
  std::vector<Piece> pieces_;
  Piece open_;
  SeriesNoise noise_;  // in units of samples; with replica exchange both observables are q^2
  std::size_t slowest_ = 0;
  bool is_dropped_ = false;
  TrialFigures last_;  // when the candidate was dropped
};

}  // namespace rewise
