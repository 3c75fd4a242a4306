// The program `rewise`; the Python package runs the same (src/python).
#include "experiments/console/program.hpp"

int main(int argc, char** argv) { return rewise::program_main(argc, argv); }
