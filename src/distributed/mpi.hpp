// Ranks that are processes of mpirun or srun, through MPI.
#pragma once

#include <memory>

#include "src/distributed/transport.hpp"

namespace rewise::distributed {

// Why MPI is not available: the program was built without it, or its module cannot be loaded. Empty
// if MPI is available.
std::string why_no_mpi();

// Calls MPI_Init, once per process, and MPI_Finalize in the destructor. Throws Error(device) if MPI
// is not available.
std::unique_ptr<Transport> join_mpi();

}  // namespace rewise::distributed
