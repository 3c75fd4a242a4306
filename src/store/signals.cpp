#include "src/store/signals.hpp"
