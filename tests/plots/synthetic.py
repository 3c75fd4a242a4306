"""Summaries of studies and task files made up from known formulas, for the tests of the plots.
Their formats are those of analysis/SUMMARY.md and src/store/task_file.hpp."""

import struct

import h5py
import numpy as np

try:
    import xxhash
except ImportError:
    xxhash = None

U_MEAN_FIELD = 0.2705201
TC0 = 2.269185314213022


def landau_moments(x):
    """<y^2> and <y^4> for the weight exp(-x y^2 - y^4 / 12) of a mean-field magnet, where
    y = N^(1/4) m and x ~ N^(1/2) (T - Tc)."""
    y = np.linspace(0, 9, 4001)[:, None]
    weight = np.exp(-np.asarray(x)[None, :] * y**2 - y**4 / 12)
    norm = weight.sum(axis=0)
    return (weight * y**2).sum(axis=0) / norm, (weight * y**4).sum(axis=0) / norm


def curves_at(temperatures, tc, sites):
    y2, y4 = landau_moments(0.6 * np.sqrt(sites) * (np.asarray(temperatures) - tc) / tc)
    return {"binder": 1 - y4 / (3 * y2**2) + 0.25 / np.sqrt(sites), "scaled_m2": y2,
            "m2": y2 / np.sqrt(sites), "abs_magnetisation": 0.85 * np.sqrt(y2) / sites**0.25,
            "energy": -1.2 + 0.9 * (np.asarray(temperatures) - tc) - 0.3 * y2 / np.sqrt(sites),
            "specific_heat": 1 + 0.3 * y2, "susceptibility": 0.3 * y2 * np.sqrt(sites) / tc,
            "tau": 0.5 + 0.2 * y2}


def size_entry(generator, edge, tc, relative_error=0.004):
    sites = edge * edge
    half = 0.9 * tc / np.sqrt(sites) * 2.5
    temperatures = np.linspace(tc - half, tc + half, 9)
    fine = np.linspace(tc - half, tc + half, 81)
    entry = {"extents": [edge, edge], "sites": sites, "graphs": 24, "replicas": 32,
             "measurements": 500, "temperatures": list(temperatures),
             "hot_cold": {"agree": True, "worst_z": 1.7, "checks": 9, "level": 6.3e-5}}
    for name, exact in curves_at(temperatures, tc, sites).items():
        error = relative_error * np.abs(exact)
        entry[name] = {"value": list(exact + error * generator.normal(size=9)),
                       "error": list(error)}
    exact = curves_at(fine, tc, sites)
    entry["fine"] = {"temperatures": list(fine)} | {
        name: {"value": list(exact[name]), "error": [0.0] * 81} for name in ("binder", "scaled_m2")}
    return entry


def crossing_entry(generator, quantity, small, large, tc, amplitude):
    shift = 1 / (small * large)
    height = U_MEAN_FIELD + 0.25 * (1 / small + 1 / large) if quantity == "binder" else 1.17
    return {"quantity": quantity, "extents": [[small] * 2, [large] * 2],
            "sites": [small**2, large**2], "status": "found",
            "temperature": {"value": tc + amplitude * shift + 2e-4 * generator.normal(),
                            "error": 2e-4},
            "height": {"value": height + 0.002 * generator.normal(), "error": 0.002},
            "shift": shift, "height_shift": 1 / small + 1 / large, "used": small > 16}


def point_entry(generator, p, sizes):
    tc = TC0 + 2.2 * p**0.55
    crossings = [crossing_entry(generator, quantity, a, b, tc, amplitude)
                 for quantity, amplitude in (("binder", 8.0), ("scaled_m2", -3.0))
                 for a, b in zip(sizes, sizes[1:])]
    return {"p": p, "sizes": [size_entry(generator, edge, tc) for edge in sizes],
            "crossings": crossings,
            "tc": {"value": tc + 2e-4 * generator.normal(), "error": 2e-4, "systematic": 1e-4,
                   "method": "mean-field" if p > 0 else "regular", "form": "shifted", "chi2": 3.1,
                   "dof": 3, "q": 0.38,
                   "fit": [{"quantity": "binder", "amplitude": {"value": 8.0, "error": 0.5}},
                           {"quantity": "scaled_m2", "amplitude": {"value": -3.0, "error": 0.5}}]},
            "binder_limit": {"value": 0.2712, "error": 0.0021},
            "binder_expected": U_MEAN_FIELD if p > 0 else 0.61069,
            "tc_exact": None if p > 0 else TC0,
            "shift": {"value": tc - TC0, "error": 3e-4} if p > 0 else None, "warnings": []}


def summary(ps=(0.0, 0.01, 0.03, 0.1), sizes=(16, 32, 64, 128)):
    generator = np.random.default_rng(5)
    points = [point_entry(generator, p, sizes) for p in ps]
    positive = [p for p in ps if p > 0]
    return {"format": "rewise summary", "format_version": 1, "kind": "tc", "name": "synthetic",
            "version": "0.1.0", "seed": 1, "seconds": 1.0,
            "lattice": {"dim": 2, "rule": "rewire"}, "model": "ising",
            "sampling": {"engine": "multispin", "schedule": "1:1", "replicas": 32},
            "points": points, "tc0": {"value": TC0, "error": 0, "source": "exact"},
            "local_exponents": [
                {"p_low": a, "p_high": b, "p": float(np.sqrt(a * b)),
                 "exponent": {"value": 0.55 + 0.004 * generator.normal(), "error": 0.004}}
                for a, b in zip(positive, positive[1:])],
            "power_laws": [{"p_first": positive[0], "p_last": positive[-1],
                            "amplitude": {"value": 2.2, "error": 0.01},
                            "exponent": {"value": 0.55, "error": 0.002},
                            "chi2": 0.4, "dof": 1, "q": 0.5}] if len(positive) > 1 else [],
            "warnings": []}


