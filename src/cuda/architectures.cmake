# The GPU architectures that CUDA code is built for, by one option:
#
#   REWISE_CUDA_ARCH=auto     those of the GPUs in this machine; where there is none (or nvcc does
#                             not know it), 80 and 90, and PTX of 90 for whatever is newer
#   REWISE_CUDA_ARCH=native   those of the GPUs in this machine; an error where there is none
#   REWISE_CUDA_ARCH="86;89"  these, in CMake's words
#
# CMAKE_CUDA_ARCHITECTURES and the environment variable CUDAARCHS win where they are set.
set(REWISE_CUDA_ARCH auto CACHE STRING "GPUs to build for: auto, native, or CMake's words: 86;90")

# `out`: compute capabilities of the GPUs present, such as "80;90"; empty where there is none.
function(rewise_present_gpus out)
  find_program(REWISE_NVIDIA_SMI nvidia-smi HINTS /usr/local/nvidia/bin /usr/lib/wsl/lib)
  mark_as_advanced(REWISE_NVIDIA_SMI)
  set(found)
  if(REWISE_NVIDIA_SMI)
    execute_process(COMMAND ${REWISE_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE text ERROR_QUIET TIMEOUT 60)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${text}")
    string(REPLACE "." "" found "${found}")
    list(REMOVE_DUPLICATES found)
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# `out`: those of `present` that nvcc has no code for.
function(rewise_unknown_gpus present out)
  execute_process(COMMAND ${REWISE_NVCC} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  set(unknown)
  foreach(gpu IN LISTS present)
    if(known AND NOT known MATCHES "sm_${gpu}(\n|$)")
      list(APPEND unknown ${gpu})
    endif()
  endforeach()
  set(${out} "${unknown}" PARENT_SCOPE)
endfunction()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  if(NOT REWISE_CUDA_ARCH STREQUAL "auto" AND NOT REWISE_CUDA_ARCH STREQUAL "native")
    set(CMAKE_CUDA_ARCHITECTURES ${REWISE_CUDA_ARCH})
  else()
    rewise_present_gpus(present)
    rewise_unknown_gpus("${present}" unknown)
    if(present AND NOT unknown)
      list(TRANSFORM present APPEND -real OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
    elseif(REWISE_CUDA_ARCH STREQUAL "native")
      message(FATAL_ERROR "REWISE_CUDA_ARCH=native, but "
              "nvidia-smi shows no GPU that ${REWISE_NVCC} knows (found: '${present}')")
    endif()
  endif()
endif()
