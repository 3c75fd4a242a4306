"""Graphs: rewired lattices and imported graphs.

A lattice is hypercubic and periodic, d = 1..4, with even extents of at least 4. The number of a
site is x + Lx (y + Ly (z + ..)), with x fastest, so that x is the last axis of
`spins.reshape(extents[::-1])`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, arguments
from .errors import DataError, UsageError, module
from .files import unpacked

REWIRED = np.dtype([("bond", np.uint64), ("a", np.uint32), ("b", np.uint32)])


@arguments.checks_names()
def rewire(size: int | Sequence[int], p: float = 0.0, seed: int = 1, rule: str = "rewire",
           dim: int | None = None, parity: str = "checkerboard") -> "Graph":
    """Builds a rewired lattice.

    size: an edge length (with `dim`, default 2), or the extents, x first; even, 4 or more.
    p: rewiring probability, 0..1.
    seed: 0..2^64 - 1; the same seed gives the same graph on any machine.
    rule: "rewire": every end of a bond moves with probability p/2 to a random site of its colour
        (Hawick, Leist & Playne 2010); "swap": bonds exchange ends until a fraction p has moved, so
        that all degrees stay 2d (Hawick & James 2006); "add": for every bond, a random bond is
        added with probability p (Newman & Watts).
    parity: "checkerboard": moved ends keep their colour, so that bonds join sites of opposite
        colour; "any": ends are drawn from all sites (Herrero 2008).

    `rewise graph` builds the same graph from the same arguments. UsageError if an argument is out
    of range.
    """
    return Graph._of(_core.Graph.build(arguments.extents("size", size, dim), arguments.real("p", p),
                                  arguments.text("rule", rule), arguments.integer("seed", seed),
                                  arguments.text("parity", parity)))


def _built(extents, p, seed, rule, parity, bare):
    return Graph._of(_core.Graph.build(list(extents), p, rule, seed, parity, bare=bare))


class Graph:
    """Sites and bonds of a network. Immutable.

    Graph(edges, sites=None, weights=None, fields=None): `edges` is an array or list of
    pairs of site numbers, [bonds, 2]; `sites` is the number of sites (default: the highest site
    number + 1). Bonds keep their order. A site of a lattice has the number x + Lx y + Lx Ly z. A
    graph that is not bipartite is coloured greedily. `weights` are couplings J, [bonds], `fields`
    fields h, [sites]; both are rounded to multiples of 2^-20 and must be below 1024 in size.
    Simulations use them if couplings="file". DataError for self-loops, double bonds and numbers out
    of range (help(rewise.couplings)).
    """

    def __init__(self, edges: np.ndarray | Sequence[Sequence[int]], sites: int | None = None,
                 source: str = "", weights: arguments.Reals | None = None,
                 fields: arguments.Reals | None = None):
        try:
            given = np.asarray(edges)
        except ValueError:
            raise UsageError("edges: some entries are not pairs (expected: [bonds, 2])") from None
        if given.ndim == 0:
            raise TypeError(f"edges: {arguments.shown(edges)} is not an array [bonds, 2] (files: "
                            "Graph.load(path); others: Graph.from_networkx(), Graph.from_scipy())")
        if given.ndim != 2 or given.shape[1:] != (2,):
            matrix = given.ndim == 2 and len(given) == given.shape[1] and len(given) > 0
            more = "; adjacency matrices: Graph.from_scipy(scipy.sparse.csr_array(a))"
            raise UsageError(f"edges: shape {given.shape} (expected: [bonds, 2]"
                             f"{more if matrix else ''})")
        if given.dtype.kind not in "iu":
            raise TypeError(f"edges: site numbers must be integers, not {given.dtype}")
        if len(given) == 0:
            raise DataError("edges: there are no bonds")
        pairs = np.ascontiguousarray(given, dtype=np.int64)
        if pairs.min() < 0:
            raise DataError(f"edges: site {pairs.min()} is negative (sites are numbered from 0)")
        count = int(pairs.max()) + 1 if sites is None else arguments.integer("sites", sites)
        self._graph = _core.Graph.from_edges(pairs, max(count, 1),
                                             arguments.text("source", source))
        if weights is not None or fields is not None:
            self._graph = self._weighted(weights, fields)._graph

    @classmethod
    def _of(cls, core):
        graph = cls.__new__(cls)
        graph._graph = core
        return graph

    def _weighted(self, weights, fields):
        """The same bonds without a lattice, with couplings [bonds] and fields [sites], or None."""
        return Graph._of(self._graph.with_weights(
            None if weights is None else arguments.numbers("weights", weights),
            None if fields is None else arguments.numbers("fields", fields)))

    @classmethod
    def load(cls, path: arguments.Path, first_site: int | None = None,
             ignore: Sequence[str] = (), merge: bool = False) -> "Graph":
        """Reads a graph from .h5 (a graph or task file of rewise, also from a results archive),
        .graphml, or .edges (lines "u v" or "u v J"), with its weights and fields. FileError if the
        file does not exist. DataError if it is damaged, or the graph is not supported (self-loops,
        double bonds, numbers of unknown meaning).

        first_site: 0 or 1, the number of the first site of an edge list. Required if the edge list
            seems to number its sites from 1.
        ignore: names of attributes that do not belong to the model, as in `--ignore`.
        merge: replace several bonds of equal weight between the same two sites by one bond, and
            ignore directions of edges.
        """
        if first_site not in (None, 0, 1):
            raise UsageError(f"first_site: invalid value {first_site!r} (allowed: None, 0, 1)")
        with unpacked(path) as graph_file:
            return cls._of(_core.Graph.read(graph_file, first_site,
                                            arguments.names("ignore", ignore), bool(merge)))

    @classmethod
    def from_networkx(cls, graph: Any, ignore: Sequence[str] = (),
                      merge: bool = False) -> "Graph":
        """Converts a networkx.Graph. Sites are numbered in the order of its nodes. The edge
        attribute `weight` (or w, J, Jij, K, strength, sign, signed, coupling, interaction,
        exchange, polarity) is J, the node attribute `field` (or h, b, bias) is h. DataError if a
        numeric attribute has no known meaning and `ignore` does not list it, or if only some edges
        have a weight. merge: also accept a DiGraph or MultiGraph, and replace all edges between
        the same two nodes, which must have equal weights, by one bond."""
        if not hasattr(graph, "is_multigraph"):
            raise TypeError(f"graph: {type(graph).__name__} is not a networkx.Graph")
        if (graph.is_directed() or graph.is_multigraph()) and not merge:
            raise DataError("networkx: directed graphs and multigraphs need merge=True, which "
                            "combines all edges between the same two nodes into one bond")
        attributes = _core.Attributes(arguments.names("ignore", ignore), True)

        def number_of(owner, title, data):  # J or h, or None
            found = {}
            for name, value in data.items():
                number = attributes.see(owner, str(name), str(value))
                if number is not None:
                    found[name] = number
            if len(set(found.values())) > 1:
                raise DataError(f"networkx: {title} has {found}, which contradict each other "
                                "(ignore=.. skips one of them)")
            return next(iter(found.values()), None)

        number = {node: k for k, node in enumerate(graph)}
        weights = {}  # pair of sites -> J or None
        pairs = []
        for u, v, data in graph.edges(data=True):
            pair = number[u], number[v]
            weight = number_of("edge", f"edge ({u}, {v})", data)
            if merge:
                pair = tuple(sorted(pair))
                before = weights.get(pair)
                if None not in (before, weight) and before != weight:
                    raise DataError(f"networkx: edges ({u}, {v}) have J = {before:g} and "
                                    f"{weight:g}: merge requires equal couplings")
                if pair in weights:
                    weights[pair] = before if weight is None else weight
                    continue
            weights[pair] = weight
            pairs.append(pair)
        fields = [number_of("node", f"node {node}", data) for node, data in graph.nodes(data=True)]
        for name, value in graph.graph.items():
            attributes.see("graph", str(name), str(value))
        attributes.refuse("networkx")
        given = [weights[pair] for pair in pairs]
        if any(weight not in (None, 1) for weight in given) and None in given:
            nodes = list(graph)
            u, v = pairs[given.index(None)]
            raise DataError(f"networkx: edge ({nodes[u]}, {nodes[v]}) has no coupling, but other "
                            "edges have one")
        if all(weight is None for weight in given):
            given = None
        else:
            given = [1 if weight is None else weight for weight in given]
        fields = [field or 0 for field in fields] if any(fields) else None
        edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(edges, sites=len(number), source="networkx", weights=given, fields=fields)

    @classmethod
    def from_scipy(cls, matrix: Any, weights: bool = False) -> "Graph":
        """Converts a symmetric scipy.sparse adjacency matrix [sites, sites] of entries 0 and 1.
        With `weights`, entries other than 0 are the couplings J of bonds."""
        if not hasattr(matrix, "tocoo"):
            raise TypeError(f"matrix: {type(matrix).__name__} is not a sparse matrix of scipy")
        coo = matrix.tocoo()
        if coo.shape[0] != coo.shape[1]:
            raise DataError(f"scipy: a matrix of {coo.shape[0]} x {coo.shape[1]} is not an "
                            "adjacency matrix")
        there = coo.data != 0
        if not weights and not np.all(coo.data[there] == 1):
            raise DataError("scipy: entries other than 0 and 1 (weights=True reads them as J)")
        row, column = coo.row[there].astype(np.int64), coo.col[there].astype(np.int64)
        values = coo.data[there]
        if weights and (len(np.unique(row * coo.shape[0] + column)) < len(row)
                        or values.dtype.kind not in "biuf"):
            raise DataError("scipy: some entries occur twice, or are not real numbers")
        upper, lower = row < column, row > column
        ahead, first = np.unique(np.stack([row, column], axis=1)[upper], axis=0, return_index=True)
        back, second = np.unique(np.stack([column, row], axis=1)[lower], axis=0, return_index=True)
        found = values[upper][first]
        if (np.any(row == column) or not np.array_equal(ahead, back)
                or not np.array_equal(found, values[lower][second])):
            raise DataError("scipy: the matrix is not symmetric, or has entries on its diagonal")
        return cls(ahead, sites=coo.shape[0], source="scipy", weights=found if weights else None)

    # Properties

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the lattice, x first; () for a graph without a lattice. values [sites] as
        [y, x]: values.reshape(graph.extents[::-1])."""
        return tuple(self._graph.extents)

    @property
    def dim(self) -> int:
        """Dimension of the lattice, or 0 for a graph without a lattice."""
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
        """The seed of rewire(). Meaningless for an imported graph."""
        return self._graph.seed

    @property
    def bare(self) -> bool:
        """Whether this is a bare lattice: without its shortcuts (`rewise graph --bare`)."""
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
        """Number of colours of the colouring; 2 for a bipartite graph."""
        return self._graph.colours

    @property
    def hash(self) -> str:
        """16 hex digits. Equal graphs have the same hash on any machine."""
        return self._graph.hash

    @property
    def modified(self) -> np.ndarray:
        """Sites whose neighbours differ from those of the lattice, ascending; uint32 [modified].
        A view, not a copy."""
        return self._graph.modified

    @property
    def rewired(self) -> np.ndarray:
        """Moved bonds (bond < d N) and added bonds as records (bond, a, b), ascending by bond;
        [rewired]. Without a lattice: all bonds. A view, not a copy."""
        return self._graph.rewired_bytes.view(REWIRED)

    @property
    def degrees(self) -> np.ndarray:
        """Degree of every site; uint32 [sites]."""
        return self._graph.degrees()

    @property
    def edges(self) -> np.ndarray:
        """Both sites of every bond, in bond order; uint32 [bonds, 2]."""
        return self._graph.edges()

    @property
    def colour(self) -> np.ndarray:
        """Colour of every site; uint8 [sites]."""
        return self._graph.colour()

    @property
    def weights(self) -> np.ndarray | None:
        """Coupling J of every bond, in the order of `edges`; float64 [bonds]. None if the graph has
        none; the simulation then sets the couplings."""
        return self._graph.weights

    @property
    def fields(self) -> np.ndarray | None:
        """Field h of every site; float64 [sites], or None."""
        return self._graph.fields

    def metrics(self, path_sources: int = 16, clustering_sites: int = 10000) -> dict[str, Any]:
        """Network metrics as a dict: degrees, components, mean path length and diameter (from
        `path_sources` random sites; exact if these are all sites), clustering by triangles (Watts &
        Strogatz 1998) and by 4-cycles (Zhang et al., Physica A 387, 6869 (2008), eq. 2). The error
        of a single sample is NaN. Without a lattice, the shares of rewired bonds and modified cells
        are None."""
        return self._graph.metrics(arguments.integer("path_sources", path_sources, 0, 2**32 - 1),
                                   arguments.integer("clustering_sites", clustering_sites))

    # Conversions and output

    def save(self, path: arguments.Path, overwrite: bool = False, full: bool = False) -> None:
        """Writes .h5, from which load() restores the same graph, .graphml or .edges, as the suffix
        of `path` says. full: also write every bond into .h5. HeldError if the file exists and
        `overwrite` is false."""
        self._graph.write(arguments.path("path", path), bool(overwrite), bool(full))

    def to_networkx(self) -> Any:
        """A networkx.Graph with the nodes 0..N - 1, isolated sites included; with the attributes
        `weight` of edges and `field` of nodes if the graph has weights and fields."""
        networkx = module("networkx", "to_networkx()")
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.sites))
        if self.weights is None:
            graph.add_edges_from(self.edges.tolist())
        else:
            pairs = self.edges.tolist()
            graph.add_weighted_edges_from((*pair, j) for pair, j in zip(pairs, self.weights))
        if self.fields is not None:
            networkx.set_node_attributes(graph, dict(enumerate(self.fields.tolist())), "field")
        return graph

    def to_scipy(self, weights: bool = False) -> Any:
        """The adjacency matrix, scipy.sparse.csr_array [sites, sites] of uint8; with `weights`, of
        the couplings J (float64, 1 if the graph has no weights)."""
        sparse = module("scipy.sparse", "to_scipy()")
        a, b = self.edges.T
        ends = np.concatenate([a, b]), np.concatenate([b, a])
        values = np.ones(2 * self.bonds, dtype=np.float64 if weights else np.uint8)
        if weights and self.weights is not None:
            values = np.tile(self.weights, 2)
        return sparse.csr_array((values, ends), shape=(self.sites, self.sites))

    def draw(self, axes: Any = None, most: int = 40000) -> Any:
        """Draws the lattice (d = 2, or d = 1 as a ring), rewired bonds in colour, others grey.
        Returns the matplotlib axes. UsageError for other graphs, or more than `most` bonds."""
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
        return Graph, (self.edges, self.sites, self._graph.source, self.weights, self.fields)
