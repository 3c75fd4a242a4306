// Prepares a process for failures that would crash it or damage files: closed standard streams,
// a standard error that cannot be written, and too little memory.
#pragma once

namespace rewise {

// Call it once, before any file is opened.
void prepare_process();

// HDF5 and CUDA crash if their allocations fail. Throws Error(device) if the limit on the address
// space (ulimit -v) is too small for any work.
void require_address_space();

}  // namespace rewise
