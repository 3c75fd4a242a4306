// The multispin engine against exact enumeration (enumeration_check.hpp). The 32 replicas of a word
// group share the addresses of their draws, but each reads its own bit of every random word, so the
// replicas are independent.
#include "src/multispin/multispin.hpp"
#include "tests/engines/enumeration_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("multispin engine: Metropolis, Glauber, Wolff and mixes equal enumeration") {
  Scores scores;
  // An even number of measurements: isolated sites flip at every Metropolis sweep.
  compare_all(make_multispin_engine, wolff_updates(), 40000, {384, {120, longer(80), 1}}, scores);
  check_distribution(scores, 300);
}

TEST_CASE("multispin engine: Swendsen-Wang and mixes equal enumeration") {
  Scores scores;
  compare_all(make_multispin_engine, swendsen_wang_updates(), 60000, {384, {80, longer(50), 1}},
              scores);
  check_distribution(scores, 300);
}

TEST_CASE("replicas of one word group are independent") {
  // The variance of the mean of a word group must be that of one replica divided by 32. It is
  // estimated from 256 word groups: chi-square with 255 degrees of freedom, within 4 standard
  // errors.
  const auto graphs = small_graphs();
  const SmallGraph& on = graphs[3];
  auto updates = wolff_updates();
  updates.push_back(swendsen_wang_updates().front());
  for (const oracle::Update& update : updates) {
    EngineSpec spec;
    spec.betas = {1 / 2.7};
    spec.replicas = 32 * 256;
    spec.seed = 50000;
    spec.local = update.local;
    spec.cluster = update.cluster;
    EngineOptions options;
    options.threads = 1;
    const auto engine = make_multispin_engine(on.graph, spec, options);
    const auto rows = sample(*engine, spec, update.schedule, on.list.sites, {50, 1, 1})[0];
    for (const Column which : {kE, kM2}) {
      std::vector<double> values, means;
      for (std::size_t b = 0; b < 256; ++b) {
        double sum = 0;
        for (std::size_t r = 0; r < 32; ++r) {
          values.push_back(rows[32 * b + r][which]);
          sum += values.back();
        }
        means.push_back(sum / 32);
      }
      const double ratio = std::pow(mean_of(means).error / mean_of(values).error, 2);
      INFO(update.name << ", column " << which << ": ratio of variances " << ratio);
      CHECK(std::abs(ratio - 1) < 4 * std::sqrt(2. / 255));
    }
  }
}
