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
    """Adds results of the tree condition. At the first p > 0 the methods agree, at the second one
    only this method has a result, at the third one the methods differ."""
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
    """Adds the errors and covariances that fitted lines and their error bands need."""
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


def glass_summary(ps=(0.1,), edges=(4, 6, 8), dim=3, kind="sweep"):
    """The summary of a spin glass with U_q = 1 - T/3 and <q^2> = (2/T) N^(-2/3), so that all sizes
    have the same N^(2/3) <q^2>. A crossing of U_q and one of the scaled <q^2> are found. The first
    size has no values at the lowest temperature."""
    temperatures = [1.0, 1.2, 1.4, 1.6]
    names = {"overlap_m2": "q2", "overlap_m4": "q4", "overlap_binder": "U_q", "link_overlap": "q_l",
             "spin_glass_susceptibility": "chi_SG", "scaled_overlap": "scaled"}

    def curve(values, known):
        values = [value if known or k else None for k, value in enumerate(values)]
        return {"value": values, "error": [value and 0.01 * abs(value) for value in values]}

    points = []
    for p in ps:
        sizes = []
        for edge in edges:
            sites, t = edge**dim, np.asarray(temperatures)
            exact = {"overlap_m2": 2 / t * sites**(-2 / 3), "overlap_m4": 0 * t + 0.1,
                     "overlap_binder": 1 - t / 3, "link_overlap": 1 / t**2,
                     "spin_glass_susceptibility": 2 / t * sites**(1 / 3), "scaled_overlap": 2 / t,
                     "energy": t - 2.5, "abs_magnetisation": 0.1 / t, "specific_heat": 1 / t,
                     "susceptibility": 1 / t, "binder": 0.1 / t, "m2": 0.01 / t,
                     "scaled_m2": 0.2 / t, "tau": 1 + t, "overlap_tau": 9 / t}
            sizes.append({"extents": [edge] * dim, "sites": sites, "graphs": 16, "replicas": 32,
                          "schedule": "1:0", "every": 2, "temperatures": temperatures} |
                         {name: curve(values.tolist(), edge != edges[0])
                          for name, values in exact.items()})
        crossings = [{"sites": [edges[0]**dim, edges[1]**dim], "observable": name, "found": found,
                      "temperature": {"value": t if found else None, "error": 0.05},
                      "height": {"value": height if found else None, "error": 0.02}}
                     for name, t, height, found in (
                         ("overlap_binder", 1.3, 0.57, True), ("overlap_binder", 1.5, 0.5, False),
                         ("scaled_overlap" if p > 0 else "cubic_overlap", 1.35, 1.5, True))]
        points.append({"p": p, "dim": dim, "rule": "rewire", "schedule": "1:0", "label": "",
                       "sizes": sizes, "overlap_crossings": crossings, "warnings": []})
        if kind == "tc":
            points[-1] |= {"order": "spin-glass", "status": "ok", "reasons": [],
                           "tc": {"value": 1.32, "error": 0.03, "systematic": 0.04}}
    return {"format": "rewise summary", "format_version": 1, "kind": kind, "name": "glass",
            "version": "0.1.0", "seed": 1, "seconds": 1.0, "configuration": "0123456789abcdef",
            "lattice": {"dim": dim, "rule": "rewire"}, "model": "ising", "q": 2,
            "observables": [{"name": name, "label": label} for name, label in names.items()],
            "sampling": {"engine": "multispin", "schedule": "1:0", "replicas": 32},
            "points": points, "warnings": []}


def write_glass_task(path, status="ok,ok,ok,ok", configuration=(), weight=None, field=None, pairs=8,
                     **more):
    """A task of a spin glass: q is near 0.6 or -0.6 at the first temperature and near 0 at the
    others. `status` is that of its results, None for a task without results."""
    words = {"sampling.model": "ising", "sampling.couplings": "pm"} | dict(configuration)
    write_task(path, times=50, replicas=2 * pairs, edge=16, configuration=words, **more)
    generator = np.random.default_rng(7)
    with h5py.File(path, "r+") as file:
        temperatures, sites = len(file["temperature"]), int(file["graph"].attrs["sites"])
        shape = (temperatures, 50, pairs)
        q = generator.normal(0, 0.05, shape)
        q[0] += 0.6 * generator.choice([-1, 1], shape[1:])
        file["series/overlap"] = sites - 2 * np.rint(sites * (1 - q) / 2).astype(np.int64)
        file["series/link_overlap"] = np.rint(2 * sites * q**2).astype(np.int64)
        if status is not None:
            file.create_group("results").attrs["status"] = status
        for name, values in (("weight", weight), ("field", field)):
            if values is not None:
                file["graph"][name] = np.asarray(values, dtype=float)
    return seal(path)
