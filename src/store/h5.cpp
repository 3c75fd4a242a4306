#include "src/store/h5.hpp"
