#include "src/cuda/striped_memory.hpp"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "src/base/error.hpp"
#include "src/cuda/check.hpp"

namespace rewise {
namespace {

// The driver's functions are asked for by name: programs run without a driver, too.
template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
#if CUDART_VERSION >= 12050
  constexpr unsigned kSince = 11000;  // whose signatures are meant
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, kSince, cudaEnableDefault, &found),
             "asking the CUDA driver for a function");
#elif CUDART_VERSION >= 12000
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found),
             "asking the CUDA driver for a function");
#else
  check_cuda(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault),
             "asking the CUDA driver for a function");
#endif
  if (function == nullptr) {
    throw Error(ExitCode::device, std::string("the CUDA driver has no ") + name +
                                      ": it is too old for several devices");
  }
  return reinterpret_cast<Function*>(function);
}

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(&cuMemAddressReserve) reserve =
      driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(&cuMemAddressFree) free_address =
      driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(&cuMemCreate) create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(&cuMemRelease) release = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(&cuMemMap) map = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(&cuMemUnmap) unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(&cuMemSetAccess) set_access =
      driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
  decltype(&cuGetErrorString) error_text =
      driver_function<decltype(cuGetErrorString)>("cuGetErrorString");
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

void check(CUresult status, const std::string& doing) {
  if (status == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().error_text(status, &text);
  throw Error(ExitCode::device, doing + ": " + (text != nullptr ? text : "unknown CUDA error"));
}

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

// Pages that suit all of the devices.
std::size_t page_size(const std::vector<int>& devices) {
  std::size_t page = 1;
  for (const int device : devices) {
    std::size_t of_device = 0;
    const CUmemAllocationProp properties = on_device(device);
    check(driver().granularity(&of_device, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "asking for the size of pages");
    page = std::max(page, of_device);
  }
  return page;
}

void allow_access(CUdeviceptr address, std::size_t bytes, const std::vector<int>& devices) {
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices) {
    if (std::count_if(access.begin(), access.end(),
                      [&](const CUmemAccessDesc& a) { return a.location.id == device; }) > 0) {
      continue;
    }
    CUmemAccessDesc of_device{};
    of_device.location = on_device(device).location;
    of_device.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.push_back(of_device);
  }
  check(driver().set_access(address, bytes, access.data(), access.size()),
        "giving devices access to each other's memory");
}

}  // namespace

StripedMemory::StripedMemory(std::size_t bytes, std::size_t period, const std::vector<int>& devices)
    : bytes_(bytes) {
  if (bytes == 0) return;
  if (devices.size() == 1) {
    whole_ = DeviceBuffer<std::byte>(bytes);
    address_ = reinterpret_cast<unsigned long long>(whole_.data());
    pieces_.push_back({0, bytes, 0});
    return;
  }
  const std::size_t page = page_size(devices), parts = devices.size();
  if (period < parts * page) period = bytes;  // such small periods cannot be cut: all of them are
  reserved_ = (bytes + page - 1) / page * page;
  check(driver().reserve(&address_, reserved_, page, 0, 0), "reserving addresses");
  try {
    const auto part_of = [&](std::size_t first) {
      const std::size_t middle = std::min(first + page / 2, bytes - 1) % period;
      return static_cast<std::size_t>(static_cast<double>(middle) / static_cast<double>(period) *
                                      static_cast<double>(parts));
    };
    std::size_t begin = 0;
    for (std::size_t end = page; begin < reserved_; end += page) {
      if (end < reserved_ && part_of(end) == part_of(begin)) continue;
      map(devices[part_of(begin)], begin, end);
      begin = end;
    }
    allow_access(address_, reserved_, devices);
  } catch (...) {
    *this = StripedMemory();
    throw;
  }
}

void StripedMemory::map(int device, std::size_t begin, std::size_t end) {
  const CUmemAllocationProp properties = on_device(device);
  Piece piece{begin, end, 0};
  check(driver().create(&piece.handle, end - begin, &properties, 0),
        std::to_string(end - begin) + " bytes on cuda:" + std::to_string(device));
  const CUresult status = driver().map(address_ + begin, end - begin, 0, piece.handle, 0);
  if (status != CUDA_SUCCESS) driver().release(piece.handle);
  check(status, "mapping memory of cuda:" + std::to_string(device));
  pieces_.push_back(piece);
}

StripedMemory::StripedMemory(StripedMemory&& other) noexcept { *this = std::move(other); }

StripedMemory& StripedMemory::operator=(StripedMemory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserved_, other.reserved_);
  std::swap(pieces_, other.pieces_);
  std::swap(whole_, other.whole_);
  return *this;
}

StripedMemory::~StripedMemory() {
  if (reserved_ == 0) return;
  CUresult status = CUDA_SUCCESS;
  for (const Piece& piece : pieces_) {
    status = std::max(status, driver().unmap(address_ + piece.begin, piece.end - piece.begin));
    status = std::max(status, driver().release(piece.handle));
  }
  status = std::max(status, driver().free_address(address_, reserved_));
  if (status != CUDA_SUCCESS) {
    std::fprintf(stderr, "rewise: releasing the memory of several devices: CUDA error %d\n",
                 static_cast<int>(status));
  }
}

template <class F>
void StripedMemory::for_each_piece(std::size_t begin, std::size_t end, F&& f) const {
  if (begin > end || end > bytes_) {
    throw Error(ExitCode::internal, "StripedMemory: bytes " + std::to_string(begin) + " to " +
                                        std::to_string(end) + " of " + std::to_string(bytes_));
  }
  for (const Piece& piece : pieces_) {
    const std::size_t from = std::max(begin, piece.begin), to = std::min(end, piece.end);
    if (from < to) f(from, to);
  }
}

void StripedMemory::copy_in(std::span<const std::byte> host, cudaStream_t stream,
                            std::size_t first) {
  for_each_piece(first, first + host.size(), [&](std::size_t from, std::size_t to) {
    check_cuda(cudaMemcpyAsync(data() + from, host.data() + (from - first), to - from,
                               cudaMemcpyHostToDevice, stream),
               "copying to the devices");
  });
}

void StripedMemory::copy_out(std::span<std::byte> host, cudaStream_t stream,
                             std::size_t first) const {
  for_each_piece(first, first + host.size(), [&](std::size_t from, std::size_t to) {
    check_cuda(cudaMemcpyAsync(host.data() + (from - first), data() + from, to - from,
                               cudaMemcpyDeviceToHost, stream),
               "copying from the devices");
  });
}

void StripedMemory::clear(cudaStream_t stream) {
  for_each_piece(0, bytes_, [&](std::size_t from, std::size_t to) {
    check_cuda(cudaMemsetAsync(data() + from, 0, to - from, stream), "clearing");
  });
}

}  // namespace rewise
