"""Runs from Python have the trajectories, results and errors of the program. Objects remain usable
after errors, interrupts and in several threads."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rewise as rw

SPEC = dict(schedule="2:1", measure=50, every=2, equilibrate=20, seed=7, device="cpu")
WORDS = ["--schedule", "2:1", "--measure", 50, "--every", 2, "--equilibrate", 20, "--seed", 7,
         "--device", "cpu"]
LATTICE = ["--size", "16,8", "--p", 0.1, "--graph-seed", 3]


@pytest.mark.parametrize("more, words", [
    (dict(), []),
    (dict(local="glauber"), ["--local", "glauber"]),
    (dict(cluster="swendsen-wang"), ["--cluster", "swendsen-wang"]),
    (dict(engine="bytespin", replicas=3), ["--engine", "bytespin", "--replicas", 3]),
    (dict(engine="bytespin", replicas=4, cluster="few-cluster"),
     ["--engine", "bytespin", "--replicas", 4, "--cluster", "few-cluster"]),
    (dict(engine="bytespin", replicas=4, cluster="few-cluster", few_cluster_tile=3,
          few_cluster_flip=0.5),
     ["--engine", "bytespin", "--replicas", 4, "--cluster", "few-cluster", "--few-cluster-tile", 3,
      "--few-cluster-flip", 0.5]),
    (dict(engine="bytespin", replicas=4, cluster="swendsen-wang", label_method="bfs+sew", tile=8),
     ["--engine", "bytespin", "--replicas", 4, "--cluster", "swendsen-wang"]),
    (dict(model="potts", q=3, replicas=4, cluster="swendsen-wang"),
     ["--model", "potts", "--q", 3, "--replicas", 4, "--cluster", "swendsen-wang"]),
    (dict(start="cold", threads=2), ["--start", "cold", "--threads", 1]),
])
def test_as_the_program(program, small, more, words):
    found = program("run", *LATTICE, "--temperature", "2.3,2.6", *WORDS, *words)
    results = rw.simulate(small, [2.3, 2.6], **{**SPEC, **more})
    assert results.hash == found["trajectory_hash"]
    for k, theirs in enumerate(found["results"]):
        for name in rw.results.OBSERVABLES:
            if theirs[name]["value"] is None:
                assert np.isnan(getattr(results, name).value[k])
                continue
            assert getattr(results, name).value[k] == theirs[name]["value"]
            assert getattr(results, name).error[k] == theirs[name]["error"]
            if "tau" in theirs[name]:
                assert getattr(results, name).tau[k] == theirs[name]["tau"]


@pytest.mark.parametrize("more, words", [
    (dict(couplings="pm"), ["--couplings", "pm"]),
    (dict(couplings="pm", houdayer=True), ["--couplings", "pm", "--houdayer"]),
    (dict(), []),
    (dict(couplings="gaussian", coupling_seed=3, replicas=4),
     ["--couplings", "gaussian", "--coupling-seed", 3, "--replicas", 4])])
@pytest.mark.parametrize("temperature, text", [
    ([1.4, 1.8, 2.2], "1.4,1.8,2.2"), ({"from": 1.4, "to": 2.2}, "1.4:2.2")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exchange_as_the_program(program, small, tmp_path, more, words, temperature, text):
    spec = {**SPEC, **more, "schedule": "1:0", "exchange": True}
    found = program("run", *LATTICE, "--temperature", text, *WORDS[2:], *words, "--schedule", "1:0",
                    "--exchange")
    results = rw.simulate(small, temperature, **spec)
    assert results.hash == found["trajectory_hash"]
    assert results.temperature.tolist() == [one["temperature"] for one in found["results"]]
    theirs = found["exchange"]
    assert results.exchange["accepted"].tolist() == theirs["accepted"]
    for name in ("round_trips", "trips_per_1000_cycles"):
        assert results.exchange[name] == theirs[name]
    assert results.series["walker"].shape == results.series["energy"].shape
    with pytest.raises(rw.AbsentError):
        results.exchange["trips"]
    # A simulation that its caller advances, and one restored from a file, make the same moves.
    del spec["measure"], spec["every"], spec["equilibrate"]
    simulation = rw.Simulation(small, temperature, **spec)
    simulation.run(60)
    simulation.save(tmp_path / "half.h5")
    restored = rw.Simulation.restore(tmp_path / "half.h5", device="cpu")
    for one in (simulation, restored):
        one.run(60)
        assert one.hash == results.hash
    assert set(restored.measure()["walker"].ravel()) <= set(range(len(results.temperature)))
    restored.record(3)
    assert restored.results.exchange["accepted"].shape == (len(results.temperature) - 1,)


def test_exchange_in_files(program, small, tmp_path):
    """Files of the program are restored with their exchange."""
    found = program("run", *LATTICE, "--temperature", "1.4,1.8", *WORDS, "--exchange", "--out",
                    tmp_path / "r.h5")
    kept = rw.Results.load(tmp_path / "r.h5")
    assert kept.exchange["accepted"].tolist() == found["exchange"]["accepted"]
    restored = rw.Simulation.restore(tmp_path / "r.h5", device="cpu")
    restored.run(40)
    longer = rw.Simulation(small, [1.4, 1.8], schedule="2:1", exchange=True, seed=7, device="cpu")
    longer.run(160)
    assert restored.hash == longer.hash
    assert rw.simulate(small, [2.3, 2.6], **SPEC).exchange is None


def test_exchange_without_a_round_trip_warns(small):
    with pytest.warns(RuntimeWarning, match="no replica went from the lowest to the highest"):
        stuck = rw.simulate(small, [0.3, 6], exchange=True, **SPEC)
    assert stuck.exchange["round_trips"] == 0
    assert any("replica exchange" in line for line in stuck.warnings)


@pytest.mark.parametrize("temperature, more, text", [
    (2.0, dict(exchange=True), "exchange: requires at least two temperatures"),
    ({"from": 2.0, "to": 1.0}, dict(exchange=True), "from 2 to 1 is not a range"),
    ({"from": 1.0, "to": 2.0}, dict(), "for exchange=True"),
    ({"from": 1.0, "to": 2.0, "step": 3}, dict(exchange=True), "temperature: .*allowed"),
    ([1.0, 2.0], dict(exchange=True, houdayer=True), "houdayer: Houdayer moves require .*swendsen"),
    ([1.0, 2.0], dict(exchange=True, engine="bitlattice", replicas=1, schedule="1:0"),
     "bitlattice engine")])
def test_exchange_refusals(small, temperature, more, text):
    for call in (rw.simulate, rw.Simulation):
        with pytest.raises(rw.UsageError, match=text):
            call(small, temperature, **more)
    with pytest.raises(TypeError, match="exchange"):
        rw.simulate(small, [1.0, 2.0], exchange="yes")


def test_bitlattice_as_the_program(program):
    found = program("run", "--engine", "bitlattice", "--size", 64, "--temperature", 3, "--schedule",
                    "1:0", "--equilibrate", 5, "--measure", 20, "--device", "cpu")
    results = rw.simulate(rw.rewire(64), 3, engine="bitlattice", replicas=1, schedule="1:0",
                          equilibrate=5, measure=20, device="cpu")
    assert results.hash == found["trajectory_hash"]
    with pytest.raises(rw.UsageError, match='use engine="multispin" or "bytespin"'):
        rw.simulate(rw.rewire(64, 0.1), 3, engine="bitlattice", replicas=1, schedule="1:0")


def test_imported_graph(program, tmp_path, small):
    small.save(tmp_path / "g.edges")
    found = program("run", "--graph", tmp_path / "g.edges", "--temperature", 2.5, *WORDS)
    results = rw.simulate(rw.Graph.load(tmp_path / "g.edges"), 2.5, **SPEC)
    assert results.hash == found["trajectory_hash"]
    assert rw.simulate(rw.Graph(small.edges), 2.5, **SPEC).hash == results.hash


def test_stepwise_is_the_same_run(small):
    results = rw.simulate(small, [2.3, 2.6], **SPEC)
    simulation = rw.Simulation(small, [2.3, 2.6], schedule="2:1", seed=7, device="cpu")
    for _ in range(20):
        simulation.run()
    energies = []
    for step in simulation.iterate(50, every=2):
        energies.append(step.energy)
        assert step.spins.shape == (2, 32, 8, 16)
    assert simulation.hash == results.hash
    np.testing.assert_array_equal(simulation.results.series["bond_sum"],
                                  results.series["bond_sum"])
    np.testing.assert_array_equal(simulation.results.series["cluster_size"],
                                  results.series["cluster_size"])
    np.testing.assert_array_equal(np.stack(energies, axis=1), results.series["energy"])
    assert simulation.results.m2.value[0] == results.m2.value[0]


def test_spins_give_the_measured_sums(small):
    simulation = rw.Simulation(small, 2.5, seed=2, device="cpu")
    simulation.run(3)
    seen, spins = simulation.measure(), simulation.spins
    assert spins.dtype == np.uint8 and spins.shape == (32, 8, 16)
    s = 2 * spins.reshape(32, -1).astype(int) - 1
    np.testing.assert_array_equal(s.sum(axis=1), seen["magnetisation_sum"])
    a, b = small.edges.T
    np.testing.assert_array_equal((s[:, a] * s[:, b]).sum(axis=1), seen["bond_sum"])
    np.testing.assert_array_equal(simulation.spins_of(5), spins[5])


def test_auto_equilibration_is_a_run_of_that_length(program, small):
    results = rw.simulate(small, [2.6], schedule="2:1", measure=40, every=2, equilibrate="auto",
                          seed=7, device="cpu")
    cycles = int(results.configuration["sampling.equilibrate"])
    windows = cycles // 25
    assert cycles >= 100 and cycles == 25 * windows and windows & (windows - 1) == 0
    found = program("run", *LATTICE, "--temperature", 2.6, "--schedule", "2:1", "--measure", 40,
                    "--every", 2, "--equilibrate", cycles, "--seed", 7, "--device", "cpu")
    assert results.hash == found["trajectory_hash"]
    assert results.m2.value[0] == found["results"][0]["m2"]["value"]


def test_save_and_restore(small, tmp_path):
    path = tmp_path / "x.h5"
    whole = rw.Simulation(small, [2.3, 2.6], seed=5, device="cpu")
    whole.record(20)
    half = rw.Simulation(small, [2.3, 2.6], seed=5, device="cpu")
    half.record(8)
    half.save(path)
    back = rw.Simulation.restore(path, device="cpu", threads=1)
    assert back.hash == half.hash and back.cycles == 8 and back.graph.hash == small.hash
    back.record(12)
    assert back.hash == whole.hash
    np.testing.assert_array_equal(back.results.series["bond_sum"],
                                  whole.results.series["bond_sum"])
    with pytest.raises(rw.FileError, match="does not exist"):
        rw.Simulation.restore(tmp_path / "none.h5")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(rw.DataError):
        rw.Simulation.restore(path)


def test_restores_what_the_program_kept(program, small, tmp_path):
    path = tmp_path / "t.h5"
    found = program("run", *LATTICE, "--temperature", "2.3,2.6", *WORDS, "--out", path)
    back = rw.Simulation.restore(path, device="cpu")
    assert back.hash == found["trajectory_hash"]
    kept = rw.Results.load(path)
    assert kept.m2.value[1] == found["results"][1]["m2"]["value"]
    # Conversely, the program accepts the file of Python as its own.
    mine = tmp_path / "mine.h5"
    rw.simulate(small, [2.3, 2.6], **SPEC, out=mine)
    again = program("run", *LATTICE, "--temperature", "2.3,2.6", *WORDS, "--out", mine)
    assert again["trajectory_hash"] == found["trajectory_hash"]


@pytest.mark.parametrize("words, spec", [
    (["--size", 32, "--schedule", "1:1"], dict(size=32, schedule="1:1")),
    (["--size", 64, "--schedule", "2:1", "--engine", "bytespin", "--replicas", 3],
     dict(size=64, schedule="2:1", engine="bytespin", replicas=3)),
    (["--size", 512, "--schedule", "1500:0", "--engine", "bitlattice", "--replicas", 2],
     dict(size=512, schedule="1500:0", engine="bitlattice", replicas=2)),
])
def test_an_interrupted_run_continues_as_if_uninterrupted(tmp_path, words, spec):
    path = tmp_path / "t.h5"
    run = subprocess.Popen([os.environ["REWISE_PROGRAM"], "run", *map(str, words), "--p", "0",
                            "--temperature", "2.4", "--equilibrate", str(10**8), "--measure", "1",
                            "--device", "cpu", "--threads", "1", "--checkpoint", "0.4s", "--out",
                            path],
                           stderr=subprocess.DEVNULL)
    while run.poll() is None and not (tmp_path / "t.part.h5").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    run.terminate()
    assert run.wait() == 75
    back = rw.Simulation.restore(tmp_path / "t.part.h5", device="cpu")
    size, cycles = spec.pop("size"), back.cycles
    whole = rw.Simulation(rw.rewire(size), 2.4, device="cpu", **spec)
    whole.run(cycles)
    assert back.hash == whole.hash
    back.record(3)
    whole.record(3)
    assert back.cycles == cycles + 3 and back.hash == whole.hash
    np.testing.assert_array_equal(back.results.series["bond_sum"],
                                  whole.results.series["bond_sum"])


def test_an_interrupted_cycle_is_completed_once(tmp_path):
    graph, spec = rw.rewire(512, p=0.05), dict(schedule="40:0", seed=3, device="cpu")
    simulation = rw.Simulation(graph, 2.4, **spec)
    interrupted_after(0.3, lambda: simulation.run(10**9))
    simulation.save(tmp_path / "a.h5")
    once = rw.Simulation.restore(tmp_path / "a.h5", device="cpu")
    once.run(1)
    once.save(tmp_path / "b.h5")
    twice = rw.Simulation.restore(tmp_path / "b.h5", device="cpu")
    assert twice.cycles == once.cycles and twice.hash == once.hash
    twice.measure()
    assert twice.hash == once.hash
    twice.run(1)
    assert twice.cycles == once.cycles + 1


def test_restores_few_clusters_as_they_were(program, tmp_path):
    words = [*LATTICE, "--temperature", 2.4, "--engine", "bytespin", "--replicas", 4, "--cluster",
             "few-cluster", "--few-cluster-flip", 0.5, "--few-cluster-tile", 4, "--equilibrate",
             10, "--device", "cpu"]
    program("run", *words, "--measure", 5, "--out", tmp_path / "t.h5")
    back = rw.Simulation.restore(tmp_path / "t.h5", device="cpu")
    back.run(5)
    assert back.hash == program("run", *words, "--measure", 10)["trajectory_hash"]


def test_restores_a_regular_lattice_without_its_graph(tmp_path):
    simulation = rw.Simulation(rw.rewire((16, 8)), 3, engine="bitlattice", schedule="1:0",
                               replicas=2, device="cpu")
    simulation.record(3)
    simulation.save(tmp_path / "t.h5")
    back = rw.Simulation.restore(tmp_path / "t.h5", device="cpu")
    back.record(2)
    simulation.record(2)
    np.testing.assert_array_equal(back.spins, simulation.spins)
    np.testing.assert_array_equal(back.measure()["energy"], simulation.measure()["energy"])
    assert back._graph is None  # not built, so that lattices of 2^32 and more sites can be restored
    assert back.graph.hash == simulation.graph.hash and "16x8" in repr(back)


def test_a_damaged_or_missing_file_is_replaced_by_the_one_before(small, tmp_path):
    path = tmp_path / "t.h5"
    simulation = rw.Simulation(small, 2.4, device="cpu")
    for _ in range(2):
        simulation.record(5)
        simulation.save(path)
    assert rw.Results.load(path).warnings == []
    damage = bytearray(path.read_bytes())
    damage[3000] ^= 1
    path.write_bytes(damage)
    for what in ("t.h5 is damaged: .* continuing from", "t.h5 is missing; continuing from"):
        with pytest.warns(RuntimeWarning, match=what):
            kept = rw.Results.load(path)
        assert kept.measurements == 5 and len(kept.warnings) == 1
        with pytest.warns(RuntimeWarning, match=what):
            assert rw.Simulation.restore(path, device="cpu").cycles == 5
        path.unlink(missing_ok=True)


def test_steps_keep_their_measurements(small):
    simulation = rw.Simulation(small, [2.3, 2.6], schedule="1:0", device="cpu")
    steps = list(simulation.iterate(4, every=2))
    series = simulation.results.series
    simulation.forget()
    assert [step.cycles for step in steps] == [2, 4, 6, 8]
    for name in ("energy", "magnetisation"):
        np.testing.assert_array_equal(np.stack([getattr(step, name) for step in steps], axis=1),
                                      series[name])


def test_warnings_of_both_ways_to_equilibrate(small):
    spec = dict(schedule="1:0", replicas=4, engine="bytespin", measure=8, device="cpu")
    for equilibrate in (100, "auto"):
        with pytest.warns(RuntimeWarning, match="errors are too small"):
            results = rw.simulate(small, 2.4, equilibrate=equilibrate, **spec)
        assert any("errors are too small" in line for line in results.warnings)
        assert results.status != ["ok"] and any("errors are too small" in line
                                                for line in results.reasons[0])


def test_a_run_out_of_equilibrium_gives_no_number(program):
    words = ["--size", 32, "--temperature", "0.8,2.6", "--schedule", "1:0", "--equilibrate", 200,
             "--measure", 100, "--device", "cpu"]
    found = program("run", *words)["results"]
    with pytest.warns(RuntimeWarning, match="T = 0.8: "):
        results = rw.simulate(rw.rewire(32), [0.8, 2.6], schedule="1:0", equilibrate=200,
                              measure=100, device="cpu")
    assert results.status == [row["status"] for row in found] == ["not-equilibrated", "ok"]
    assert results.reasons == [[line.replace("--", "") for line in row["reasons"]]
                               for row in found]
    assert np.isnan(results.energy.value[0]) and np.isnan(results.binder.error[0])
    assert results.energy.value[1] == found[1]["energy"]["value"]
    candidate = results.candidate("abs_magnetisation")
    assert candidate.value[0] == found[0]["candidate"]["abs_magnetisation"]["value"]
    assert "not-equilibrated" in str(results).splitlines()[1]
    assert str(candidate[0]) not in str(results)


def test_results_in_formats_of_other_packages(small, tmp_path):
    results = rw.simulate(small, [2.3, 2.6], **SPEC)
    assert results.series["energy"].shape == (2, 50, 32)
    assert "2.3" in str(results) and "(" in str(results.energy)
    assert str(results.energy[0]) == rw.with_error(results.energy.value[0],
                                                   results.energy.error[0])
    results.save(tmp_path / "r.h5")
    assert rw.read_task(tmp_path / "r.h5").energy.shape == (2, 50, 32)
    xarray = pytest.importorskip("xarray")
    dataset = results.to_xarray()
    assert isinstance(dataset, xarray.Dataset)
    assert dataset.energy_series.dims == ("temperature", "time", "replica")
    pytest.importorskip("pandas")
    frame = results.to_pandas()
    assert frame.loc[2.6, "m2"] == results.m2.value[1]


def test_jackknife_samples_give_the_errors(small):
    results = rw.simulate(small, [2.3, 2.6], **SPEC)
    for k in range(2):
        samples = results.left_out(k)
        assert samples.shape == (32, len(rw.results.SAMPLED))
        errors = np.sqrt(np.diag(results.covariance(k)))
        ours = [getattr(results, name).error[k] for name in rw.results.SAMPLED]
        np.testing.assert_allclose(errors, ours, rtol=1e-9)


def test_pyerrors(small):
    pytest.importorskip("pyerrors")
    results = rw.simulate(small, [2.6], **{**SPEC, "measure": 400})
    found = results.to_pyerrors()
    for name in ("energy", "m2", "binder"):
        theirs, ours = found[name][0], getattr(results, name)
        assert theirs.value == pytest.approx(ours.value[0], abs=2e-3 * abs(ours.value[0]))
        assert 0.5 < theirs.dvalue / ours.error[0] < 2


# Errors


def test_forty_bad_arguments(small):
    rewire, simulate, simulation = rw.rewire, rw.simulate, rw.Simulation
    graph = small
    bad = [
        (rw.UsageError, "size", lambda: rewire(7)),
        (rw.UsageError, "size", lambda: rewire((8, 9))),
        (rw.UsageError, "size", lambda: rewire(2)),
        (rw.UsageError, "size", lambda: rewire(())),
        (rw.UsageError, "size", lambda: rewire((8,) * 5)),
        (rw.UsageError, "size", lambda: rewire(-8)),
        (rw.UsageError, "dim", lambda: rewire(8, dim=5)),
        (TypeError, "size", lambda: rewire(8.5)),
        (TypeError, "size", lambda: rewire("8")),
        (rw.UsageError, "p", lambda: rewire(8, p=1.5)),
        (rw.UsageError, "p", lambda: rewire(8, p=float("nan"))),
        (TypeError, "p", lambda: rewire(8, p="much")),
        (rw.UsageError, "rule", lambda: rewire(8, rule="rewrie")),
        (rw.UsageError, "seed", lambda: rewire(8, seed=-1)),
        (rw.UsageError, "seed", lambda: rewire(8, seed=2**64)),
        (rw.UsageError, "edges", lambda: rw.Graph([1, 2, 3])),
        (TypeError, "edges", lambda: rw.Graph([(0.5, 1.0)])),
        (rw.DataError, "edges", lambda: rw.Graph(np.zeros((0, 2), dtype=int))),
        (rw.DataError, "site", lambda: rw.Graph([(0, 0)])),
        (rw.DataError, "both join", lambda: rw.Graph([(0, 1), (1, 0)])),
        (rw.DataError, "-1", lambda: rw.Graph([(0, -1)])),
        (rw.DataError, "site 5", lambda: rw.Graph([(0, 5)], sites=3)),
        (TypeError, "graph", lambda: simulate("g.h5", 2.3)),
        (rw.UsageError, "temperature", lambda: simulate(graph, -1)),
        (rw.UsageError, "temperature", lambda: simulate(graph, [])),
        (rw.UsageError, "temperature", lambda: simulate(graph, float("inf"))),
        (TypeError, "temperature", lambda: simulate(graph, "warm")),
        (rw.UsageError, "schedule", lambda: simulate(graph, 2.3, schedule="1-1")),
        (rw.UsageError, "schedule", lambda: simulate(graph, 2.3, schedule="0:0")),
        (TypeError, "schedule", lambda: simulate(graph, 2.3, schedule=1)),
        (rw.UsageError, "replicas", lambda: simulate(graph, 2.3, replicas=33)),
        (rw.UsageError, "replicas", lambda: simulate(graph, 2.3, replicas=0)),
        (rw.UsageError, "measure", lambda: simulate(graph, 2.3, measure=0)),
        (TypeError, "measure", lambda: simulate(graph, 2.3, measure=10.5)),
        (rw.UsageError, "every", lambda: simulate(graph, 2.3, every=0)),
        (rw.UsageError, "equilibrate", lambda: simulate(graph, 2.3, equilibrate="never")),
        (rw.UsageError, "model", lambda: simulate(graph, 2.3, model="heisenberg")),
        (rw.UsageError, "q", lambda: simulate(graph, 2.3, q=3)),
        (rw.UsageError, "q", lambda: simulate(graph, 1.0, model="potts", q=256)),
        (rw.UsageError, "local", lambda: simulate(graph, 2.3, local="metroplois")),
        (rw.UsageError, "cluster", lambda: simulate(graph, 2.3, cluster="wolf")),
        (rw.UsageError, "start", lambda: simulate(graph, 2.3, start="warm")),
        (rw.UsageError, "engine", lambda: simulate(graph, 2.3, engine="fast")),
        (rw.UsageError, "engine",
         lambda: simulate(graph, 1.0, model="potts", q=3, engine="multispin")),
        (rw.UsageError, "device", lambda: simulate(graph, 2.3, device="gpu")),
        (rw.UsageError, "wolff_method", lambda: simulate(graph, 2.3, wolff_method="ccl")),
        (rw.UsageError, "wolff_method: 'persistent' needs a CUDA device",
         lambda: simulate(graph, 2.3, engine="bytespin", wolff_method="persistent", device="cpu")),
        (rw.UsageError, "tile: labelling method 'fast' does not use tiles",
         lambda: simulate(graph, 2.3, engine="bytespin", tile=8)),
        (rw.UsageError, "few_cluster_flip: 1 is out of range",
         lambda: simulate(graph, 2.3, cluster="few-cluster", few_cluster_flip=1)),
        (rw.UsageError, "few_cluster_tile: 4294967296 is out of range",
         lambda: simulate(graph, 2.3, cluster="few-cluster", few_cluster_tile=2**32)),
        (rw.UsageError, "few_cluster_tile: requires",
         lambda: simulate(graph, 2.3, few_cluster_tile=4)),
        (rw.UsageError, "out", lambda: simulate(graph, 2.3, out="t.txt")),
        (TypeError, "out", lambda: simulate(graph, 2.3, out=5)),
        (TypeError, "unexpected", lambda: simulate(graph, 2.3, repilcas=32)),
        (rw.FileError, "none.h5", lambda: rw.Graph.load("/none.h5")),
        (rw.UsageError, "first_site", lambda: rw.Graph.load("/none.edges", first_site=2)),
        (rw.UsageError, "threads", lambda: simulation(graph, 2.3, threads=5000)),
        (rw.UsageError, "threads", lambda: rw.Simulation.restore("/none.h5", threads=5000)),
        (rw.UsageError, "cycles", lambda: simulation(graph, 2.3, device="cpu").run(-1)),
        (rw.UsageError, "no measurements", lambda: simulation(graph, 2.3, device="cpu").results),
        (rw.UsageError, "method", lambda: rw.labels(np.eye(3), method="quick")),
        (rw.UsageError, "occupied", lambda: rw.labels(graph, occupied=[1, 0])),
        (rw.UsageError, "dimensions", lambda: rw.labels(np.zeros((2,) * 5))),
    ]
    assert len(bad) >= 40
    for kind, words, call in bad:
        with pytest.raises(kind) as caught:
            call()
        assert words in str(caught.value), (words, str(caught.value))
        assert "\n" not in str(caught.value)
        if kind is rw.UsageError:
            assert isinstance(caught.value, ValueError)


def test_spins_on_the_cpu_are_no_device_array(small):
    with pytest.raises(rw.DeviceError, match="on cpu"):
        rw.Simulation(small, 2.3, device="cpu").spins_device
    with pytest.raises(rw.DeviceError):
        rw.Simulation(small, 2.3, device="cpu").measure_device()


def test_missing_device_is_an_error(small):
    if rw.devices():
        pytest.skip("there is a GPU")
    with pytest.raises(rw.DeviceError):
        rw.simulate(small, 2.3, device="cuda")


def test_warning_if_hot_and_cold_starts_differ():
    graph = rw.rewire(64, p=0.01)
    with pytest.warns(RuntimeWarning, match="not in equilibrium"):
        results = rw.simulate(graph, 2.2, schedule="1:0", equilibrate=0, measure=20, device="cpu")
    assert any("hot and cold" in line for line in results.warnings)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_of_a_thousand_calls_is_flat(small):
    def call(count):
        for seed in range(count):
            results = rw.simulate(small, [2.3, 2.6], measure=20, equilibrate=5, seed=seed,
                                  device="cpu", threads=1)
            results.binder, results.series["energy"]
        gc.collect()
        return resident()

    before = call(100)
    after = call(1000)
    assert after - before < 2 << 20, f"{(after - before) / 1000:.0f} bytes a call"


# Signals, threads, processes


def interrupted_after(seconds, call):
    """Sends SIGINT to this process while `call` runs. Returns the seconds until it ends."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    timer.join()
    return time.monotonic() - sent[0]


