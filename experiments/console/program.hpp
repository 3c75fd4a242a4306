// `rewise`: reads the command line, runs a subcommand, turns what happened into an exit status
// (sysexits.h, experiments/GUIDE.md) and one line on standard error. Nothing else decides the
// status.
#pragma once

namespace rewise {

// To be called once in a process, which it is for alone: it takes signals and standard error.
int program_main(int argc, char** argv);

}  // namespace rewise
