"""Jackknife samples of a study (summary.h5), as arrays and as pyerrors' Obs.

    resamples = rewise.Study("studies/quickstart").resamples
    curve = resamples.size(p=0.1, size=64)
    curve.left_out["binder"]        # [graphs, temperature], one graph left out
    curve.covariance("binder")      # [temperature, temperature]
    resamples.tc(p=0.1).obs()       # Tc with its correlations to every curve, as a pyerrors.Obs

All samples of one size at one p share their index: sample i of every quantity leaves out the same
graph, so that functions of them have the right covariance. Different sizes are independent. Needs
h5py.
"""

import pathlib
from collections.abc import Sequence

import numpy as np

from . import arguments, files
from .errors import AbsentError, DataError, module


def jackknife_covariance(first, second=None):
    """Covariance [k, l] of jackknife samples [n, k] and [n, l]. Sample i of both leaves out the
    same graph."""
    first = np.asarray(first)
    second = first if second is None else np.asarray(second)
    n = len(first)
    return (n - 1) / n * (first - first.mean(axis=0)).T @ (second - second.mean(axis=0))


def _obs(value, left_out, name):
    pyerrors = module("pyerrors", "obs()")
    return pyerrors.import_jackknife(np.concatenate([[value], left_out]), name)


class SizeSamples:
    """Samples of one size at one p. Attributes: `name`, `extents`, `sites`, `graphs` (their number)
    and `temperature`, an array. `value` and `left_out` are dicts with a key for each observable
    ("energy", "m2", "binder", ..), of arrays [temperature] and [graphs, temperature]. Both are
    empty if there are too few graphs. Values are not corrected for bias."""

    def __init__(self, name, group):
        self.name = name
        self.extents = tuple(int(extent) for extent in group.attrs["extents"])
        self.sites, self.graphs = int(group.attrs["sites"]), int(group.attrs["graphs"])
        self.temperature = group["temperature"][()]
        found = files.text_of(group.attrs.get("observables", "")).split()  # absent: too few graphs
        what = f"observables of {name}"
        self.value = files.StrictDict(what, {key: group[key]["value"][()] for key in found})
        self.left_out = files.StrictDict(what, {key: group[key]["left_out"][()] for key in found})

    def covariance(self, first, second=None):
        """Covariance of one observable, or of two, by the jackknife over graphs; [temperature,
        temperature]."""
        return jackknife_covariance(self.left_out[first],
                                    None if second is None else self.left_out[second])

    def error(self, observable):
        """One standard error, [temperature]."""
        return np.sqrt(np.diag(self.covariance(observable)))

    def obs(self, observable):
        """A list of pyerrors.Obs, one per temperature."""
        return [_obs(value, self.left_out[observable][:, k], self.name)
                for k, value in enumerate(self.value[observable])]


class Number:
    """An extrapolated number, such as Tc. `error` is its statistical error. `systematic` is its
    systematic error, which the samples do not contain. `left_out` is a dict of samples [graphs];
    its keys are the names of the SizeSamples (or TreeSamples) that were used. `uncorrected` is the
    estimate from all graphs without correction for bias: the samples scatter around it."""

    def __init__(self, group, names):
        self.value, self.error = float(group.attrs["value"]), float(group.attrs["error"])
        self.systematic = float(group.attrs["systematic"])
        self.uncorrected = float(group.attrs["uncorrected"])
        self.left_out = {names[int(key.removeprefix("left_out_"))]: group[key][()]
                         for key in group if key.startswith("left_out_")}

    def covariance(self, other):
        """Covariance with another number of the same study."""
        return float(sum(jackknife_covariance(samples[:, None], other.left_out[name][:, None])[0, 0]
                         for name, samples in self.left_out.items() if name in other.left_out))

    def obs(self):
        """A pyerrors.Obs with an ensemble for each size. Its error is the jackknife error of the
        samples. The attribute `error` also accounts for their small number."""
        total = None
        for name, samples in self.left_out.items():
            deviation = _obs(self.uncorrected, samples, name) - self.uncorrected
            total = deviation if total is None else total + deviation
        return self.value if total is None else total + self.value


