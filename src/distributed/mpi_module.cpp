// The only code that calls MPI: a shared library, which the program loads for --share-ranks.
// Errors of MPI end the job (MPI_ERRORS_ARE_FATAL, its default).
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "src/distributed/mpi_module.hpp"

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <vector>

namespace {

std::vector<MPI_Request> posted;

// MPI counts are int, so long messages are sent in pieces.
template <class Byte, class F>
void in_pieces(Byte* bytes, unsigned long long count, const F& post) {
  constexpr unsigned long long most = 1ull << 30;
  for (unsigned long long at = 0; at < count; at += most) {
    MPI_Request request = MPI_REQUEST_NULL;
    post(bytes + at, static_cast<int>(std::min(most, count - at)), &request);
    posted.push_back(request);
  }
}

bool start(int* rank, int* size) {
  int there = 0;
  MPI_Initialized(&there);
  // Only one thread calls MPI; other threads compute.
  int level = 0;
  if (there == 0 && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
    return false;
  }
  return MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

void post_send(int to, int tag, const void* bytes, unsigned long long count) {
  in_pieces(static_cast<const char*>(bytes), count,
            [&](const char* from, int length, MPI_Request* request) {
              MPI_Isend(from, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
            });
}

void post_receive(int from, int tag, void* bytes, unsigned long long count) {
  in_pieces(static_cast<char*>(bytes), count, [&](char* to, int length, MPI_Request* request) {
    MPI_Irecv(to, length, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
  });
}

bool done() {
  int flag = 1;
  if (!posted.empty()) {
    MPI_Testall(static_cast<int>(posted.size()), posted.data(), &flag, MPI_STATUSES_IGNORE);
  }
  if (flag != 0) posted.clear();
  return flag != 0;
}

// Tests the library loaded at run time, not the one used for compilation.
bool takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int is = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is) == MPI_SUCCESS && is != 0;
#else
  return false;
#endif
}

void abort_job(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

void finish() { MPI_Finalize(); }

constexpr rewise::distributed::MpiModule kModule{
    start, post_send, post_receive, done, takes_device_memory, abort_job, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const rewise::distributed::MpiModule*
rewise_mpi_module_2() {
  return &kModule;
}
