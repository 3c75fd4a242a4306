"""Graphs in Python: equality with graphs of the program, conversion to and from other packages."""

import ast
import copy
import pathlib
import pickle

import numpy as np
import pytest

import rewise as rw


@pytest.mark.parametrize("rule", ["rewire", "swap", "add"])
def test_same_graph_as_the_program(program, rule):
    found = program("graph", "--size", "16,8", "--p", 0.1, "--seed", 3, "--rule", rule)["graph"]
    graph = rw.rewire(size=(16, 8), p=0.1, seed=3, rule=rule)
    assert graph.hash == found["hash"]
    assert (graph.sites, graph.bonds) == (found["sites"], found["bonds"])
    assert len(graph.modified) == found["modified"]
    assert len(graph.rewired) == found["rewired"]


def test_arrays_agree(small):
    edges, degrees = small.edges, small.degrees
    assert edges.shape == (small.bonds, 2) and degrees.shape == (small.sites,)
    np.testing.assert_array_equal(np.bincount(edges.ravel(), minlength=small.sites), degrees)
    moved = edges[small.rewired["bond"].astype(int)]
    np.testing.assert_array_equal(moved, np.stack([small.rewired["a"], small.rewired["b"]], 1))
    # A site whose neighbours differ from those in the lattice is an end of a rewired bond, or was
    # one before the rewiring.
    lattice = rw.rewire(size=(16, 8)).edges[small.rewired["bond"].astype(int)]
    touched = set(moved.ravel().tolist()) | set(lattice.ravel().tolist())
    assert set(small.modified.tolist()) <= touched
    colour = small.colour
    assert (colour[edges[:, 0]] != colour[edges[:, 1]]).all()


def test_views_hold_the_graph():
    modified = rw.rewire(32, p=0.1).modified
    copy = modified.copy()
    for seed in range(20):
        rw.rewire(32, p=0.1, seed=seed)
    np.testing.assert_array_equal(modified, copy)
    assert not modified.flags.writeable


def test_one_edge_and_dim_are_extents():
    assert rw.rewire(8, dim=3).extents == (8, 8, 8)
    assert rw.rewire(8).extents == (8, 8)
    assert rw.rewire(np.int64(8)).hash == rw.rewire((8, 8)).hash


def test_from_edges_and_back():
    graph = rw.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    assert (graph.sites, graph.bonds, graph.colours) == (4, 4, 3)
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 2], [2, 0], [2, 3]])
    assert rw.Graph([(0, 1)], sites=3).sites == 3


def test_networkx(small):
    networkx = pytest.importorskip("networkx")
    back = rw.Graph.from_networkx(small.to_networkx())
    assert sorted(map(sorted, back.edges.tolist())) == sorted(map(sorted, small.edges.tolist()))
    weighted = networkx.Graph()
    weighted.add_edge("a", "b", weight=2)
    assert rw.Graph.from_networkx(weighted).weights.tolist() == [2]
    with pytest.raises(rw.DataError, match="directed"):
        rw.Graph.from_networkx(networkx.DiGraph([(0, 1)]))
    both = networkx.DiGraph([(0, 1), (1, 0), (2, 1)])
    assert rw.Graph.from_networkx(both, merge=True).edges.tolist() == [[0, 1], [1, 2]]
    assert rw.Graph.from_networkx(weighted, ignore=["weight"]).bonds == 1
    assert rw.Graph.from_networkx(networkx.Graph([("a", "b", {"sign": "-"})])).weights == [-1]
    for minus in ({"sign": "x"}, {"ferro": False}, {"type": "antiferro"}, {"J": 2000}):
        with pytest.raises(rw.DataError, match=f'edge attribute "{next(iter(minus))}"'):
            rw.Graph.from_networkx(networkx.Graph([("a", "b", minus)]))
    assert rw.Graph.from_networkx(networkx.Graph([("a", "b", {"sign": "+"})])).bonds == 1
    signed = networkx.Graph(year="a text")
    signed.add_node("a", at=[1.0, 2.0])
    signed.add_edge("a", "b", sign=-1, weight=np.float64(1.0), kind="friend", on=True)
    with pytest.raises(rw.DataError, match="contradict"):
        rw.Graph.from_networkx(signed)
    with pytest.raises(rw.DataError, match=r'node attribute "at"'):
        rw.Graph.from_networkx(signed, ignore="weight")
    assert rw.Graph.from_networkx(signed, ignore="sign,at").bonds == 1
    assert rw.Graph.from_networkx(signed, ignore="weight,at").weights.tolist() == [-1]
    several = networkx.MultiGraph([(0, 1), (1, 0), (1, 2)])
    with pytest.raises(rw.DataError, match="merge"):
        rw.Graph.from_networkx(several)
    assert rw.Graph.from_networkx(several, merge=True).edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(TypeError, match="ignore"):
        rw.Graph.from_networkx(signed, ignore=[3])