@pytest.mark.parametrize("edge, schedule", [(16, "1:1"), (1024, "1:0"), (256, "0:64")])
def test_interrupt_leaves_a_usable_object(edge, schedule):
    graph = rw.rewire(edge, p=0.01)
    spec = dict(schedule=schedule, seed=3, device="cpu")
    simulation = rw.Simulation(graph, 2.4, **spec)
    interrupted_after(0.3, lambda: simulation.run(10**9))
    simulation.measure()  # completes the interrupted cycle
    whole = rw.Simulation(graph, 2.4, **spec)
    whole.run(simulation.cycles)
    assert simulation.hash == whole.hash
    simulation.run(2)
    whole.run(2)
    assert simulation.hash == whole.hash


def test_interrupt_of_simulate_keeps_a_checkpoint(program, tmp_path):
    graph, path = rw.rewire(64, p=0.01, seed=1), tmp_path / "t.h5"
    spec = dict(measure=8000, equilibrate=10, device="cpu")
    interrupted_after(0.15, lambda: rw.simulate(graph, 2.4, out=path, **spec))
    assert (tmp_path / "t.part.h5").exists() and not path.exists()
    results = rw.simulate(graph, 2.4, out=path, **spec)
    found = program("run", "--size", 64, "--p", 0.01, "--temperature", 2.4, "--measure", 8000,
                    "--equilibrate", 10, "--device", "cpu")
    assert results.hash == found["trajectory_hash"]


