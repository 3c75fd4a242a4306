"""Couplings and fields: graphs with weights, their conversions, simulations and their energies."""

import itertools
import pickle

import numpy as np
import pytest

import rewise as rw


@pytest.fixture
def glass(small):
    rng = np.random.default_rng(7)
    return rw.Graph(small.edges, weights=rng.normal(size=small.bonds),
                    fields=0.3 * rng.normal(size=small.sites))


def couplings_by_pair(graph):
    return {tuple(sorted(pair)): j for pair, j in zip(graph.edges.tolist(), graph.weights)}


def energies(graph, spins):
    """Energies per site of spins [.., sites]."""
    s = 2.0 * spins.reshape(*spins.shape[:spins.ndim - 1], -1) - 1
    a, b = graph.edges.T
    weights = np.ones(graph.bonds) if graph.weights is None else graph.weights
    fields = np.zeros(graph.sites) if graph.fields is None else graph.fields
    return -((weights * s[..., a] * s[..., b]).sum(-1) + (fields * s).sum(-1)) / graph.sites


def test_weights_are_rounded_to_the_resolution(small, glass):
    rng = np.random.default_rng(7)
    given = rng.normal(size=small.bonds)
    assert glass.weights.dtype == np.float64
    assert abs(glass.weights - given).max() <= 2.0**-21
    assert np.all(glass.weights * 2**20 == np.round(glass.weights * 2**20))
    assert small.weights is None and small.fields is None
    ones = rw.Graph(small.edges, weights=np.ones(small.bonds))
    assert ones.hash == rw.Graph(small.edges).hash != glass.hash
    assert pickle.loads(pickle.dumps(glass)).hash == glass.hash


@pytest.mark.parametrize("ending", ["h5", "graphml", "edges"])
def test_files_keep_weights_and_fields(glass, tmp_path, ending):
    glass.save(tmp_path / f"g.{ending}")
    back = rw.Graph.load(tmp_path / f"g.{ending}")
    np.testing.assert_array_equal(back.weights, glass.weights)
    np.testing.assert_array_equal(back.fields, glass.fields)
    assert back.hash == glass.hash


def test_networkx_keeps_weights_and_fields(glass):
    networkx = pytest.importorskip("networkx")
    there = glass.to_networkx()
    a, b = glass.edges[5].tolist()
    assert there[a][b]["weight"] == glass.weights[5]
    back = rw.Graph.from_networkx(there)
    assert couplings_by_pair(back) == couplings_by_pair(glass)
    np.testing.assert_array_equal(back.fields, glass.fields)
    some = networkx.Graph([(0, 1, {"weight": -1}), (1, 2)])
    with pytest.raises(rw.DataError, match=r"edge \(1, 2\) has no coupling"):
        rw.Graph.from_networkx(some)
    both = networkx.DiGraph([(0, 1, {"J": -1}), (1, 0, {"J": -1})])
    assert rw.Graph.from_networkx(both, merge=True).weights.tolist() == [-1]
    both[1][0]["J"] = 2
    with pytest.raises(rw.DataError, match="J = -1 and 2"):
        rw.Graph.from_networkx(both, merge=True)


def test_scipy_keeps_weights_if_asked(small, glass):
    pytest.importorskip("scipy")
    matrix = glass.to_scipy(weights=True)
    back = rw.Graph.from_scipy(matrix, weights=True)
    assert couplings_by_pair(back) == couplings_by_pair(glass)
    assert set(glass.to_scipy().data) == {1} and set(small.to_scipy(weights=True).data) == {1.0}
    with pytest.raises(rw.DataError, match="weights=True"):
        rw.Graph.from_scipy(matrix)
    matrix[0, matrix.indices[0]] += 1
    with pytest.raises(rw.DataError, match="not symmetric"):
        rw.Graph.from_scipy(matrix, weights=True)


@pytest.mark.parametrize("settings", [
    {"couplings": "pm"}, {"couplings": "antiferromagnet", "field": 0.5},
    {"couplings": "gaussian", "coupling_seed": 3, "field_random": "pm", "field_width": 0.2},
    {"couplings": "pm", "on": "shortcuts", "negative": 0.3, "shortcut_strength": 0.5}],
    ids=["pm", "antiferromagnet", "gaussian", "shortcuts"])