def test_files_from_elsewhere(tmp_path):
    path = tmp_path / "g.edges"
    path.write_text("a b {'rank': 2}\nb a {}\nb c {}\n")
    with pytest.raises(rw.DataError, match="merge"):
        rw.Graph.load(path, ignore=["rank"])
    graph = rw.Graph.load(path, ignore=["rank"], merge=True)
    assert (graph.sites, graph.bonds) == (3, 2)
    metrics = rw.Graph([(0, 1), (1, 2), (2, 0)]).metrics()
    assert metrics["clustering"] == 1.0 and metrics["rewired_share"] is None


def test_scipy(small):
    pytest.importorskip("scipy")
    matrix = small.to_scipy()
    assert matrix.shape == (small.sites, small.sites)
    np.testing.assert_array_equal(matrix.sum(axis=0), small.degrees)
    assert (matrix != matrix.T).nnz == 0
    back = rw.Graph.from_scipy(matrix)
    assert (back.sites, back.bonds) == (small.sites, small.bonds)
    wrong = matrix.tolil()
    wrong[0, 0] = 1
    with pytest.raises(rw.DataError, match="diagonal"):
        rw.Graph.from_scipy(wrong)


@pytest.mark.parametrize("ending", ["h5", "graphml", "edges"])
def test_files(small, tmp_path, ending):
    path = tmp_path / f"g.{ending}"
    small.save(path)
    back = rw.Graph.load(path)
    assert back.bonds == small.bonds
    assert (back.hash == small.hash) == (ending == "h5")
    with pytest.raises(rw.HeldError, match="exists"):
        small.save(path)
    small.save(path, overwrite=True)


def test_pickle(small):
    assert pickle.loads(pickle.dumps(small)).hash == small.hash
    triangle = rw.Graph([(0, 1), (1, 2), (2, 0)])
    assert pickle.loads(pickle.dumps(triangle)).hash == triangle.hash


def test_bare_lattices_stay_bare(program, tmp_path):
    found = program("graph", "--size", "16,8", "--p", 0.1, "--bare", "--out", tmp_path / "g.h5")
    graph = rw.Graph.load(tmp_path / "g.h5")
    assert graph.bare and graph.hash == found["graph"]["hash"] and graph.title.endswith("bare")
    for copied in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert copied.hash == graph.hash and copied.bare
    with pytest.raises(rw.UsageError, match="bare"):
        rw.tune(graph, 2.4, budget=1)
    with pytest.raises(rw.UsageError, match="shortcuts"):
        rw.Simulation(graph, 2.4, engine="bytespin", device="cpu")
    simulation = rw.Simulation(graph, 2.4, device="cpu")
    simulation.run(5)
    spins = 2 * simulation.spins.reshape(32, -1).astype(int) - 1
    a, b = graph.edges.T
    np.testing.assert_array_equal((spins[:, a] * spins[:, b]).sum(axis=1),
                                  simulation.measure()["bond_sum"])
    simulation.save(tmp_path / "t.h5")
    back = rw.Simulation.restore(tmp_path / "t.h5", device="cpu")
    assert back.graph.hash == graph.hash and back.hash == simulation.hash


