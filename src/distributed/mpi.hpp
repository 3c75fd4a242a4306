// Ranks that are processes of mpirun or srun, through MPI.
#pragma once

#include <memory>

#include "src/distributed/transport.hpp"

namespace rewise::distributed {

// Why there is no MPI for this program, or nothing: it was built without, or the module that knows
// it cannot be loaded here.
std::string why_no_mpi();

// Joins the job (MPI_Init), once in a process; leaves it (MPI_Finalize) when it is destroyed.
// Error(device) where there is no MPI.
std::unique_ptr<Transport> join_mpi();

}  // namespace rewise::distributed
