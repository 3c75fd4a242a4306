// The program `rewise`: parses the command line, runs a subcommand, and turns errors into an exit
// status (sysexits.h, experiments/GUIDE.md) and one line on standard error.
#pragma once

namespace rewise {

// Call it once per process. It installs signal handlers and changes standard error.
int program_main(int argc, char** argv);

}  // namespace rewise