def test_interrupt_of_a_graph_being_built():
    interrupted_after(0.2, lambda: [rw.rewire(4096, p=0.3, seed=s) for s in range(1000)])


@pytest.mark.parametrize("edge, schedule", [(64, "1:1"), (1024, "40:0"), (256, "0:64")])
def test_a_signal_handler_saves_a_run(tmp_path, edge, schedule):
    spec = dict(schedule=schedule, seed=3, device="cpu")
    simulation = rw.Simulation(rw.rewire(edge, p=0.01), 2.4, **spec)
    saved, after = [], []

    def save(*_):
        path = tmp_path / f"{len(saved)}.h5"
        simulation.save(path)
        saved.append((path, simulation.cycles))

    def stop(*_):
        save()
        after.append(time.monotonic())
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, save), signal.signal(signal.SIGUSR1, stop)
    timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.start()
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.4)
    try:
        with pytest.raises(KeyboardInterrupt):
            simulation.run(10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        timer.join()
        signal.signal(signal.SIGALRM, old[0]), signal.signal(signal.SIGUSR1, old[1])
    assert len(saved) >= 2
    whole = rw.Simulation(simulation.graph, 2.4, **spec)
    for path, cycles in saved:
        back = rw.Simulation.restore(path, device="cpu")
        assert cycles <= back.cycles <= cycles + 1
        whole.run(back.cycles - whole.cycles)
        assert back.hash == whole.hash


def test_a_signal_handler_may_not_change_a_run(small):
    simulation = rw.Simulation(small, 2.4, device="cpu")
    old = signal.signal(signal.SIGALRM, lambda *_: simulation.run(1))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(rw.UsageError, match="within one of its own calls"):
            simulation.run(10**9)
    finally:
        signal.signal(signal.SIGALRM, old)
    simulation.run(1)


def test_measurements_are_read_while_another_thread_adds_some():
    code = """
import threading, time
import rewise as rw
sim = rw.Simulation(rw.rewire(4, p=0.1), [2.4, 2.5], threads=1, device="cpu", schedule="1:0")
end = time.monotonic() + 3
def work():
    while time.monotonic() < end:
        sim.record(1000)
def look():
    while time.monotonic() < end:
        sim._core.halves_agree(100)
        for step in sim.iterate(5):
            step.energy
threads = [threading.Thread(target=one) for one in (work, look)]
for thread in threads:
    thread.start()
while time.monotonic() < end:
    sim.forget()
    time.sleep(0.0002)
for thread in threads:
    thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_two_simulations_in_two_threads(small):
    alone = {}
    for seed in (1, 2):
        simulation = rw.Simulation(small, 2.4, seed=seed, device="cpu")
        simulation.run(2000)
        alone[seed] = simulation.hash
    together = {}

    def work(seed):
        simulation = rw.Simulation(small, 2.4, seed=seed, device="cpu")
        for _ in range(20):
            simulation.run(100)
        together[seed] = simulation.hash

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_one_simulation_in_two_threads(small):
    simulation, alone = (rw.Simulation(small, 2.4, seed=4, device="cpu") for _ in range(2))
    threads = [threading.Thread(target=lambda: [simulation.run(10) for _ in range(50)])
               for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone.run(1500)
    assert simulation.cycles == 1500 and simulation.hash == alone.hash


def test_other_threads_run_meanwhile():
    simulation = rw.Simulation(rw.rewire(256, p=0.01), 2.4, device="cpu")
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    simulation.run(150)
    done.set()
    thread.join()
    assert len(ticks) > 10  # run() released the GIL


def test_forked_children_run(small):
    simulation = rw.Simulation(small, 2.4, seed=6, device="cpu", threads=2)
    simulation.run(50)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            simulation.run(50)
            fresh = rw.simulate(small, 2.4, measure=20, equilibrate=5, device="cpu", threads=2)
            os.write(write, f"{simulation.hash} {fresh.hash}".encode())
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0
    simulation.run(50)
    here = rw.simulate(small, 2.4, measure=20, equilibrate=5, device="cpu", threads=2)
    assert os.read(read, 100).decode().split() == [simulation.hash, here.hash]


@pytest.mark.parametrize("absent", [["matplotlib"], ["h5py"], ["tqdm", "pandas", "xarray"]])
def test_works_without_some_packages(absent):
    code = f"""
import sys
for name in {absent!r}:
    sys.modules[name] = None
import rewise as rw
r = rw.simulate(rw.rewire(16, p=0.1), 2.4, measure=20, equilibrate=5, device="cpu", progress=True)
print(r.hash, r._repr_html_()[:7], rw.rewire(8)._repr_html_()[:3])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_loads_no_large_package():
    code = """
import sys
import rewise as rw
rw.simulate, rw.Graph, rw.Study, rw.tune, rw.labels
heavy = {"matplotlib", "pandas", "xarray", "scipy", "h5py", "networkx", "tqdm", "pyerrors"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_program_of_the_package(program):
    done = subprocess.run([sys.executable, "-m", "rewise", "graph", "--size", "16", "--json"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-m", "rewise", "run", "--size", "7"],
                          capture_output=True, text=True)
    assert done.returncode == 64 and done.stderr.startswith("rewise: --")
    assert "64" in subprocess.run([sys.executable, "-m", "rewise", "--help"], capture_output=True,
                                  text=True).stdout


@pytest.mark.parametrize("engine, temperature, more", [
    ("multispin", 2.4, dict()),
    ("multispin", [2.3, 2.6], dict(replicas=64, cluster="swendsen-wang")),
    ("multispin", [2.3, 2.6], dict(couplings="antiferromagnet")),
    ("multispin", [1.4, 1.8], dict(couplings="pm", exchange=True, schedule="1:0")),
    ("bytespin", [2.3, 2.6], dict(replicas=3)),
    ("bytespin", [2.3, 2.6], dict(replicas=3, couplings="gaussian")),
    ("bytespin", 1.1, dict(replicas=4, model="potts", q=5)),
    ("bitlattice", [2.3, 2.6], dict(replicas=3, schedule="1:0"))])
def test_spins_as_start(engine, temperature, more):
    """A simulation that starts with the spins of another one has exactly these spins, in every form
    of the array, and the energies that follow from the bonds. The continuation does not depend on
    the number of threads."""
    g = rw.rewire(size=(16, 8), p=0.0 if engine == "bitlattice" else 0.1, seed=3)
    spec = dict(engine=engine, device="cpu", **more)
    bonds, J = g, 1
    if "couplings" in more:
        bonds = rw.Graph._of(g._graph.weighted({"couplings": more["couplings"]}))
        J = bonds.weights
    first = rw.Simulation(g, temperature, seed=5, **spec)
    first.run(20)
    spins = first.spins
    second = rw.Simulation(g, temperature, seed=6, start=spins, **spec)
    assert second.hash == first.hash and second.cycles == 0
    np.testing.assert_array_equal(second.spins, spins)
    flat = spins.reshape(*spins.shape[:-2], g.sites).astype(np.int64)
    values = flat if "q" in more else 2 * flat - 1
    for same in (flat, values, values.astype(float), values.tolist()):
        assert rw.Simulation(g, temperature, start=same, **spec).hash == first.hash
    a, b = bonds.edges.T
    products = values[..., a] == values[..., b] if "q" in more else values[..., a] * values[..., b]
    np.testing.assert_allclose(second.measure()["energy"], -(J * products).sum(axis=-1) / g.sites,
                               rtol=0, atol=1e-12)
    second.run(10)
    for threads in (1, 2):
        again = rw.Simulation(g, temperature, seed=6, start=spins, threads=threads, **spec)
        again.run(4)
        again.run(6)
        assert again.hash == second.hash != first.hash


def test_start_of_one_replica_or_temperature(small):
    rng = np.random.default_rng(3)
    one, replicas = rng.integers(0, 2, (8, 16)), rng.choice([-1, 1], (32, 128))
    many = rw.Simulation(small, [2.3, 2.6], start=one)
    assert (many.spins == one).all() and (many.snapshot() == 2 * one - 1).all()
    many = rw.Simulation(small, [2.3, 2.6], start=replicas)
    assert (many.spins.reshape(2, 32, 128) == (replicas > 0)).all()
    ladder = rw.Simulation(small, {"from": 1.4, "to": 2.2}, exchange=True, start=one > 0)
    assert len(ladder.temperature) > 1 and (ladder.spins == one).all()
    up = rw.Simulation(small, 2.3, start=np.ones(small.sites))
    assert (up.measure()["energy"] == -small.bonds / small.sites).all()
    club = rw.Graph([[0, 1], [1, 2], [2, 0]])
    potts = rw.Simulation(club, 1.0, model="potts", q=3, replicas=1, start=[0, 2, 2])
    assert potts.spins.tolist() == [[0, 2, 2]]
    potts = rw.Simulation(club, 1.0, model="potts", q=2, replicas=1, start=[0, 1, 1])
    assert potts.snapshot().tolist() == [0, 1, 1]


def test_runs_and_files_of_given_spins(small, tmp_path):
    """simulate() and Simulation make the same moves. Files can be continued with or without the
    spins."""
    start = np.random.default_rng(4).choice([-1, 1], small.sites)
    spec = dict(seed=7, device="cpu", schedule="2:1")
    stepwise = rw.Simulation(small, 2.5, start=start, **spec)
    stepwise.run(200)
    stepwise.record(50)
    stepwise.save(tmp_path / "s.h5")
    spec |= dict(equilibrate=200, out=tmp_path / "r.h5")
    results = rw.simulate(small, 2.5, start=start, measure=50, **spec)
    assert results.hash == stepwise.hash
    assert results.status == ["ok"] and results.configuration["sampling.start"] == "given"
    back = rw.Simulation.restore(tmp_path / "s.h5", device="cpu")
    back.run(10)
    stepwise.run(10)
    assert back.hash == stepwise.hash
    back.save(tmp_path / "s.h5")
    assert rw.Results.load(tmp_path / "s.h5").configuration["sampling.start_hash"] == \
        results.configuration["sampling.start_hash"]
    longer = rw.simulate(small, 2.5, start=start[None].repeat(32, 0), measure=60, **spec)
    assert longer.hash == back.hash
    for other in (-start, "mixed"):
        with pytest.raises(rw.HeldError, match="start"):
            rw.simulate(small, 2.5, start=other, measure=60, **spec)
    with pytest.warns(RuntimeWarning, match="all replicas started from given spins"):
        early = rw.simulate(small, 2.5, start=start, measure=200, equilibrate=0, seed=7)
    assert early.status == ["not-equilibrated"]


@pytest.mark.parametrize("start, more, text", [
    ("given", dict(), "unknown start 'given'.*known: mixed, cold, hot"),
    (np.zeros((16, 8)), dict(), r"start: an array of shape \(16, 8\) \(expected: .*\(8, 16\)"),
    (np.zeros((31, 128)), dict(), r"shape \(31, 128\).*\(32,\) or"),
    (np.zeros((3, 32, 128)), dict(), r"shape \(3, 32, 128\).*\(2, 32\)"),
    (np.full(128, 2), dict(), r"invalid spin 2 \(allowed: 0 and 1, or -1 and 1\)"),
    (np.linspace(0, 1, 128), dict(), "invalid spin 0.00"),
    (np.array([-1, 0] * 64), dict(), r"invalid spin 0 \(allowed: -1 and 1, or 0 and 1\)"),
    (np.full(128, np.nan), dict(), "invalid spin nan"),
    (np.full(128, 3), dict(model="potts", q=3), r"invalid spin 3 \(allowed: 0..2\)"),
    (np.full(128, -1), dict(model="potts", q=3), r"invalid spin -1 \(allowed: 0..2\)")])
def test_refused_starts(small, start, more, text):
    for call in (rw.simulate, rw.Simulation):
        with pytest.raises(rw.UsageError, match=text) as raised:
            call(small, [2.3, 2.6], start=start, **more)
        assert isinstance(raised.value, ValueError)
    for wrong in (None, 1, np.array(["up"] * 128), np.zeros(128, dtype=complex)):
        with pytest.raises(TypeError, match="start: "):
            rw.Simulation(small, 2.3, start=wrong)
    with pytest.raises(rw.UsageError, match="start='mixed'"):
        rw.simulate(small, 2.3, start=np.zeros(128), equilibrate="auto")
