#include "src/store/lease.hpp"
