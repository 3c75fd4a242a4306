#include "src/store/task_file.hpp"
