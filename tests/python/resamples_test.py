"""The jackknife samples that studies write: they give the errors of the summary and the
correlations of Tc."""

import numpy as np
import pytest

import rewise as rw

h5py = pytest.importorskip("h5py")

CONFIG = {"study": {"name": "samples", "seed": 11},
          "lattice": {"dim": 2, "sizes": [8, 16, 24], "p": [0.3, 1.0], "graphs": [24, 20, 16]},
          "sampling": {"schedule": "1:2", "measure": 30, "equilibrate": 20}}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "samples"
    return rw.Study(folder, CONFIG).run(device="cpu")


def test_errors_equal_those_of_the_summary(study):
    samples = study.resamples
    for point in study.summary["points"]:
        for size in point["sizes"]:
            own = samples.size(point["p"], size["extents"])
            assert own.graphs == size["graphs"]
            assert set(own.left_out) == {one["name"] for one in study.summary["observables"]}
            np.testing.assert_array_equal(own.temperature, size["temperatures"])
            for name in own.left_out:
                np.testing.assert_allclose(own.error(name), size[name]["error"], rtol=1e-9)
                n, left_out = own.graphs, own.left_out[name]
                corrected = n * own.value[name] - (n - 1) * left_out.mean(axis=0)
                np.testing.assert_allclose(corrected, size[name]["value"], rtol=1e-9)


def test_covariance_in_the_file(study):
    with h5py.File(study.folder / "summary.h5") as file:
        group = file["points/0/sizes/1"]
        samples = np.concatenate([group[name]["left_out"][()]
                                  for name in group.attrs["observables"].split()], axis=1)
        np.testing.assert_allclose(group["covariance"][()],
                                   rw.resamples.jackknife_covariance(samples), rtol=1e-9,
                                   atol=1e-15)


def test_samples_of_crossings_give_their_errors(study):
    seen = 0
    with h5py.File(study.folder / "summary.h5") as file:
        for k, point in enumerate(study.summary["points"]):
            found = [c for c in point["crossings"] if c["status"] == "found"]
            groups = [file[f"points/{k}/crossings/{n}"] for n in range(len(found))]
            for crossing, group in zip(found, groups):
                temperature = group["temperature"]
                variance = sum(rw.resamples.jackknife_covariance(temperature[key][()][:, None])
                               for key in temperature)
                assert np.sqrt(variance.item()) == pytest.approx(
                    crossing["temperature"]["error"], rel=1e-9)
                seen += 1
    assert seen >= 4


def test_tc_and_its_correlations(study):
    pytest.importorskip("pyerrors")
    samples = study.resamples
    accepted = [point for point in study.summary["points"] if point["tc"] is not None]
    assert accepted, [point["reasons"] for point in study.summary["points"]]
    for point in accepted:
        number = samples.tc(point["p"])
        assert number.value == point["tc"]["value"] and number.error == point["tc"]["error"]
        assert set(number.left_out) <= {size.name for size in samples.points()[0]["sizes"]} | {
            size.name for size in samples.points()[-1]["sizes"]}
        one = number.obs()
        one.gamma_method(S=0)
        assert one.value == pytest.approx(number.value, rel=1e-12)
        assert one.dvalue == pytest.approx(np.sqrt(number.covariance(number)), rel=0.05)
        # Student's t and the scaling by chi^2 can only enlarge the error of the extrapolation.
        assert one.dvalue <= 1.05 * number.error


def test_pyerrors_of_a_curve(study):
    pytest.importorskip("pyerrors")
    own = study.resamples.size(1.0, 24)
    for k, one in enumerate(own.obs("binder")):
        one.gamma_method(S=0)
        assert one.dvalue == pytest.approx(own.error("binder")[k], rel=0.05)


def test_absent_file_is_named(tmp_path):
    with pytest.raises(rw.DataError, match="summary.h5"):
        rw.Study(tmp_path).resamples


def test_tree_condition(tmp_path):
    pytest.importorskip("pyerrors")
    made = rw.tc(1.0, [8, 16, 32], folder=tmp_path / "tree", target_error=5e-3, seed=3,
                 device="cpu", sampling={"method": "tree"})
    found = made.summary["points"][0]["tree"]
    table = made.tc.rows()
    assert table[0][2:4] == ["tree condition", "Tc"] and table[1][2:4] == [found["tc"]["text"]] * 2
    tree = made.resamples.tree(1.0)
    assert tree.graphs == found["graphs"] and tree.edge == found["edge"]
    assert tree.left_out.shape == (tree.graphs, len(tree.temperature))
    at = {one["temperature"]: one for one in found["lambda"] if one["edge"] == tree.edge}
    for k, error in enumerate(np.sqrt(np.diag(tree.covariance()))):
        assert error == pytest.approx(at[tree.temperature[k]]["error"], rel=1e-9)
    assert tree.tc.value == found["tc"]["value"] and tree.tc.error == found["tc"]["error"]
    assert tree.tc.systematic == found["tc"]["systematic"]
    assert np.sqrt(tree.tc.covariance(tree.tc)) == pytest.approx(tree.tc.error, rel=1e-9)
    one = tree.tc.obs()
    one.gamma_method(S=0)
    assert one.dvalue == pytest.approx(tree.tc.error, rel=0.05)
    assert abs(one.value - 3.6583) < 5 * tree.tc.error
