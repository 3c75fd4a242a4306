"""Errors of the package with its compiled module: each has one line and an exception type of the
package."""

import inspect
import random
import re
import shutil

import h5py
import numpy as np
import pytest

import rewise as rw
from rewise import errors, files

CONFIG = {"study": {"name": "two", "seed": 5},
          "lattice": {"dim": 2, "sizes": [8, 16], "p": [0.1], "graphs": 8},
          "sampling": {"schedule": "1:1", "measure": 20, "equilibrate": 20,
                       "temperatures": [2.6, 2.8, 3.0]}}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = rw.Study(tmp_path_factory.mktemp("studies") / "two", CONFIG, kind="sweep")
    return made.run(device="cpu")


@pytest.fixture(scope="module")
def run():
    graph = rw.rewire(size=(16, 8), p=0.1, seed=3)
    simulation = rw.Simulation(graph, [2.3, 2.6], device="cpu")
    simulation.record(5)
    return simulation


def told(kind, words, call):
    with pytest.raises(kind) as caught:
        call()
    assert re.search(words, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def changed(path, to):
    """A copy with one bit changed."""
    whole = bytearray(path.read_bytes())
    whole[random.Random(len(whole)).randrange(512, len(whole))] ^= 4
    to.write_bytes(whole)
    return to


def test_digests_of_files_of_the_program_are_checked(run, study, tmp_path):
    pytest.importorskip("xxhash")
    run.save(tmp_path / "t.h5")
    assert rw.read_task(tmp_path / "t.h5").energy.shape == (2, 5, 32)
    bad = changed(tmp_path / "t.h5", tmp_path / "bad.h5")
    for read in (rw.read_task, rw.Results.load, rw.Simulation.restore):
        told(rw.DataError, "content and its digest differ", lambda: read(bad))
    copy = shutil.copytree(study.folder, tmp_path / "copy")
    assert rw.Study(copy).resamples.size(0.1, 8).graphs == 8
    changed(copy / "summary.h5", copy / "summary.h5")
    told(rw.DataError, "summary.h5.* digest", lambda: rw.Study(copy).resamples)
    pack = next((copy / "tasks").glob("*.pack.h5"))
    with h5py.File(pack) as file:
        name = next(iter(file))
    whole, task = bytearray(pack.read_bytes()), files.packed_task(pack.parent / f"{name}.h5")
    whole[whole.index(task) + len(task) // 2] ^= 1
    pack.write_bytes(whole)
    told(rw.DataError, f"{name}.h5' is damaged", lambda: list(rw.Study(copy).tasks(all=True)))
    path = pack.parent / f"{name}.h5"  # the error names this path, not that of a temporary copy
    told(rw.DataError, re.escape(str(path)), lambda: rw.Results.load(path))


def test_results_of_a_packed_task(study):
    task = next(study.tasks())
    assert not task.path.exists()  # in a results archive
    kept = rw.Results.load(task.path)
    np.testing.assert_array_equal(kept.series["energy"], task.energy)
    assert rw.Graph.load(task.path).sites == task.sites
    assert rw.Simulation.restore(task.path, device="cpu").hash == kept.hash


def test_names_and_indices_that_do_not_exist(run, study):
    results = run.results
    bad = [
        (rw.AbsentError, "available: energy, magn", lambda: results.series["spins"]),
        (rw.AbsentError, "temperature, energy", lambda: results.columns()["e"]),
        (rw.AbsentError, "there are 2 temperatures", lambda: results.energy[2]),
        (AttributeError, "observables: energy", lambda: results.chi),
        (rw.UsageError, "allowed: energy", lambda: results.plot("chi")),
        (rw.UsageError, "there are 2", lambda: results.left_out(2)),
        (rw.UsageError, "there are 32", lambda: run.spins_of(32)),
        (TypeError, "whole number", lambda: run.spins_of("a")),
        (TypeError, "whole number", lambda: run.record(None)),
        (rw.AbsentError, "bond_sum", lambda: run.measure()["spins"]),
        (rw.AbsentError, "0.1, 8x8; 0.1, 16x16", lambda: study.resamples.size(0.1, 4)),
        (rw.AbsentError, "has no Tc of p = 0.1; it has none", lambda: study.resamples.tc(0.1)),
        (rw.AbsentError, "binder", lambda: study.resamples.size(0.1, 8).left_out["U"]),
        (rw.AbsentError, "binder", lambda: study.resamples.size(0.1, 8).error("U")),
        (rw.DataError, "no Tc", lambda: study.tc),
        (rw.UsageError, "pairs", lambda: rw.Graph([[0, 1], [1]])),
        (rw.DataError, "itself", lambda: rw.Graph([(0, 0)])),
        (TypeError, "networkx", lambda: rw.Graph.from_networkx(5)),
        (TypeError, "scipy", lambda: rw.Graph.from_scipy(np.eye(2))),
        (rw.UsageError, "schedules", lambda: rw.tune(run.graph, 2.3, schedules=[])),
        (TypeError, "folder", lambda: rw.tc(0.1, [8, 16], folder=5)),
        (TypeError, "sampling", lambda: rw.tc(0.1, [8, 16], sampling=5)),
        (TypeError, "config", lambda: rw.Study("x", 5)),
        (TypeError, "with_error", lambda: rw.with_error("x", 1)),
    ]
    for kind, words, call in bad:
        told(kind, words, call)
    assert [str(one) for one in results.energy] == str(results.energy).split(", ")


def test_wrong_calls_say_what_to_use(tmp_path):
    g = rw.rewire(8, p=0.1)
    with pytest.warns(RuntimeWarning):
        results = rw.simulate(g, 3.0, measure=20, equilibrate=0)
    bad = [
        (TypeError, "'temprature' .did you mean 'temperature'",
         lambda: rw.simulate(g, temprature=2.0)),
        (TypeError, "'T' .did you mean 'temperature'", lambda: rw.simulate(g, T=2.0)),
        (TypeError, "'xyz' .known: graph, temperature", lambda: rw.simulate(g, 2.0, xyz=1)),
        (TypeError, "'L' .did you mean 'size'", lambda: rw.rewire(L=8)),
        (TypeError, r"use record.measure, every", lambda: rw.Simulation(g, 2.0, measure=9)),
        (TypeError, r"'measure' .use sampling=", lambda: rw.tc(0.1, [8, 16], measure=9)),
        (TypeError, "engine: None is not a string", lambda: rw.simulate(g, 2.0, engine=None)),
        (rw.UsageError, "replicas: -4 .*.1 or more", lambda: rw.simulate(g, 2.0, replicas=-4)),
        (rw.UsageError, "seed: 18446744073709551616 .*.0..2.64 - 1",
         lambda: rw.simulate(g, 2.0, seed=2**64)),
        (rw.UsageError, r"cycles: -1 .*.0 or more", lambda: rw.Simulation(g, 2.0).run(-1)),
        (rw.UsageError, "'count': 3, 'x': 2",
         lambda: rw.simulate(g, {"from": 1, "to": 2, "count": 3, "x": 2})),
        (rw.UsageError, "no weights .*Graph.edges, weights=J",
         lambda: rw.simulate(g, 2.0, couplings="file")),
        (rw.UsageError, "several temperatures need exchange=True", lambda: rw.tune(g, [2.0, 2.1])),
        (TypeError, "Graph.load.path", lambda: rw.Graph("g.edges")),
        (rw.UsageError, "Graph.from_scipy", lambda: rw.Graph(np.zeros((3, 3)))),
        (rw.DataError, "site -1 is negative", lambda: rw.Graph([[0, -1]])),
        (rw.UsageError, "0 dimensions", lambda: rw.labels(5)),
        (rw.UsageError, "does not end in .h5", lambda: results.save(tmp_path / "r.txt")),
        (TypeError, "jackknife.*function", lambda: rw.series.jackknife(np.mean, [np.eye(3)])),
    ]
    for kind, words, call in bad:
        told(kind, words, call)
    assert "cmake --preset" not in errors.as_arguments("CUDA (cmake --preset cuda)")
    assert list(inspect.signature(rw.simulate).parameters)[:2] == ["graph", "temperature"]


def test_errors_of_a_dict_name_no_file(tmp_path):
    config = {**CONFIG, "sampling": {"mesure": 5}}
    told(rw.UsageError, "^config: unknown key 'mesure' in .sampling. .did you mean 'measure'",
         lambda: rw.Study(tmp_path / "x", config).run())