class TreeSamples:
    """Samples of the tree condition at one p, from `graphs` bare lattices: `lambda_` [temperature],
    `left_out` [graphs, temperature] (lambda with one lattice left out), and the Number `tc`."""

    def __init__(self, name, group):
        self.name = name
        self.edge, self.graphs = int(group.attrs["edge"]), int(group.attrs["graphs"])
        self.temperature = group["temperature"][()]
        self.lambda_, self.left_out = group["value"][()], group["left_out"][()]
        self.tc = Number(group["tc"], [name])

    def covariance(self):
        """Covariance of lambda, [temperature, temperature]."""
        return jackknife_covariance(self.left_out)


class Resamples:
    """summary.h5 of a study's folder. DataError if it is missing or damaged."""

    def __init__(self, folder: arguments.Path):
        self._path = path = pathlib.Path(arguments.path("folder", folder)) / "summary.h5"
        if path.parent.is_dir() and not path.exists():
            raise DataError(f"'{path}' does not exist: is the study finished? (earlier versions "
                            "of rewise did not write this file; run the study again to write it)")
        with files.reading(path), files.open_sealed(path) as file:
            if files.text_of(file.attrs.get("format", "")) != "rewise resamples":
                raise DataError(f"'{path}' has no samples of a rewise study")
            self._points = [self._point(file["points"][key])
                            for key in sorted(file["points"], key=int)]
            self.shift = {key: file["shift"][key][()] for key in file["shift"]} \
                if "shift" in file else None

    @staticmethod
    def _point(group):
        p = float(group.attrs["p"])
        sizes = []
        for key in sorted(group["sizes"], key=int):
            extents = "x".join(str(int(e)) for e in group["sizes"][key].attrs["extents"])
            # Points of a sweep may share p and size (with other rules or schedules): add the index.
            sizes.append(SizeSamples(f"p{p:g}-{extents}-{group.name.split('/')[-1]}",
                                     group["sizes"][key]))
        names = [size.name for size in sizes]
        numbers = {name: Number(group[name], names) for name in ("tc", "binder_limit")
                   if name in group}
        if "tree" in group:
            numbers["tree"] = TreeSamples(f"p{p:g}-tree-{group.name.split('/')[-1]}",
                                          group["tree"])
        return {"p": p, "sizes": sizes, **numbers}

    def points(self) -> list[dict]:
        """A list of dicts in the order of the summary: "p", "sizes" (SizeSamples) and, if there are
        results, "tc", "binder_limit" (Number) and "tree" (TreeSamples)."""
        return list(self._points)

    def size(self, p: float, size: int | Sequence[int], point: int | None = None) -> SizeSamples:
        """SizeSamples of p and an edge length or extents. `point`, an index into points(), selects
        one of several points with this p. AbsentError lists the existing sizes."""
        p = arguments.real("p", p)
        for place, one in enumerate(self._points):
            if not files.same_p(one["p"], p) or point not in (None, place):
                continue
            for samples in one["sizes"]:
                same = {size} == set(samples.extents) if np.ndim(size) == 0 else \
                    tuple(size) == samples.extents
                if same:
                    return samples
        known = [f"{one['p']:g}, {'x'.join(map(str, samples.extents))}"
                 for one in self._points for samples in one["sizes"]]
        raise AbsentError(f"'{self._path}' has no samples of p = {p}, size {size}" +
                          ("" if point is None else f" at index {point}") +
                          f"; it has p, size: {'; '.join(known)}")

    def tc(self, p: float) -> Number:
        """Tc(p) as a Number. AbsentError if there is none, or a check failed."""
        return self._number(p, "tc", "Tc")

    def tree(self, p: float) -> TreeSamples:
        """TreeSamples of the tree condition at p. AbsentError if there are none."""
        return self._number(p, "tree", "tree condition")

    def _number(self, p, key, what):
        p = arguments.real("p", p)
        for one in self._points:
            if files.same_p(one["p"], p) and key in one:
                return one[key]
        there = ", ".join(f"{one['p']:g}" for one in self._points if key in one)
        raise AbsentError(f"'{self._path}' has no {what} of p = {p}; " +
                          (f"it has p = {there}" if there else "it has none"))