def test_energies_are_those_of_the_couplings(small, settings):
    """The exported couplings, the measured energies and the spins are consistent."""
    words = {key: str(value) for key, value in settings.items()}
    graph = rw.Graph._of(small._graph.weighted(words))
    simulation = rw.Simulation(small, [2.0, 3.0], seed=5, **settings)
    simulation.run(5)
    seen = simulation.measure()
    expected = energies(graph, simulation.spins.reshape(2, 32, -1))
    np.testing.assert_allclose(seen["energy"], expected, atol=1e-12)
    step = next(simulation.iterate(1))
    np.testing.assert_allclose(
        step.energy, energies(graph, simulation.spins.reshape(2, 32, -1)), atol=1e-12)
    np.testing.assert_array_equal(simulation.results.series["energy"][:, 0], step.energy)


def test_arrays_are_couplings_and_fields(small, glass, tmp_path):
    simulation = rw.Simulation(small, 2.0, couplings=glass.weights, field=glass.fields, seed=2)
    same = rw.Simulation(glass, 2.0, couplings="file", seed=2)
    simulation.run(20)
    same.run(20)
    assert simulation.hash == same.hash and simulation.graph.hash == glass.hash
    assert simulation.spins.shape == (32, *small.extents[::-1])
    np.testing.assert_allclose(simulation.measure()["energy"],
                               energies(glass, simulation.spins.reshape(32, -1)), atol=1e-12)
    simulation.save(tmp_path / "s.h5")
    restored = rw.Simulation.restore(tmp_path / "s.h5")
    restored.run(3)
    simulation.run(3)
    assert restored.hash == simulation.hash and restored.graph.hash == glass.hash
    assert rw.Graph.load(tmp_path / "s.h5").hash == glass.hash
    # A field given as an array, with couplings given by name.
    field = rw.Simulation(small, 2.0, couplings="pm", field=glass.fields)
    named = rw.Graph._of(small._graph.weighted({"couplings": "pm"}))
    np.testing.assert_array_equal(field.graph.weights, named.weights)
    np.testing.assert_array_equal(field.graph.fields, glass.fields)


def test_a_task_file_has_energies_without_the_module(small, tmp_path):
    pytest.importorskip("h5py")
    run = rw.simulate(small, 2.0, couplings="gaussian", measure=20, out=tmp_path / "t.h5")
    from rewise import files

    np.testing.assert_array_equal(files.read_task(tmp_path / "t.h5").energy, run.series["energy"])


def test_results_agree_with_enumeration():
    """All 16 states of a triangle with a tail, with couplings of both signs and fields."""
    edges, weights = [(0, 1), (1, 2), (2, 0), (2, 3)], [1.5, -0.5, 1.0, -2.0]
    fields, temperature = [0.25, 0.0, -1.0, 0.5], 1.3
    states = np.array(list(itertools.product([0, 1], repeat=4)))
    graph = rw.Graph(edges, weights=weights, fields=fields)
    e = energies(graph, states)
    weight = np.exp(-4 * e / temperature)
    m = (2.0 * states - 1).mean(axis=1)
    for cluster in ("wolff", "swendsen-wang"):
        run = rw.simulate(graph, temperature, couplings="file", measure=20000, cluster=cluster)
        for found, exact in ((run.energy, np.average(e, weights=weight)),
                             (run.m2, np.average(m**2, weights=weight))):
            assert abs(found.value[0] - exact) < 5 * found.error[0], (cluster, str(found), exact)


def test_overlaps_are_series_of_pairs(small):
    run = rw.simulate(small, [2.0, 3.0], couplings="pm", measure=30, replicas=64)
    assert run.series["overlap"].shape == (2, 30, 32)
    assert run.series["link_overlap"].shape == (2, 30, 32)
    simulation = rw.Simulation(small, 2.0, couplings="pm")
    simulation.run(5)
    seen = simulation.measure()
    s = 2 * simulation.spins.reshape(32, -1).astype(int) - 1
    np.testing.assert_array_equal(seen["overlap"], (s[0::2] * s[1::2]).sum(axis=1))
    a, b = small.edges.T
    links = s[:, a] * s[:, b]
    np.testing.assert_array_equal(seen["link_overlap"], (links[0::2] * links[1::2]).sum(axis=1))


