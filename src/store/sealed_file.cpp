#include "src/store/sealed_file.hpp"
