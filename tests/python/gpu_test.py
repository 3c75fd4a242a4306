"""The package on a GPU. Trajectories equal those of the CPU. A state saved on the GPU continues on
the CPU. The CUDA driver, CuPy and PyTorch (the latter two if installed) read the spins in place.

    python tests/python/gpu_test.py      without pytest, for machines with an installed wheel
"""

import ctypes
import importlib.util
import sys
import tempfile

import numpy as np

import rewise as rw

RUNS = [dict(), dict(cluster="swendsen-wang"), dict(engine="bytespin", replicas=4),
        dict(model="potts", q=3, replicas=4, cluster="swendsen-wang"),
        dict(engine="bytespin", replicas=4, cluster="few-cluster")]


def has_gpu():
    return any(device["unfit"] == "" for device in rw.devices())


def test_same_trajectories():
    graph = rw.rewire((64, 32), p=0.1, seed=3)
    for more in RUNS:
        spec = dict(schedule="2:1", measure=30, equilibrate=20, seed=7, **more)
        cpu = rw.simulate(graph, [2.3, 2.6], device="cpu", **spec)
        gpu = rw.simulate(graph, [2.3, 2.6], device="cuda", **spec)
        assert gpu.device.startswith("cuda") and gpu.hash == cpu.hash, more
        np.testing.assert_array_equal(gpu.series["bond_sum"], cpu.series["bond_sum"])


def test_same_trajectory_of_bitlattice():
    spec = dict(engine="bitlattice", schedule="1:0", replicas=1, equilibrate=5, measure=20)
    graph = rw.rewire(256)
    assert (rw.simulate(graph, 3.0, device="cuda", **spec).hash ==
            rw.simulate(graph, 3.0, device="cpu", **spec).hash)


def test_a_state_saved_on_the_gpu_continues_on_the_cpu():
    folder = tempfile.mkdtemp()
    graph = rw.rewire(64, p=0.05, seed=1)
    cpu, gpu = (rw.Simulation(graph, 2.4, seed=2, device=d) for d in ("cpu", "cuda"))
    cpu.record(20)
    gpu.record(10)
    gpu.save(f"{folder}/gpu-state.h5")
    continued = rw.Simulation.restore(f"{folder}/gpu-state.h5", device="cpu")
    continued.record(10)
    assert continued.hash == cpu.hash
    np.testing.assert_array_equal(continued.spins, cpu.spins)


# Spins in place