def test_staggered_magnetisation(small, tmp_path):
    pytest.importorskip("h5py")
    from rewise import files

    settings = {"couplings": "antiferromagnet", "schedule": "1:0", "equilibrate": 500}
    run = rw.simulate(small, [2.0, 8.0], measure=60, out=tmp_path / "t.h5", **settings)
    m_s = run.series["staggered"] / small.sites
    assert m_s.shape == (2, 60, 32)
    np.testing.assert_allclose(run.candidate("abs_staggered").value,
                               np.abs(m_s).mean(axis=(1, 2)))
    np.testing.assert_allclose(run.candidate("staggered_m2").value, (m_s**2).mean(axis=(1, 2)))
    assert run.candidate("staggered_m2").value[0] > 0.3 > run.candidate("m2").value[0]
    assert "staggered_m2_error" in run.columns() and "m_s^2" in run.rows()[0]
    stored = files.read_task(tmp_path / "t.h5").columns["staggered"]
    np.testing.assert_array_equal(stored, run.series["staggered"])
    going_on = rw.Simulation.restore(tmp_path / "t.h5")
    assert "staggered" in going_on.measure()

    x, y = np.indices(small.extents[::-1])
    simulation = rw.Simulation(small, 2.0, couplings="pm", field=0.1, staggered=True)
    simulation.run(5)
    spins = 2 * simulation.spins.astype(int) - 1
    np.testing.assert_array_equal(simulation.measure()["staggered"],
                                  (spins * (1 - 2 * ((x + y) % 2))).sum(axis=(1, 2)))
    plain = rw.simulate(small, 2.0, measure=10, staggered=False, **settings)
    assert "staggered" not in plain.series and np.isnan(plain.staggered_m2.value).all()
    assert plain.hash == rw.simulate(small, 2.0, measure=10, **settings).hash


def test_snapshots(small, tmp_path):
    simulation = rw.Simulation(small, [2.0, 3.0], couplings="pm")
    simulation.run(5)
    seen = simulation.snapshot(tmp_path / "s.npy")
    assert seen.dtype == np.int8 and seen.shape == (2, *small.extents[::-1])
    np.testing.assert_array_equal(seen, 2 * simulation.spins[:, 0].astype(int) - 1)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), seen)
    with pytest.raises(rw.UsageError, match="must end in .npy or .png"):
        simulation.snapshot(tmp_path / "s.txt")
    image = pytest.importorskip("matplotlib.image")
    simulation.snapshot(tmp_path / "s.png")
    grey = image.imread(tmp_path / "s.png")[:, :, 0]  # half of the sites are black, plus titles
    assert 0.2 < (grey < 0.5).mean() < 0.8
    chain = rw.Simulation(rw.rewire(8, dim=1), 2.0)
    assert chain.snapshot().shape == (8,)
    with pytest.raises(rw.UsageError, match="two-dimensional"):
        chain.snapshot(tmp_path / "chain.png")


def test_tune_takes_couplings(small, glass):
    settings = {"budget": 3, "schedules": ["1:0", "1:1"], "cluster": "wolff", "progress": False}
    tuned = rw.tune(small, 2.0, couplings=np.abs(glass.weights), **settings)
    assert tuned.best in ("1:0", "1:1")
    # m is no order parameter of a glass.
    with pytest.raises(rw.UsageError, match="negative couplings"):
        rw.tune(small, 2.0, couplings=glass.weights, field=glass.fields, **settings)
    # With replica exchange, candidates are compared by q^2.
    settings["schedules"] = ["1:0", "2:0"]
    for temperatures in ([2.0, 2.5, 3.0], {"from": 2.0, "to": 3.0}):
        tuned = rw.tune(small, temperatures, exchange=True, couplings="pm", **settings)
        assert tuned.best in ("1:0", "2:0")
        assert tuned.rows()[0][-1] == "tau(q^2)"
        assert tuned.candidates[0]["tau"]["q2"]["value"] > 0
    with pytest.raises(rw.UsageError, match="at least two temperatures"):
        rw.tune(small, 2.0, exchange=True, couplings="pm", **settings)


