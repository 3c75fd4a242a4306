// The interface between the program and the module linked to MPI (mpi_module.cpp). It is plain C,
// so that the program itself needs MPI neither to build nor to run.
#pragma once

namespace rewise::distributed {

struct MpiModule {
  // Calls MPI_Init. Returns whether it succeeded.
  bool (*start)(int* rank, int* size);
  void (*post_send)(int to, int tag, const void* bytes, unsigned long long count);
  void (*post_receive)(int from, int tag, void* bytes, unsigned long long count);
  bool (*done)();  // whether all posted messages have completed
  // Whether messages may be in the memory of CUDA devices, according to the library.
  bool (*takes_device_memory)();
  void (*abort)(int status);
  void (*finish)();  // MPI_Finalize
};

// The symbol of a function without arguments that returns a `const MpiModule*`. Increase its number
// when the struct changes.
inline constexpr const char* kMpiModuleSymbol = "rewise_mpi_module_2";
// Name of the module's file, beside the program or in ../lib/rewise relative to it.
inline constexpr const char* kMpiModuleFile = "rewise_mpi.so";

}  // namespace rewise::distributed