def by_driver(spins):
    """Copies spins to the host with the CUDA driver, from the address in the array interface."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        assert getattr(cuda, name)(*arguments) == 0, name

    device, context = int(spins.device.split(":")[1]), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    interface = spins.__cuda_array_interface__
    shape, strides, item = interface["shape"], interface["strides"], spins.dtype.itemsize
    last = sum((n - 1) * stride for n, stride in zip(shape, strides))
    host = np.zeros(last // item + 1, dtype=spins.dtype)
    call("cuMemcpyDtoH_v2", host.ctypes.data_as(ctypes.c_void_p),
         ctypes.c_uint64(interface["data"][0]), ctypes.c_size_t(host.nbytes))
    call("cuDevicePrimaryCtxRelease", device)
    return np.lib.stride_tricks.as_strided(host, shape, strides).copy()


def by_cupy(spins):
    import cupy

    arrays = cupy.asarray(spins), cupy.from_dlpack(spins)
    for array in arrays:
        assert array.data.ptr == spins.__cuda_array_interface__["data"][0]  # no copy
        assert array.dtype == spins.dtype and array.device.id == int(spins.device.split(":")[1])
        assert array.shape == spins.shape
    return arrays


def by_torch(spins):
    import torch

    arrays = torch.as_tensor(spins, device=spins.device), torch.from_dlpack(spins)
    for array in arrays:
        assert array.data_ptr() == spins.__cuda_array_interface__["data"][0]
        assert array.is_cuda and tuple(array.shape) == spins.shape
    return arrays


READERS = {"cupy": (by_cupy, lambda array: array.get()),
           "torch": (by_torch, lambda array: array.cpu().numpy())}


def site_bytes(simulation, array):
    """Converts an array in the layout of DeviceSpins to bytes [temperature, replica, site]."""
    temperatures, replicas = len(simulation.temperature), simulation.replicas
    if simulation.engine == "bytespin":
        return array.reshape(temperatures, replicas, -1)
    if simulation.engine == "multispin":
        words = np.moveaxis(array[:, simulation.spins_device.slots, :], 2, 1)  # [.., V, site]
        words = words.reshape(temperatures, replicas // 32, 1, -1)
        up = (words >> np.arange(32)[:, None]) & 1
        return up.reshape(temperatures, replicas, -1).astype(np.uint8)
    x_extent, y_extent = simulation.graph.extents
    x, y = np.meshgrid(np.arange(x_extent), np.arange(y_extent))
    colour, bit = (x + y) % 2, x // 2
    array = array.reshape(temperatures, replicas, *array.shape[-3:])
    words = array[:, :, colour, y, bit // 32]
    return ((words >> (bit % 32)) & 1).reshape(temperatures, replicas, -1).astype(np.uint8)


def simulations():
    lattice = rw.rewire((64, 32), p=0.1, seed=3)
    imported = rw.Graph(rw.rewire((6, 4), p=0.2, seed=1).edges)
    for graph, temperature, more in (
            (lattice, 2.4, dict()),                                   # V = 1
            (lattice, [2.3, 2.6], dict(replicas=64)),                 # V = 4
            (imported, [2.3, 2.6, 2.9], dict()),
            (lattice, 2.4, dict(engine="bytespin", replicas=3)),
            (lattice, [2.3, 2.6], dict(engine="bytespin", replicas=2, cluster="swendsen-wang")),
            (imported, 2.4, dict(engine="bytespin", replicas=2)),
            (lattice, 1.0, dict(model="potts", q=3, replicas=2, cluster="swendsen-wang")),
            (rw.rewire((192, 64)), [2.0, 3.0],
             dict(engine="bitlattice", schedule="1:0", replicas=2)),
            (rw.rewire((512, 64)), 3.0, dict(engine="bitlattice", schedule="1:0", replicas=1))):
        yield rw.Simulation(graph, temperature, seed=5, device="cuda", **more)


def expected(simulation):
    return simulation.spins.reshape(len(simulation.temperature), simulation.replicas, -1)


def test_spins_in_place():
    for simulation in simulations():
        spins = simulation.spins_device
        assert spins.__dlpack_device__() == (2, int(spins.device.split(":")[1]))
        views = {name: read(spins) for name, (read, _) in READERS.items()
                if importlib.util.find_spec(name)}
        for _ in range(3):
            simulation.run(2)
            right = expected(simulation)
            np.testing.assert_array_equal(site_bytes(simulation, by_driver(spins)), right)
            for name, arrays in views.items():  # arrays made before run() show the new spins
                for array in arrays:
                    np.testing.assert_array_equal(
                        site_bytes(simulation, READERS[name][1](array)), right)
        if simulation.engine == "bytespin" and len(simulation.temperature) == 1:
            assert spins.shape == simulation.spins.shape


def test_sums_in_place():
    for simulation in simulations():
        views = {}
        for _ in range(3):
            simulation.run(2)
            sums = simulation.measure_device()
            seen = simulation.measure()
            right = np.stack([seen["bond_sum"], seen["magnetisation_sum"]])
            assert sums.shape == right.shape and sums.dtype == right.dtype
            np.testing.assert_array_equal(by_driver(sums), right)
            for name, (read, copied) in READERS.items():
                if not importlib.util.find_spec(name):
                    continue
                for array in views.setdefault(name, read(sums)):  # sums keep their address
                    np.testing.assert_array_equal(copied(array), right)
    # measure_device() changes neither the spins nor the cluster sums.
    graph = rw.rewire((64, 32), p=0.1, seed=3)
    plain, measured = (rw.Simulation(graph, 2.4, seed=5, device="cuda") for _ in range(2))
    for _ in range(3):
        plain.run(2)
        measured.run(2)
        measured.measure_device()
    np.testing.assert_array_equal(measured.measure()["cluster_size"],
                                  plain.measure()["cluster_size"])
    assert measured.hash == plain.hash


def test_spins_outlive_their_simulation():
    simulation = rw.Simulation(rw.rewire(64), 2.4, engine="bytespin", replicas=2, device="cuda")
    simulation.run(3)
    right, spins = simulation.spins, simulation.spins_device
    del simulation
    for seed in range(3):  # these would reuse the memory of the spins if it had been freed
        rw.Simulation(rw.rewire(64), 2.4, engine="bytespin", replicas=2, device="cuda", seed=seed)
    np.testing.assert_array_equal(by_driver(spins), right)
    if importlib.util.find_spec("cupy"):
        array = by_cupy(spins)[1]
        del spins
        np.testing.assert_array_equal(array.get(), right)


def test_a_step_waits_for_readers():
    if not importlib.util.find_spec("cupy"):
        return
    import cupy

    simulation = rw.Simulation(rw.rewire(1024), 2.4, engine="bytespin", replicas=4, device="cuda",
                               schedule="1:0")
    array, right = cupy.asarray(simulation.spins_device), simulation.spins
    with cupy.cuda.Stream(non_blocking=True):
        work = cupy.ones((4096, 4096))
        for _ in range(1000):  # keeps the stream busy for some tenths of a second before the copy
            work = cupy.sqrt(work * work)
        seen = array.copy()
    simulation.run(5)
    np.testing.assert_array_equal(seen.get(), right)


def test_measuring_in_place():
    """A user-defined observable, computed on the device at every measurement."""
    for name, (read, _) in READERS.items():
        if not importlib.util.find_spec(name):
            continue
        simulation = rw.Simulation(rw.rewire(64, p=0.1), 2.4, engine="bytespin", replicas=4,
                                   device="cuda")
        array = read(simulation.spins_device)[0]
        for step in simulation.iterate(20, every=2):
            up = array.reshape(4, -1).sum(1)
            up = up.get() if name == "cupy" else up.cpu().numpy()
            np.testing.assert_array_equal(2 * up.astype(int) - 4096,
                                          np.rint(4096 * step.magnetisation).astype(int))


if not has_gpu() and "pytest" in sys.modules:
    import pytest

    pytest.skip("no GPU", allow_module_level=True)

if __name__ == "__main__":
    if not has_gpu():
        sys.exit("no GPU that can be used: " + str(rw.devices()))
    print("readers of spins in place: driver", *filter(importlib.util.find_spec, READERS))
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("passed", name)
