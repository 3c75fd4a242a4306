#include "src/store/syscalls.hpp"
