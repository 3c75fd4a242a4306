// The interface between the program and the module linked to MPI (mpi_module.cpp). It is plain C,
// so that the program itself needs MPI neither to build nor to run.
#pragma once

namespace rewise::distributed {

struct MpiModule {
  // MPI_Init; whether it went well.
  bool (*start)(int* rank, int* size);
  void (*post_send)(int to, int tag, const void* bytes, unsigned long long count);
  void (*post_receive)(int from, int tag, void* bytes, unsigned long long count);
  bool (*done)();  // whether all that was posted is done
  // Whether messages may lie in the memory of CUDA devices, as far as the library tells.
  bool (*takes_device_memory)();
  void (*abort)(int status);
  void (*finish)();  // MPI_Finalize
};

// The symbol of a function without arguments that returns a `const MpiModule*`. Change its number
// with the struct.
inline constexpr const char* kMpiModuleSymbol = "rewise_mpi_module_2";
// The file, beside the program or in ../lib/rewise from there.
inline constexpr const char* kMpiModuleFile = "rewise_mpi.so";

}  // namespace rewise::distributed