def autoregressive(generator, shape, decay):
    """Gaussian noise with rho(t) = decay^t along axis 1: tau_int = 1/2 + decay / (1 - decay)."""
    series = generator.normal(size=shape)
    for t in range(1, shape[1]):
        series[:, t] = decay * series[:, t - 1] + np.sqrt(1 - decay**2) * series[:, t]
    return series


def with_tree(summary):
    """Adds results of the tree condition: one p where the methods agree, one with this method only,
    one where they differ."""
    for index, point in enumerate(p for p in summary["points"] if p["p"] > 0):
        tc = TC0 + 2.2 * point["p"]**0.55 + (0.01 if index == 2 else 0)
        if index == 1:
            refuse(point)
        best = {"value": tc, "error": 1e-4, "method": "tree" if index == 1 else "both"}
        point.update(
            tree={"status": "ok", "reasons": [], "edge": 64, "graphs": 24,
                  "correlation_length": 3.0,
                  "tc": {"value": tc, "error": 8e-5, "systematic": 6e-5, "total_error": 1e-4},
                  "tc_exact": None,
                  "lambda": [{"temperature": tc * x, "lambda": x**-5, "error": 1e-3,
                              "edge": 64 if x != 1.02 else 32} for x in (0.98, 1.0, 1.02)]},
            comparison=None if index == 1 else {"z": 45.0 if index == 2 else 0.3,
                                                "agree": index != 2},
            best=None if index == 2 else best,
            best_shift=None if index == 2 else {"value": tc - TC0, "error": 1e-4})
    for point in summary["points"]:
        if point["p"] == 0:
            point.update(tree={"status": "does-not-apply", "reasons": ["p = 0"], "tc": None,
                               "tc_exact": None}, comparison=None, best=point["tc"],
                         best_shift=None)
    summary["best"] = {"tc0": {"value": TC0, "error": 0}, "one_over_gamma": 4 / 7,
                       "local_exponents": []}
    return summary


def refuse(point, status="not-converged", reason="U at the crossing is far from its limit"):
    """Removes Tc of a point, as `tc` does if a check fails."""
    point.update(candidate=point["tc"], tc=None, shift=None, status=status, reasons=[reason])


def with_errors_of_fits(summary):
    """Adds the errors and covariances that bands and lines of the fits need."""
    for point in summary["points"]:
        point["scaling"] = {"y": 0.5, "w": 0.5 if point["p"] > 0 else 0.875}
        point["tc"]["fit_limit"] = {"value": point["tc"]["value"] + 1e-4, "error": 2e-4}
        for fit in point["tc"]["fit"]:
            fit["covariance"] = -5e-5
        point["binder_limit"].update(form="shifted", chi2=1.2, dof=1, q=0.3, fit=[
            {"quantity": "binder", "amplitude": {"value": 0.25, "error": 0.03},
             "covariance": -5e-5}])
    for law in summary["power_laws"]:
        law["covariance"] = 4e-6
    return summary


def write_task(path, temperatures=(2.2, 2.3, 2.4, 2.5), times=400, replicas=32, edge=32, decay=0.8,
               potts=None, configuration=()):
    generator = np.random.default_rng(6)
    sites, shape = edge * edge, (len(temperatures), times, replicas)
    tilt = np.asarray(temperatures)[:, None, None] - 2.35
    bond_sum = sites * (1.2 - tilt) + 40 * autoregressive(generator, shape, decay)
    signs = np.tanh(autoregressive(generator, shape, decay))
    magnetisation = sites * 0.3 * np.exp(-4 * tilt) * signs
    with h5py.File(path, "w", userblock_size=512) as file:
        file.attrs["format"] = "rewise task"
        file.attrs["format_version"] = 1
        texts = {"lattice.p": "0.01" if potts is None else "0"}
        if potts is not None:
            texts.update({"sampling.model": "potts", "sampling.q": str(potts)})
        file.create_group("configuration").attrs.update(texts | dict(configuration))
        graph = file.create_group("graph")
        graph.attrs.update({"dim": 2, "extents": np.array([edge] * 2, dtype=np.uint32),
                            "p": 0.01 if potts is None else 0.0,
                            "rule": "rewire", "seed": 1, "source": "", "sites": sites,
                            "bonds": 2 * sites, "modified": 80, "rewired": 0})
        file["temperature"] = np.asarray(temperatures, dtype=float)
        series = file.create_group("series")
        series.attrs["replicas"] = replicas
        series["energy"] = bond_sum.round().astype(np.int64)
        series["magnetisation"] = magnetisation.round().astype(np.int64)
        file.create_group("provenance").attrs["code"] = "synthetic"
    return seal(path)


def seal(path):
    """Writes the user block of an HDF5 file in the format of src/base/seal.hpp."""
    whole = bytearray(path.read_bytes())
    whole[:512] = struct.pack("<8sIIQ", b"\x89RWS\r\n\x1a\n", 1, 512, len(whole) - 512).ljust(
        512, b"\0")
    if xxhash is not None:
        whole[24:40] = xxhash.xxh3_128(bytes(whole)).digest()
    path.write_bytes(whole)
    return path
