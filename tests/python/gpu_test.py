"""On a GPU the package gives the CPU's trajectories, and its states go on there and back.

    python tests/python/gpu_test.py      without pytest, for machines with an installed wheel
"""

import sys
import tempfile

import numpy as np

import rewise as rw

RUNS = [dict(), dict(cluster="swendsen-wang"), dict(engine="single", replicas=4),
        dict(model="potts", q=3, replicas=4, cluster="swendsen-wang"),
        dict(engine="single", replicas=4, cluster="few-cluster")]


def has_gpu():
    return any(device["unfit"] == "" for device in rw.devices())


def test_same_trajectories():
    graph = rw.rewire((64, 32), p=0.1, seed=3)
    for more in RUNS:
        spec = dict(schedule="2:1", measure=30, equilibrate=20, seed=7, **more)
        here = rw.simulate(graph, [2.3, 2.6], device="cpu", **spec)
        there = rw.simulate(graph, [2.3, 2.6], device="cuda", **spec)
        assert there.device.startswith("cuda") and there.hash == here.hash, more
        np.testing.assert_array_equal(there.series["bond_sum"], here.series["bond_sum"])


def test_packed():
    spec = dict(engine="packed", schedule="1:0", replicas=1, equilibrate=5, measure=20)
    graph = rw.rewire(256)
    assert (rw.simulate(graph, 3.0, device="cuda", **spec).hash ==
            rw.simulate(graph, 3.0, device="cpu", **spec).hash)


def test_states_go_on_elsewhere():
    folder = tempfile.mkdtemp()
    graph = rw.rewire(64, p=0.05, seed=1)
    here, there = (rw.Simulation(graph, 2.4, seed=2, device=d) for d in ("cpu", "cuda"))
    here.record(20)
    there.record(10)
    there.save(f"{folder}/gpu-state.h5")
    back = rw.Simulation.restore(f"{folder}/gpu-state.h5", device="cpu")
    back.record(10)
    assert back.hash == here.hash
    np.testing.assert_array_equal(back.spins, here.spins)


if not has_gpu() and "pytest" in sys.modules:
    import pytest

    pytest.skip("no GPU", allow_module_level=True)

if __name__ == "__main__":
    if not has_gpu():
        sys.exit("no GPU that can be used: " + str(rw.devices()))
    for test in (test_same_trajectories, test_packed, test_states_go_on_elsewhere):
        test()
        print("passed", test.__name__)
