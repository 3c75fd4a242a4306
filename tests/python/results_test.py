"""Results in Python: lower bounds of tau, overlaps, files, seeds, and texts of messages."""

import inspect
import pydoc
import re
import warnings

import numpy as np
import pytest

import rewise as rw
from rewise import errors

GLASS = dict(couplings="pm", exchange=True, schedule="1:0", equilibrate=3000, seed=1, device="cpu")
SHORT = dict(schedule="1:0", measure=20, equilibrate=50, seed=7, device="cpu")


@pytest.fixture(scope="module")
def hot():
    """A run far above the transition, where 100 measurements are enough to determine tau."""
    return rw.simulate(rw.rewire(size=(16, 8), p=0.1, seed=3), [5.0, 6.0], schedule="1:1",
                       measure=100, seed=7, device="cpu")


def test_lower_bounds_of_tau_are_shown_as_by_the_program(program):
    """The run of the case "run says that its checks passed only if every tau is known"."""
    words = ["--dim", 3, "--size", 6, "--couplings", "pm", "--exchange", "--temperature",
             "0.6,0.9,1.3,1.8", "--schedule", "1:0", "--equilibrate", 3000, "--measure", 300,
             "--seed", 1, "--device", "cpu"]
    found = program("run", *words)
    text = "No check failed .*, but the measurements are too few to determine tau at T = 0.6: " \
        "tau of .*overlap_m2.* is a lower bound there"
    with pytest.warns(rw.TauWarning, match=text) as caught:
        results = rw.simulate(rw.rewire(6, dim=3), [0.6, 0.9, 1.3, 1.8], measure=300, **GLASS)
    assert caught[0].filename == __file__
    assert results.hash == found["trajectory_hash"]
    assert results.warnings == [str(one.message) for one in caught]
    assert not any(line.startswith("warning: ") for line in results.warnings)
    bounds = 0
    for name in ("energy", "m2", "overlap_m2"):
        one = getattr(results, name)
        for k, theirs in enumerate(found["results"]):
            is_bound = theirs[name]["tau"] is None
            bounds += is_bound
            assert np.isnan(one.tau_error[k]) == is_bound and np.isfinite(one.tau[k])
            assert ("tau > " in repr(one[k])) == is_bound
    assert bounds > 0
    lines = str(results).splitlines()
    assert "tau(q^2)" in lines[0] and "> " in lines[1] and "> " not in lines[4]
    columns = results.columns()
    assert np.isnan(columns["overlap_m2_tau_error"]).any()
    assert "lower bound" in rw.Observable.__doc__


@pytest.mark.parametrize("use", [lambda r: r.m2, lambda r: r.candidate("m2"), str,
                                 lambda r: r.columns(), lambda r: r.to_pandas()])