def test_metrics_as_the_program(program, small):
    found = program("graph", "--size", "16,8", "--p", 0.1, "--seed", 3)["metrics"]
    metrics = small.metrics()
    assert metrics["mean_path"] == pytest.approx(found["mean_path"]["value"], rel=1e-12)
    assert metrics["degree_counts"].tolist() == found["degree_counts"]
    assert metrics["components"] == found["components"]


def test_drawing(small):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for graph in (small, rw.rewire(16, dim=1, p=0.2), rw.rewire((8, 8), p=0.2, rule="add")):
        axes = graph.draw()
        drawn = axes.collections[1].get_segments()
        assert len(drawn) == len(graph.rewired)
        assert graph._repr_html_().count("<img") == 1
    with pytest.raises(rw.UsageError, match="one or two dimensions"):
        rw.rewire(4, dim=3).draw()


def test_labels():
    image = np.array([[1, 1, 0, 0], [0, 0, 0, 2], [3, 0, 0, 2]])
    found, count = rw.labels(image)
    assert count == 3
    np.testing.assert_array_equal(found, [[1, 1, 0, 0], [0, 0, 0, 2], [3, 0, 0, 2]])
    assert rw.labels(image, threshold=2)[1] == 2
    assert rw.labels(image, equal=True)[1] == 4
    assert rw.labels(image, periodic=True)[1] == 1  # joined across the boundaries
    graph = rw.Graph([(0, 1), (2, 3), (1, 2)])
    found, count = rw.labels(graph, occupied=[1, 1, 0])
    assert count == 2 and found.tolist() == [1, 1, 2, 2]


def test_labels_are_those_of_scipy():
    ndimage = pytest.importorskip("scipy.ndimage")
    generator = np.random.default_rng(5)
    for shape in ((17,), (31, 20), (9, 11, 10)):
        image = generator.random(shape) < 0.5
        theirs, count = ndimage.label(image)
        ours, number = rw.labels(image)
        assert number == count
        np.testing.assert_array_equal(ours, theirs)


def test_labels_of_added_bonds():
    graph = rw.rewire((8, 8), p=0.2, rule="add")
    occupied = np.zeros(graph.bonds, dtype=bool)
    occupied[-1] = True  # an added bond, which joins the sites in edges[-1]
    found, count = rw.labels(graph, occupied=occupied)
    a, b = graph.edges[-1]
    assert count == graph.sites - 1 and found[a] == found[b]


def test_type_checkers_see_every_name():
    tree = ast.parse(pathlib.Path(rw.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for one in block.body for alias in one.names}
    assert seen == set(rw.__all__)
    stub = pathlib.Path(rw.__file__).parent / "_core.pyi"
    assert "class Simulation" in stub.read_text(encoding="utf-8")
    assert (stub.parent / "py.typed").exists()
    for name in rw.__all__:
        assert getattr(rw, name).__doc__ or name == "devices", name


def test_parity_any():
    graph = rw.rewire(16, p=0.2, seed=3, parity="any")
    assert graph.parity == "any" and graph.rule == "rewire"
    assert graph.dim == 2 and graph.sites == 256 and graph.bonds == 512
    assert graph.colours > 2
    colour = graph.colour
    ends = graph.edges
    assert np.all(colour[ends[:, 0]] != colour[ends[:, 1]])
    checkerboard = (np.arange(256) % 16 + np.arange(256) // 16) % 2
    moved = graph.rewired
    same = checkerboard[moved["a"]] == checkerboard[moved["b"]]
    assert 0 < same.sum() < len(moved) < 512
    assert set(moved["a"]) | set(moved["b"]) <= set(graph.modified)
    again = pickle.loads(pickle.dumps(graph))
    assert again.hash == graph.hash and again.parity == "any"
    assert rw.rewire(16, p=0.2, seed=3).parity == "checkerboard"
    with pytest.raises(rw.UsageError, match="parity"):
        rw.rewire(16, p=0.2, parity="odd")