@pytest.mark.parametrize("arguments, error, said", [
    ({"couplings": [1.0, 2.0]}, rw.UsageError, "couplings: 2 values, but"),
    ({"couplings": "pmx"}, rw.UsageError, "did you mean 'pm'"),
    ({"couplings": "file"}, rw.UsageError, "the graph has no weights"),
    ({"couplings": 3}, TypeError, "neither a string nor an array"),
    ({"couplings": [["a"]]}, TypeError, "one-dimensional"),
    ({"field": [1.0]}, rw.UsageError, "field: 1 values, but"),
    ({"field": "strong"}, TypeError, "field: 'strong' is not a number"),
    ({"field": 1e6}, rw.UsageError, "field: '1000000.0' is not a number in"),
    ({"field": 1e-6}, rw.UsageError, "field: 1e-06 is too small"),
    ({"negative": 0.2}, rw.UsageError, "negative: requires couplings"),
    ({"on": "some", "couplings": "pm"}, rw.UsageError, "on: unknown"),
    ({"model": "potts", "q": 3, "field": 1.0}, rw.UsageError, "field"),
    ({"staggered": True}, rw.UsageError, "staggered: the staggered magnetisation requires"),
    ({"staggered": "yes"}, TypeError, "neither True nor False"),
    ({"engine": "bitlattice", "couplings": "gaussian", "schedule": "1:0"}, rw.UsageError,
     "bytespin")])
def test_bad_arguments(small, arguments, error, said):
    with pytest.raises(error, match=said):
        rw.simulate(small, 2.0, measure=10, **arguments)


def test_bad_weights(small, glass):
    for weight, said in ((1024, "1024"), (np.nan, "nan"), (1e-21, "1e-21"), (1e-5, "rounding"),
                         (1e-8, "all values are 0 after rounding")):
        with pytest.raises(rw.DataError, match=said):
            rw.Graph(small.edges, weights=np.full(small.bonds, weight))
    with pytest.raises(rw.UsageError, match="weights: 1 values, but"):
        rw.Graph(small.edges, weights=[1.0])
    with pytest.raises(TypeError, match="one-dimensional"):
        rw.Graph(small.edges, weights=["a"] * small.bonds)
    with pytest.raises(rw.UsageError, match='bond 0 of sites .* has J = .*couplings = "file"'):
        rw.simulate(glass, 2.0)
    with pytest.raises(rw.UsageError, match="shortcut_strength: a lattice with p = 0 has no"):
        rw.simulate(rw.rewire(4, p=0), 2.0, couplings="pm", shortcut_strength=0.5)
    with pytest.raises(rw.UsageError, match="negative: cannot be combined with an array"):
        rw.simulate(small, 2.0, couplings=np.ones(small.bonds), negative=0.2)


def test_distribution_of_overlaps_is_exact():
    """P(q) of one glass of 16 sites with replica exchange, against the sum over all pairs of
    configurations: the XOR convolution of the Boltzmann weights, by Walsh-Hadamard transforms."""
    graph = rw.rewire(size=4, p=0.1, seed=5)
    temperature = [0.8, 1.3, 2.0]
    results = rw.simulate(graph, temperature, couplings="pm", coupling_seed=2, exchange=True,
                          schedule="1:0", local="glauber", replicas=512, equilibrate=300,
                          measure=100, every=3, seed=4, device="cpu")
    weighted = rw.Graph._of(graph._graph.weighted({"couplings": "pm", "coupling_seed": "2"}))
    states = np.arange(1 << 16)
    spins = (states[:, None] >> np.arange(16) & 1).astype(np.uint8)
    energy = 16 * energies(weighted, spins)
    different = spins.sum(axis=1)
    for t, series in zip(temperature, results.series["overlap"]):
        weights = np.exp(-(energy - energy.min()) / t)
        pairs = weights / weights.sum()
        for bit in range(16):
            pairs = pairs.reshape(-1, 2, 1 << bit)
            pairs = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        pairs = pairs.ravel() ** 2
        for bit in range(16):
            pairs = pairs.reshape(-1, 2, 1 << bit)
            pairs = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        exact = np.bincount(different, pairs.ravel() / 2**16)  # [sites that differ]
        found = np.array([(series == 16 - 2 * d).mean(axis=0) for d in range(17)])  # [.., pair]
        error = found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
        # 51 comparisons; with 256 pairs 5 standard errors have a false-alarm rate below 1e-4.
        # Values of q that are too rare for an error by the spread of pairs are compared together.
        often = exact * found.shape[1] * 100 > 200
        assert often.sum() >= 8
        assert np.all(abs(found.mean(axis=1) - exact)[often] < 5 * error[often])
        rare = found[~often].sum(axis=0)
        assert abs(rare.mean() - exact[~often].sum()) < 1e-3
        assert exact.sum() == pytest.approx(1)