def test_undetermined_tau_warns_at_the_first_use(tmp_path, use):
    simulation = rw.Simulation(rw.rewire(32), [2.3, 9.0], schedule="1:0", seed=7, device="cpu")
    simulation.run(10000)
    simulation.record(100)
    simulation.save(tmp_path / "s.h5")
    for results in (simulation.results, rw.Results.load(tmp_path / "s.h5")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert repr(results) and results.status == ["ok", "ok"] and results.warnings == []
        text = "too few to determine tau at T = 2.3: tau of energy, .*m2.* is a lower bound there"
        with pytest.warns(rw.TauWarning, match=text) as caught:
            use(results)
        assert [str(one.message) for one in caught] == results.warnings
        assert caught[0].filename == __file__ and issubclass(rw.TauWarning, RuntimeWarning)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert use(results) is not None and results.energy.tau_error[1] > 0


def test_determined_tau_does_not_warn(hot, tmp_path):
    hot.save(tmp_path / "hot.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for results in (hot, rw.Results.load(tmp_path / "hot.h5")):
            assert str(results) and results.candidate("m2") and results.warnings == []
            assert np.isfinite(results.m2.tau_error).all()


def test_overlaps_as_the_program(program, small, hot):
    found = program("run", "--size", "16,8", "--p", 0.1, "--graph-seed", 3, "--temperature",
                    "3,4", "--couplings", "pm", "--schedule", "1:0", "--measure", 200,
                    "--equilibrate", 500, "--seed", 7, "--device", "cpu")
    results = rw.simulate(small, [3.0, 4.0], couplings="pm", **{**SHORT, "measure": 200,
                                                                "equilibrate": 500})
    for k, theirs in enumerate(found["results"]):
        for name in rw.results.OVERLAPS:
            one = getattr(results, name)
            assert one.value[k] == theirs[name]["value"] and one.error[k] == theirs[name]["error"]
        assert results.overlap_m2.tau[k] == theirs["overlap_m2"]["tau"]
    q = results.series["overlap"] / small.sites
    np.testing.assert_allclose(results.overlap_m2.value, (q**2).mean(axis=(1, 2)))
    np.testing.assert_allclose(results.spin_glass_susceptibility, small.sites * results.overlap_m2)
    columns = results.columns()
    for name in ("overlap_m2", "overlap_m4", "overlap_binder", "spin_glass_susceptibility",
                 "scaled_overlap", "link_overlap"):
        assert np.isfinite(columns[name]).all() and np.isfinite(columns[f"{name}_error"]).all()
    heading = str(results).splitlines()[0].split()
    assert {"q^2", "U_q", "chi_SG", "q_l", "tau(q^2)"} < set(heading)
    assert np.isnan(hot.overlap_m2.value).all() and "overlap_m2" not in hot.columns()
    assert "q^2" not in str(hot)


def test_values_in_a_field_are_printed(small):
    results = rw.simulate(small, 5.0, field=0.5, **SHORT)
    assert {"m", "dm/dh", "tau(m)"} < set(str(results).splitlines()[0].split())
    assert str(results.field_susceptibility) in str(results)
    # Overlaps are shown for models with negative or random couplings or fields.
    assert "q^2" not in str(results) and "overlap_m2" in results.columns()
    random = rw.simulate(small, 5.0, field_random="pm", field_width=0.5, **SHORT)
    assert "q^2" in str(random)


def test_an_observable_is_the_array_of_its_values(hot):
    energy = hot.energy
    assert float(energy[0]) == energy.value[0]
    more = energy
    more += 1
    np.testing.assert_array_equal(more, energy.value + 1)
    assert f"{energy[0]:.3f}" == f"{energy.value[0]:.3f}" and f"{energy[0]}" == str(energy[0])
    assert f"{energy:.2f}" == ", ".join(f"{v:.2f}" for v in energy.value)
    assert max(energy) is not None and float(max(energy)) == energy.value.max()
    for found, expected in ((2 * energy, 2 * energy.value), (energy - hot.m2,
                            energy.value - hot.m2.value), (np.abs(energy), abs(energy.value)),
                            (energy < 0, energy.value < 0)):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match=r"energy has values at 2 temperatures.*energy\[0\]"):
        float(energy)
    for index in (2, -3):
        with pytest.raises(IndexError, match="there are 2 temperatures"):
            energy[index]
    with pytest.raises(TypeError, match="energy"):
        energy["first"]
    with pytest.raises(TypeError, match="at one temperature"):
        energy[0][0]


def test_series_are_a_mapping(hot):
    series = hot.series
    assert [name for name, _ in series.items()] == list(series) == list(series.keys())
    assert len(list(series.values())) == len(series)
    assert series.get("spins") is None and "energy" in series
    assert "energy, magnetisation, bond_sum" in repr(series) and "[2, 100, 32]" in repr(series)


def test_files_have_the_results_of_the_program(program, small, hot, tmp_path):
    h5py = pytest.importorskip("h5py")
    words = ["--size", "16,8", "--p", 0.1, "--graph-seed", 3, "--temperature", "5,6",
             "--schedule", "1:1", "--measure", 100, "--seed", 7, "--device", "cpu"]
    program("run", *words, "--out", tmp_path / "program.h5")
    hot.save(tmp_path / "saved.h5")
    rw.simulate(small, [5.0, 6.0], schedule="1:1", measure=100, seed=7, device="cpu",
                out=tmp_path / "out.h5")
    with h5py.File(tmp_path / "program.h5") as expected:
        names = list(expected["results"])
        assert "binder" in names
        for name in ("saved", "out"):
            with h5py.File(tmp_path / f"{name}.h5") as file:
                assert list(file["results"]) == names
                assert dict(file["results"].attrs) == dict(expected["results"].attrs)
                for one in names:
                    ours, theirs = file["results"][one], expected["results"][one]
                    assert ours.attrs["unit"] == theirs.attrs["unit"]
                    for values in theirs:
                        np.testing.assert_array_equal(ours[values][()], theirs[values][()])


# Seeds


def test_networks_have_different_random_numbers(program):
    """Energies of two networks at the same times and replicas have the correlation r = 0.36 if the
    runs share their random numbers. For independent runs |r| < 5 / sqrt(640) = 0.2 with a
    false-alarm rate below 1e-6."""
    spec = dict(schedule="1:0", measure=20, every=5, device="cpu")
    graphs = [rw.rewire(32, p=0.01, seed=seed) for seed in (1, 2)]

    def correlation(**more):
        a, b = (rw.simulate(graph, 5.0, **spec, **more).series["energy"].ravel()
                for graph in graphs)
        return np.corrcoef(a, b)[0, 1]

    assert abs(correlation()) < 0.2
    assert correlation(seed=1) > 0.25
    results = rw.simulate(graphs[1], 5.0, **spec)
    assert results.configuration["sampling.seed"] == "2"
    assert results.hash == rw.simulate(graphs[1], 5.0, seed=2, **spec).hash
    assert rw.Simulation(graphs[1], 5.0).hash == rw.Simulation(graphs[1], 5.0, seed=2).hash
    kept = rw.simulate(graphs[1], 5.0, seed=5, **spec)
    assert kept.configuration["sampling.seed"] == "5"
    imported = rw.Graph(graphs[1].edges)
    assert rw.simulate(imported, 5.0, **spec).configuration["sampling.seed"] == "1"
    weighted = rw.simulate(graphs[1], 5.0, couplings=np.ones(graphs[1].bonds), **spec)
    assert weighted.configuration["sampling.seed"] == "2"
    found = program("run", "--size", 32, "--p", 0.01, "--graph-seed", 2, "--seed", 2,
                    "--temperature", 5, "--schedule", "1:0", "--measure", 20, "--every", 5,
                    "--device", "cpu")
    assert found["trajectory_hash"] == results.hash


def test_a_file_of_another_seed_is_refused(small, tmp_path):
    rw.simulate(small, 5.0, **{**SHORT, "seed": 1}, out=tmp_path / "t.h5")
    longer = {**SHORT, "measure": 30}
    del longer["seed"]
    with pytest.raises(rw.HeldError, match="seed"):
        rw.simulate(small, 5.0, **longer, out=tmp_path / "t.h5")
    assert rw.simulate(small, 5.0, **longer, seed=1, out=tmp_path / "t.h5").measurements == 30


# Arguments and messages


@pytest.mark.parametrize("text, renamed, expected", [
    ("raise --equilibrate, or use --exchange with temperatures", {},
     "raise equilibrate, or use exchange=True with temperatures"),
    ("32 replicas or more with --start mixed, which", {},
     '32 replicas or more with start="mixed", which'),
    ("(use --engine multispin or bytespin)", {}, '(use engine="multispin" or "bytespin")'),
    ("(--label-method kalentev and --device cpu support any lattice)", {},
     '(label_method="kalentev" and device="cpu" support any lattice)'),
    ("--label-method and --device are", {}, "label_method and device are"),
    ("--wolff-method: requires --cluster wolff, not x", {},
     'wolff_method: requires cluster="wolff", not x'),
    ("--ignore distance skips this column", {}, 'ignore=["distance"] skips this column'),
    ("--couplings-on shortcuts with --field-random pm", {},
     'on="shortcuts" with field_random="pm"'),
    ("--graph-seed is for built graphs, not for --graph", {},
     "seed of rewire() is for built graphs, not for graph"),
    ("--out: '/a/--out/x' is a folder", {"out": "folder"}, "folder: '/a/--out/x' is a folder"),
    ("--candidates: '1:0' requires --cluster wolff", {},
     "schedules: '1:0' requires cluster=\"wolff\""),
    ("measure more often (smaller --every)", {}, "measure more often (smaller every)"),
    ("(--recompute-damaged computes it again)", {}, "(--recompute-damaged computes it again)")])
def test_messages_use_the_words_of_python(text, renamed, expected):
    assert errors.as_arguments(text, renamed) == expected


def test_no_message_names_an_option(small, tmp_path):
    with pytest.warns(RuntimeWarning):
        results = rw.simulate(small, 0.8, schedule="1:0", equilibrate=0, measure=20, device="cpu")
    assert results.status != ["ok"] and "equilibrate" in results.reasons[0][0]
    texts = [*results.reasons[0], *results.warnings]
    (tmp_path / "g.edges").write_text("0 1 7\n1 2 7.5x\n2 0 3\n")
    for call in (lambda: rw.simulate(small, 2.0, wolff_method="ccl", engine="multispin"),
                 lambda: rw.simulate(small, 2.0, engine="bitlattice", schedule="1:0", replicas=1),
                 lambda: rw.simulate(small, 2.0, out=tmp_path / "t.txt"),
                 lambda: rw.Graph.load(tmp_path / "g.edges")):
        with pytest.raises(rw.Error) as caught:
            call()
        texts.append(str(caught.value))
    assert not any("--" in text for text in texts), texts


def test_former_names_of_engines_warn(small):
    with pytest.warns(RuntimeWarning, match="'bundle' has been renamed to 'multispin'"):
        results = rw.simulate(small, 5.0, engine="bundle", **SHORT)
    assert results.configuration["sampling.engine"] == "multispin"


def test_equal_steps_of_temperature_as_in_the_program(program, small):
    found = program("run", "--size", "16,8", "--p", 0.1, "--graph-seed", 3, "--temperature",
                    "4.1:5.3:7", "--seed", 7, "--schedule", "1:0", "--measure", 20,
                    "--equilibrate", 50, "--device", "cpu")
    results = rw.simulate(small, {"from": 4.1, "to": 5.3, "count": 7}, **SHORT)
    assert results.temperature.tolist() == [one["temperature"] for one in found["results"]]
    assert results.hash == found["trajectory_hash"]


def test_fields_of_the_shape_of_the_lattice(small):
    field = np.zeros((8, 16))  # [y, x]
    field[2, 5] = 3.0
    one = rw.Simulation(small, 2.0, field=field)
    assert np.flatnonzero(one.graph.fields).tolist() == [5 + 16 * 2]
    same = rw.Simulation(small, 2.0, field=field.ravel())
    one.run(20)
    same.run(20)
    assert one.hash == same.hash
    with pytest.raises(rw.UsageError, match=r"field: 16x8 values.*128 sites.*x \+ Lx y.*\(8, 16\)"):
        rw.Simulation(small, 2.0, field=field.T)


@pytest.mark.parametrize("kind, words, more", [
    (rw.UsageError, "^couplings: nan of bond 0", {"couplings": np.full(256, np.nan)}),
    (rw.UsageError, "^couplings: 10000.* below 1024", {"couplings": np.full(256, 1e4)}),
    (rw.UsageError, "^field: nan of site 3", {"field": [0, 0, 0, np.nan] + 124 * [0]}),
    (TypeError, "^couplings: 0.5 is neither a string nor an array", {"couplings": 0.5}),
    (rw.UsageError, "^start: an array of shape", {"start": np.zeros((20, 20))}),
    (TypeError, "^schedule: an array of shape", {"schedule": np.zeros((20, 20))}),
    (TypeError, "^field: '0.1' is not a number", {"field": "0.1"}),
    (rw.UsageError, r"^threads: -1 is out of range \(0..4096\)", {"threads": -1}),
    (rw.UsageError, "temperature: .*'count'", {"temperature": {"from": 1, "upto": 2}}),
    (rw.UsageError, "'count': 1 is out of range",
     {"temperature": {"from": 1, "to": 2, "count": 1}})])
def test_bad_arguments_are_named(small, kind, words, more):
    with pytest.raises(kind, match=words) as caught:
        rw.simulate(small, **{"temperature": 2.0, "measure": 10, **more})
    assert "\n" not in str(caught.value)


def test_bad_arguments_of_networks():
    with pytest.raises(rw.UsageError, match=r"size: -8 is out of range \(even numbers from 4\)"):
        rw.rewire(-8)
    with pytest.raises(TypeError, match="p: '0.1' is not a number"):
        rw.rewire(8, p="0.1")


@pytest.mark.parametrize("graph, more, seed", [
    (rw.rewire(8, p=0.1, seed=5), {}, 5), (rw.rewire(8, p=0.1, seed=5), {"seed": 1}, 1),
    (rw.Graph([[0, 1], [1, 2]]), {}, 1)])
def test_tune_has_the_default_seed_of_simulate(monkeypatch, graph, more, seed):
    words = []
    monkeypatch.setattr("rewise.tuning.call", lambda given, progress: words.extend(given) or
                        '{"settings": [{}]}')
    rw.tune(graph, 2.5, **more)
    assert words[words.index("--seed") + 1] == str(seed)


def test_the_package_shows_its_own_names():
    shown = dir(rw)
    assert not {"os", "sys", "importlib", "TYPE_CHECKING"} & set(shown)
    assert {"simulate", "devices", "Graph", "results"} <= set(shown)
    for name in rw.__all__:
        assert getattr(rw, name).__doc__, name
    assert rw.__all__[:4] == ["rewire", "Graph", "simulate", "Simulation"]
    text = pydoc.render_doc(rw, renderer=pydoc.plaintext)
    index = text[:text.index("An example:")]
    assert index.count("\n") < 25 and index.index("simulate()") < index.index("UsageError")
    assert all(re.search(rf"\b{name}\b", index) for name in rw.__all__)
    for name in inspect.signature(rw.simulate).parameters:
        assert name == "graph" or re.search(rf"\n    ([a-z_]+, )*{name}[:,]", rw.simulate.__doc__)
