#include "experiments/commands/help_words.hpp"

namespace rewise {

std::span<const ResultWord> result_words() {
  static constexpr std::string_view tc = "status of a Tc (tc)", potts = "a Potts model (tc)",
                                    tree = "status of the tree condition (tc)",
                                    run = "status of a temperature (run)",
                                    target = "a target_error (tc, sweep)",
                                    claims = "verdict on a claim of a paper (reproduce)",
                                    crossing = "crossing of two sizes (summary.json)",
                                    tune = "a schedule (last column of tune)",
                                    cell = "an entry of a table",
                                    column = "a column of a table (tc)", term = "a term";
  static constexpr ResultWord all[] = {
      {"ok", "status (tc, run)", "all checks accept the value", ""},
      {"not-equilibrated", tc, "replicas that started ordered and random still differ",
       "leave `equilibrate` at `\"auto\"`, or raise it; with `\"auto\"`, raise `measure`"},
      {"no-window", tc, "U of the two largest sizes does not cross within the temperatures",
       "remove `temperatures`, or choose others; use more `graphs`"},
      {"too-few-graphs", tc, "fewer than 8 networks of a size, or too few for an error",
       "raise `graphs`"},
      {"not-converged", tc,
       "U at the crossing is far from its limit, or there are fewer than three sizes",
       "use larger sizes (p N >= 100), or `method = \"tree\"`"},
      {"not-converged", potts,
       "the peaks of two or more sizes do not determine one temperature, or the sizes have too few "
       "shortcuts",
       "see the reasons below the table; use more or larger sizes"},
      {"out-of-reach", tc,
       "no crossings were computed, because `sizes = \"auto\"` and p is too small",
       "use the Tc of the tree condition: its own table, `tree_tc` in tc.csv"},
      {"no-result", tc, "T_SG could not be determined", "see the reasons below the table"},
      {"no-transition", tc, "one dimension, p = 0: Tc = 0", "nothing"},
      {"not-found", tree, "lambda = 1 was not found",
       "see the reasons; use `method = \"crossings\"` if they remain"},
      {"does-not-apply", tree, "p = 0: there are no shortcuts", "use `method = \"crossings\"`"},
      {"not-equilibrated", run,
       "replicas with an ordered and a random start differ, the measurements drift, or nothing "
       "shows that the run is in equilibrium",
       "raise `--equilibrate` and `--measure`, or use `--start mixed` or a schedule with cluster "
       "updates; \"auto\" finds the number in studies and in Python"},
      {"too-short", run,
       "errors are too small: they come from time blocks that are shorter than a few "
       "autocorrelation times",
       "raise `--measure`, or use more `--replicas`"},
      {"MISSED", target, "the error is larger than the target, and the study stopped",
       "the reason stands behind it; raise the limit that it names, or `target_error`"},
      {"not yet", target, "the study adds networks or measurements until the target is reached",
       "let it continue, or run the same command again"},
      {"first", potts, "the transition is of first order: there is a latent heat", ""},
      {"second", potts, "the transition is continuous: there is no latent heat", ""},
      {"undecided", potts, "these sizes do not show whether the transition is of first order",
       "use larger sizes"},
      {"agrees", claims, "our numbers confirm what the paper says", ""},
      {"disagrees", claims, "our numbers show the opposite of what the paper says", ""},
      {"undecided", claims, "the errors of our numbers are too large for a verdict",
       "use `--scale paper`"},
      {"found", crossing, "the curves cross, and the crossing has an error", ""},
      {"none", crossing, "the curves do not cross at the simulated temperatures",
       "choose other `temperatures`, or use more `graphs`"},
      {"unstable", crossing, "the curves cross or not, depending on which networks are left out",
       "use more `graphs`"},
      {"dropped", tune, "the schedule was much slower than the best one after some turns", ""},
      {"left out", tune, "a single cycle of the schedule takes too long for the budget",
       "raise `--budget` if you need its numbers"},
      {"-", cell, "there is no value: it does not exist, was not measured, or was rejected",
       "the lines below the table say why a value was rejected"},
      {"(nan)", cell, "the error is unknown, because all measurements are equal or too few",
       "measure more, or use more replicas or networks"},
      {"> x", cell, "only a lower bound is known: the series is too short to determine tau",
       "measure more: at least ten times tau"},
      {"< x", cell,
       "only an upper bound is known. tau: it is shorter than the time between measurements. per "
       "second, worth (tune): of tau only a lower bound is known",
       "tune: raise `--budget`"},
      {"conf", "tau(conf) (tune)",
       "integrated autocorrelation time of the spins themselves, in cycles of the schedule", ""},
      {"error", "a column of tc.csv, a key of summary.json",
       "one standard error. Of Tc it is the statistical error alone; cite `total_error`", ""},
      {"systematic", "a column of tc.csv, a key of summary.json",
       "standard error of what the method neglects: the extrapolation over sizes; for the tree "
       "condition the finite size of bare lattices, and its approximations",
       ""},
      {"total_error", "a column of tc.csv, a key of summary.json",
       "`error` and `systematic`, added in quadrature. Tables and plots show it; cite it, unless "
       "there is a column `best_error`",
       ""},
      {"rel. error", column,
       "the total error over Tc. By crossings: the scatter between networks, and what the "
       "extrapolation over sizes neglects. By the tree condition: the scatter between bare "
       "lattices, and what the condition neglects",
       ""},
      {"tree_tc", "a column of tc.csv",
       "Tc by the tree condition; `tree_total_error` is its error. Empty: see `tree_status`", ""},
      {"best", "a column of tc.csv",
       "the value to cite if the tree condition was used: with both methods their weighted mean, "
       "empty if they differ by more than 3 standard errors; else that of the only method",
       ""},
      {"best_error", "a column of tc.csv", "total standard error of `best`; cite it", ""},
      {"shift", "a column of tc.csv",
       "Tc(p) - Tc(0); `shift_error` is its error. `best_shift` is that of `best`", ""},
      {"abandoned", "purpose of a task (study)",
       "no result uses the task, because its temperatures were given up. In Python also: the last "
       "run did not request it",
       ""},
      {"potts", "a model",
       "q states per site; e is minus the number of bonds between equal states, over N",
       "give q, the number of states"},
      {"tree condition", term,
       "Tc of the infinite network is where lambda, by which a correlation grows from one shortcut "
       "to the next, is 1. It is measured on bare lattices",
       ""},
      {"U at Tc", column,
       "Binder's ratio where the curves of two sizes cross, extrapolated to infinite size; "
       "\"(theory)\" is its known limit",
       ""},
      {"(theory)", column, "the known limit of U at Tc: 0.2705 for mean field, that is, for p > 0",
       ""},
      {"bare lattice", term,
       "a lattice whose shortcuts were removed. The tree condition simulates such lattices", ""},
      {"shortcut", term, "a bond that was moved or added to the lattice", ""},
      {"replica", term,
       "one of several independent spin configurations of one network at one temperature. Half of "
       "them start ordered, half random",
       ""},
      {"memory", term,
       "`--dry-run` of run, tc and sweep prints the memory, disk space and time that the work "
       "needs, and computes nothing",
       "too little memory: fewer `--replicas` or temperatures, or fewer `--threads`"},
  };
  return all;
}

std::span<const ResultWord> exit_statuses() {
  static constexpr std::string_view status = "an exit status";
  static constexpr ResultWord all[] = {
      {"0", status,
       "done. A study or run can end without a value: see `status` in `summary.json`, `tc.csv` and "
       "`run --json`",
       ""},
      {"64", status, "invalid option or configuration", "correct what the message names"},
      {"65", status, "damaged or unsuitable input",
       "correct the file as the message says; for a damaged result use another copy, or "
       "`--recompute-damaged`"},
      {"69", status, "no such device, or too little memory",
       "`rewise info` lists devices; `--dry-run` prints the memory needed"},
      {"70", status, "a defect of rewise", "report the message"},
      {"73", status,
       "another process holds the result, or the folder holds another study, or a file would be "
       "overwritten",
       "wait for the process; else choose another `--out`. `graph`, `tune`, `equilibrate`, "
       "`decorrelate`, `clusters` and `label` also have `--overwrite`"},
      {"74", status, "input/output failed",
       "check disk space, permissions and the path. Finished tasks and the last checkpoint stay; "
       "the same command continues"},
      {"75", status, "interrupted",
       "run the same command again: `run`, `tc`, `sweep` and `reproduce` continue"},
      {"above 128", status,
       "killed by signal (status - 128), such as 137: SIGKILL, often for lack of memory",
       "the same command continues from the last checkpoint"},
  };
  return all;
}

}  // namespace rewise
