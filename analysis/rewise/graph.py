"""Graphs: rewired lattices, and graphs from elsewhere.

The lattice is hypercubic and periodic, d = 1..4, its extents even and at least 4. A site's number
is x + Lx (y + Ly (z + ..)), x fastest, so that `spins.reshape(extents[::-1])` has x as its last
axis.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, arguments
from .errors import DataError, UsageError, module
from .files import unpacked

REWIRED = np.dtype([("bond", np.uint64), ("a", np.uint32), ("b", np.uint32)])


def rewire(size: int | Sequence[int], p: float = 0.0, seed: int = 1, rule: str = "rewire",
           dim: int | None = None, parity: str = "checkerboard") -> "Graph":
    """A rewired lattice.

    size: an edge (then `dim`, 2 unless it is said), or the extents, x first; even, 4 or more.
    p: rewiring probability, 0..1.
    seed: 0..2^64 - 1; the same seed gives the same graph on any machine.
    rule: "rewire": every end of a bond moves with probability p/2 to a random site of its colour
        (Hawick, Leist & Playne 2010); "swap": bonds exchange ends until a fraction p has moved, all
        degrees stay 2d (Hawick & James 2006); "add": one more bond per bond with probability p
        (Newman & Watts).
    parity: "checkerboard": moved ends keep their colour, so that bonds join sites of opposite
        colour; "any": ends are drawn from all sites (Herrero 2008).

    Equal arguments give the graph of `rewise graph`. UsageError where one is out of range.
    """
    return Graph._of(_core.Graph.build(arguments.extents("size", size, dim), arguments.real("p", p),
                                  arguments.text("rule", rule), arguments.whole("seed", seed),
                                  arguments.text("parity", parity)))


def _built(extents, p, seed, rule, parity, bare):
    return Graph._of(_core.Graph.build(list(extents), p, rule, seed, parity, bare=bare))


class Graph:
    """Sites and bonds, as engines take them; it does not change.

    Graph(edges, sites=None): from an array or list of pairs of site numbers, [bonds, 2]; `sites`:
    how many there are, the highest number and one unless it is said. Bonds are numbered in their
    order. A graph that is not bipartite is coloured greedily. DataError for self-loops and double
    bonds.
    """

    def __init__(self, edges: np.ndarray | Sequence[Sequence[int]], sites: int | None = None,
                 source: str = ""):
        try:
            given = np.asarray(edges)
        except ValueError:
            raise UsageError("edges: not all are pairs, but [bonds, 2] are expected") from None
        if given.ndim != 2 or given.shape[1:] != (2,):
            raise UsageError(f"edges: shape {given.shape}, but [bonds, 2] are expected")
        if given.dtype.kind not in "iu":
            raise TypeError(f"edges: numbers of sites are whole, not {given.dtype}")
        if len(given) == 0:
            raise DataError("edges: hold no bond")
        pairs = np.ascontiguousarray(given, dtype=np.int64)
        count = int(pairs.max()) + 1 if sites is None else arguments.whole("sites", sites)
        self._graph = _core.Graph.from_edges(pairs, max(count, 1), arguments.text("source", source))

    @classmethod
    def _of(cls, core):
        graph = cls.__new__(cls)
        graph._graph = core
        return graph

    @classmethod
    def load(cls, path: arguments.Path, first_site: int | None = None,
             ignore: Sequence[str] = (), merge: bool = False) -> "Graph":
        """A file: .h5 (of rewise, a task file too, also in a study's pack), .graphml, or .edges
        ("u v" lines). FileError where there is none, DataError where it is damaged or no graph that
        engines take (weights, fields, self-loops, double bonds).

        first_site: 0 or 1, the number that an edge list's sites are counted from, where they look
            as if from 1.
        ignore: names of attributes that are no part of the model, as `--ignore` takes them.
        merge: makes one bond of several between the same two sites, and bonds of directed edges.
        """
        if first_site not in (None, 0, 1):
            raise UsageError(f"first_site: {first_site!r} (None, 0 or 1)")
        with unpacked(path) as own:
            return cls._of(_core.Graph.read(own, first_site, arguments.names("ignore", ignore),
                                            bool(merge)))

    @classmethod
    def from_networkx(cls, graph: Any, ignore: Sequence[str] = (),
                      merge: bool = False) -> "Graph":
        """A networkx.Graph; nodes are numbered in its order. Bonds are all alike (J = 1): edge
        attributes that may be other couplings (`weight`, `sign`, ..), fields of nodes, and numbers
        of unknown meaning are a DataError, unless `ignore` names them. merge: takes a directed or a
        MultiGraph, too, and makes one bond of all edges between the same two nodes."""
        if not hasattr(graph, "is_multigraph"):
            raise TypeError(f"graph: {type(graph).__name__} is no networkx.Graph")
        if (graph.is_directed() or graph.is_multigraph()) and not merge:
            raise DataError("networkx: directed graphs and multigraphs need merge=True, which "
                            "makes one bond of all edges between the same two nodes")
        ignore = arguments.names("ignore", ignore)
        attributes = _core.Attributes(ignore)
        number = {node: k for k, node in enumerate(graph)}
        for u, v, data in graph.edges(data=True):
            if data.get("weight", 1) != 1 and "weight" not in ignore:
                raise DataError(f"networkx: edge ({u}, {v}) has weight {data['weight']}; all bonds "
                                "are alike (J = 1)")
            for name, value in data.items():
                attributes.see("edge", str(name), str(value))
        for node, data in graph.nodes(data=True):
            for name, value in data.items():
                attributes.see("node", str(name), str(value))
        for name, value in graph.graph.items():
            attributes.see("graph", str(name), str(value))
        attributes.refuse("networkx")
        pairs = ((number[u], number[v]) for u, v in graph.edges())
        if merge:
            pairs = dict.fromkeys(tuple(sorted(pair)) for pair in pairs)
        edges = np.array(list(pairs), dtype=np.int64)
        return cls(edges.reshape(-1, 2), sites=len(number), source="networkx")

    @classmethod
    def from_scipy(cls, matrix: Any) -> "Graph":
        """A symmetric scipy.sparse adjacency matrix [sites, sites] whose entries are 0 or 1."""
        if not hasattr(matrix, "tocoo"):
            raise TypeError(f"matrix: {type(matrix).__name__} is no sparse matrix of scipy")
        coo = matrix.tocoo()
        if coo.shape[0] != coo.shape[1]:
            raise DataError(f"scipy: a matrix of {coo.shape[0]} x {coo.shape[1]} is no adjacency")
        there = coo.data != 0
        if not np.all(coo.data[there] == 1):
            raise DataError("scipy: entries other than 0 and 1; all bonds are alike (J = 1)")
        row, column = coo.row[there].astype(np.int64), coo.col[there].astype(np.int64)
        ahead = np.unique(np.stack([row, column], axis=1)[row < column], axis=0)
        back = np.unique(np.stack([column, row], axis=1)[row > column], axis=0)
        if np.any(row == column) or not np.array_equal(ahead, back):
            raise DataError("scipy: the matrix is not symmetric, or has entries on its diagonal")
        return cls(ahead, sites=coo.shape[0], source="scipy")

    # What it is

    @property
    def extents(self) -> tuple[int, ...]:
        """Tuple [dim], x first; () for a graph without a lattice."""
        return tuple(self._graph.extents)

    @property
    def dim(self) -> int:
        """Dimension of its lattice, 0 without one."""
        return self._graph.dim

    @property
    def p(self) -> float:
        """Rewiring probability."""
        return self._graph.p

    @property
    def parity(self) -> str:
        """"checkerboard" or "any": which sites moved ends are drawn from (rewire())."""
        return self._graph.parity

    @property
    def rule(self) -> str:
        """"rewire", "swap", "add", or "imported"."""
        return self._graph.rule

    @property
    def seed(self) -> int:
        """What rewire() was given; without meaning for a graph from elsewhere."""
        return self._graph.seed

    @property
    def bare(self) -> bool:
        """Whether it is its lattice without its shortcuts (`rewise graph --bare`)."""
        return self._graph.bare

    @property
    def sites(self) -> int:
        """Number of sites, N."""
        return self._graph.sites

    @property
    def bonds(self) -> int:
        """Number of bonds, B."""
        return self._graph.bonds

    @property
    def colours(self) -> int:
        """Colours of its colouring: 2 where it is bipartite, as rewired lattices are."""
        return self._graph.colours

    @property
    def hash(self) -> str:
        """16 hex digits: equal graphs, equal hashes, on any machine."""
        return self._graph.hash

    @property
    def modified(self) -> np.ndarray:
        """Sites whose neighbours are not those of the lattice, ascending; uint32 [modified], the
        graph's own memory."""
        return self._graph.modified

    @property
    def rewired(self) -> np.ndarray:
        """Bonds that were moved (bond < d N) or added, as records (bond, a, b) ascending by bond;
        [rewired], the graph's own memory. Without a lattice: all bonds."""
        return self._graph.rewired_bytes.view(REWIRED)

    @property
    def degrees(self) -> np.ndarray:
        """Bonds of every site; uint32 [sites]."""
        return self._graph.degrees()

    @property
    def edges(self) -> np.ndarray:
        """Both sites of every bond, in bond order; uint32 [bonds, 2]."""
        return self._graph.edges()

    @property
    def colour(self) -> np.ndarray:
        """Colour of every site; uint8 [sites]."""
        return self._graph.colour()

    def metrics(self, path_sources: int = 16, clustering_sites: int = 10000) -> dict[str, Any]:
        """A dict: degrees, components, mean path length and diameter (from `path_sources` sites;
        exact from all), clustering by triangles (Watts & Strogatz 1998) and by 4-cycles (Zhang et
        al., Physica A 387, 6869 (2008), eq. 2). The error of one sample is NaN, and shares of
        rewired bonds and modified cells without a lattice are None."""
        return self._graph.metrics(arguments.whole("path_sources", path_sources, 0, 2**32 - 1),
                                   arguments.whole("clustering_sites", clustering_sites))

    # To elsewhere

    def save(self, path: arguments.Path, overwrite: bool = False, full: bool = False) -> None:
        """Writes .h5 (read back as the same graph), .graphml or .edges by the path's ending;
        `full`: .h5 lists every bond. HeldError where the file exists."""
        self._graph.write(arguments.path("path", path), bool(overwrite), bool(full))

    def to_networkx(self) -> Any:
        """A networkx.Graph with the sites 0..N - 1 as nodes, all of them."""
        networkx = module("networkx", "to_networkx()")
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.sites))
        graph.add_edges_from(self.edges.tolist())
        return graph

    def to_scipy(self) -> Any:
        """The adjacency matrix, scipy.sparse.csr_array [sites, sites] of uint8."""
        sparse = module("scipy.sparse", "to_scipy()")
        a, b = self.edges.T
        ends = np.concatenate([a, b]), np.concatenate([b, a])
        values = np.ones(2 * self.bonds, dtype=np.uint8)
        return sparse.csr_array((values, ends), shape=(self.sites, self.sites))

    def draw(self, axes: Any = None, most: int = 40000) -> Any:
        """The lattice (d = 2, or 1 as a ring) with its rewired bonds in colour, others grey;
        matplotlib axes. UsageError for what has more than `most` bonds or no place in the plane."""
        from .draw_graph import draw

        return draw(self, axes, most)

    def __repr__(self):
        return f"<rewise.Graph: {self.title}, {self.sites} sites, {self.bonds} bonds>"

    @property
    def title(self) -> str:
        """"64x64, p = 0.01, rule rewire, seed 1"."""
        if not self.extents:
            return f"imported graph {self._graph.source}".rstrip()
        size = "x".join(map(str, self.extents))
        bare = ", bare" if self.bare else ""
        parity = "" if self.parity == "checkerboard" else f", parity {self.parity}"
        return f"{size}, p = {self.p:g}, rule {self.rule}{parity}, seed {self.seed}{bare}"

    def _repr_html_(self):
        from .display import graph_html

        return graph_html(self)

    def __reduce__(self):
        if self.extents and self.rule != "imported":
            return _built, (self.extents, self.p, self.seed, self.rule, self.parity, self.bare)
        return Graph, (self.edges, self.sites, self._graph.source)
