"""Studies from Python, which are run, stopped, interrupted and read again, and tuning."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import rewise as rw

CONFIG = {"study": {"name": "small", "seed": 5},
          "lattice": {"dim": 2, "sizes": [8, 16, 32], "p": [0.1], "graphs": 12},
          "sampling": {"schedule": "1:1", "measure": 30, "equilibrate": 20}}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = rw.Study(tmp_path_factory.mktemp("studies") / "small", CONFIG)
    return made.run(device="cpu")


def test_table_of_critical_temperatures(study):
    table = study.tc
    assert table["p"].tolist() == [0.1]
    assert len(table.rows()) == 2 and "Tc" in str(table)
    assert study.kind == "tc" and "0.1" in repr(study)
    curve = study.curve(p=0.1, size=32)
    assert np.all(np.diff(curve.temperature) > 0) and np.all(curve.m2 > 0)


def test_a_finished_study_is_opened_by_its_folder(study):
    before = (study.folder / "summary.json").read_bytes()
    again = rw.Study(study.folder).run(device="cpu")  # with the study.toml of the folder
    assert again.tc["tc"][0] == study.tc["tc"][0] or np.isnan(study.tc["tc"][0])
    assert len((study.folder / "summary.json").read_bytes()) == len(before)


def test_plot(study):
    pytest.importorskip("matplotlib")
    picture = study.plot("crossings", p=0.1)
    assert picture._repr_png_()[1:4] == b"PNG"
    with pytest.raises(rw.DataError, match="known: .*crossings"):
        study.plot("nonsense")
    assert "<table>" in study._repr_html_()


def test_errors_are_those_of_the_program(tmp_path):
    with pytest.raises(rw.UsageError, match="unknown key 'siezs'"):
        rw.Study(tmp_path / "a", {"lattice": {"dim": 2, "siezs": [8], "p": [0.1]}}).run()
    with pytest.raises(rw.DataError, match="study.toml"):
        rw.Study(tmp_path / "b").run()
    with pytest.raises(rw.UsageError, match="kind"):
        rw.Study(tmp_path / "c", kind="tcc")
    with pytest.raises(rw.DataError):
        rw.Study(tmp_path / "d").tc


def test_names_of_files_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "a.edges").write_text("0 1\n1 2\n2 3\n3 0\n")
    monkeypatch.chdir(tmp_path)
    config = {"lattice": {"files": ["a.edges"]},
              "sampling": {"temperatures": [2.0], "schedule": "1:1", "measure": 40,
                           "equilibrate": 20}}
    table = rw.Study("own", config, kind="sweep").run(device="cpu").summary
    assert table["points"]
    with pytest.raises(rw.FileError, match="missing.edges"):
        rw.Study("other", {**config, "lattice": {"files": "missing.edges"}}, kind="sweep").run()


def test_started_and_stopped(tmp_path):
    config = {**CONFIG, "sampling": {**CONFIG["sampling"], "measure": 100000}}
    long = rw.Study(tmp_path / "long", config).start(device="cpu")
    assert long.running
    with pytest.raises(rw.HeldError):
        long.start()
    while not (tmp_path / "long" / "study.toml").exists():
        time.sleep(0.05)
    long.stop()
    with pytest.raises(rw.Interrupted, match="to continue"):
        long.wait()
    assert not long.running


def test_interrupted_by_ctrl_c(tmp_path):
    config = {**CONFIG, "sampling": {**CONFIG["sampling"], "measure": 100000}}
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rw.Study(tmp_path / "long", config).run(device="cpu")
    finally:
        timer.cancel()


def test_tc_makes_a_study(tmp_path):
    made = rw.tc([0.1], [8, 16, 32], folder=tmp_path / "tc 2d", graphs=8, seed=2, device="cpu",
                 sampling={"schedule": "1:1", "measure": 40, "equilibrate": 40})
    assert len(made.tc) == 1 and (made.folder / "study.toml").exists()


def test_tune(small):
    found = rw.tune(small, 2.6, budget=6, schedules=["1:0", "1:1"], cluster="wolff", device="cpu")
    assert found.best in ("1:0", "1:1")
    assert len(found.rows()) == 3 and found.best in repr(found)
    imported = rw.tune(rw.Graph(small.edges), 2.6, budget=3, schedules=["1:1", "0:1"],
                       cluster="wolff", device="cpu")
    assert imported.cluster == "wolff"
    with pytest.raises(rw.UsageError):
        rw.tune(small, 2.6, schedules=["1-0"])


def test_sweep_and_results_of_one_folder(tmp_path):
    short = {"schedule": "1:1", "equilibrate": 20, "measure": 40, "every": 1}
    swept = rw.sweep(0.1, [6, 8], [2.5, 3.0], graphs=4, folder=tmp_path / "sweep", sampling=short)
    curve = swept.curve(p=0.1, size=8)
    assert curve.temperature.tolist() == [2.5, 3.0] and (curve.energy_error > 0).all()
    given = {"sizes": [6, 8], "graphs": 8, "folder": tmp_path / "tc", "sampling": short}
    first, second = rw.tc(0.1, **given), rw.tc(0.3, **given)
    assert first.tc["p"].tolist() == [0.1] and second.tc["p"].tolist() == [0.3]
    with pytest.raises(rw.DataError, match="results of another configuration"):
        first.resamples
    assert len(second.resamples.size(p=0.3, size=6).left_out["m2"]) > 0
    with pytest.raises(rw.UsageError, match="sizes"):
        rw.tc(0.1, "all", folder=tmp_path / "tc")
