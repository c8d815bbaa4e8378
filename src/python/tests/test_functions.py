"""Functions against pyRiemann, POT, scikit-learn and scipy."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import kraus
from conftest import spd, two_days

FORMATS = Path(__file__).parents[4] / "shared" / "data" / "formats"


def test_distances_and_means_are_those_of_pyriemann():
    distance = pytest.importorskip("pyriemann.geometry.distance")
    mean = pytest.importorskip("pyriemann.geometry.mean")
    x = spd(12, 5)
    for metric, d, m in [
        ("riemann", distance.distance_riemann, mean.mean_riemann),
        ("logeuclid", distance.distance_logeuclid, mean.mean_logeuclid),
        ("wasserstein", distance.distance_wasserstein, mean.mean_wasserstein),
    ]:
        ours = kraus.riemann_distance(x[:4], x[4:], metric=metric)
        theirs = np.array([[d(a, b) for b in x[4:]] for a in x[:4]])
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12), metric
        # The peers' means stop earlier than ours.
        assert np.allclose(kraus.riemann_mean(x, metric=metric), m(x), rtol=1e-5, atol=1e-6), metric
    weight = np.arange(12) + 1.0
    assert np.allclose(kraus.riemann_mean(x, sample_weight=weight), mean.mean_riemann(x, sample_weight=weight), rtol=1e-5)
    assert kraus.riemann_distance(x[0], x[1]) == kraus.riemann_distance(x[:1], x[1:2])[0, 0]
    assert kraus.riemann_distance(x[0], x).shape == (12,) and kraus.riemann_distance(x, x[0]).shape == (12,)


def test_mdm_is_that_of_pyriemann():
    peer = pytest.importorskip("pyriemann.classification").MDM()
    (x, y), (x2, _) = two_days()
    words = np.array(["left", "right"])[y]
    ours, peer = kraus.MDM().fit(x, words), peer.fit(x, words)
    assert np.array_equal(ours.predict(x2), peer.predict(x2)) and list(ours.classes_) == ["left", "right"]
    assert np.allclose(ours.transform(x2), peer.transform(x2), rtol=1e-5)
    p = ours.predict_proba(x2)
    assert np.allclose(p.sum(axis=1), 1) and np.array_equal(ours.classes_[p.argmax(axis=1)], ours.predict(x2))
    assert cross_val_score(clone(kraus.MDM("logeuclid")), x, y, cv=3).mean() > 0.9


def test_sinkhorn_is_that_of_pot():
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(0)
    cost = rng.random((7, 9))
    a, b = np.full(7, 1 / 7), np.full(9, 1 / 9)
    plan, log = kraus.sinkhorn(a, b, cost, 0.1, log=True)
    assert np.allclose(plan, ot.sinkhorn(a, b, cost, 0.1), rtol=1e-6, atol=1e-9)
    assert log["marginal_error"] < 1e-8 and not log["log_domain"]
    assert np.array_equal(kraus.sinkhorn([], [], cost, 0.1), plan)
    # Where scaling underflows the log domain takes over.
    plan, log = kraus.sinkhorn(a, b, cost, 1e-4, log=True, numItermax=20000)
    assert np.allclose(plan.sum(axis=1), a) and log["log_domain"]


def test_kernels_are_those_of_scikit_learn():
    from sklearn.metrics.pairwise import additive_chi2_kernel, rbf_kernel

    x = np.random.default_rng(0).random((10, 4))
    y = np.random.default_rng(1).random((3, 4))
    assert np.allclose(kraus.rbf_kernel(x, width=0.7), rbf_kernel(x, gamma=1 / (2 * 0.7**2)))
    assert np.allclose(kraus.rbf_kernel(x, y, width=0.7), rbf_kernel(y, x, gamma=1 / (2 * 0.7**2)))
    # Theirs is -sum (x - y)^2 / (x + y): twice our distance, negative.
    assert np.allclose(kraus.chi2_kernel(x, width=0.5), np.exp(additive_chi2_kernel(x) / (2 * 0.5)))
    d = ((x[:, None] - x[None]) ** 2).sum(axis=2)[np.triu_indices(10, 1)]
    assert np.allclose(kraus.rbf_kernel(x), rbf_kernel(x, gamma=1 / d.mean()))
    assert np.allclose(kraus.rbf_kernel(x, width="median"), rbf_kernel(x, gamma=1 / np.median(d)))


def test_forms_of_a_map():
    a = np.random.default_rng(0).standard_normal((2, 3, 4))
    x = spd(1, 4)[0]
    c = kraus.choi(a)
    # Phi(X) = sum_ij X_ij C_ij over the blocks of C.
    blocks = c.reshape(4, 3, 4, 3).transpose(0, 2, 1, 3)
    image = sum(k @ x @ k.T for k in a)
    assert np.allclose(np.einsum("ij,ijab->ab", x, blocks), image)
    back = kraus.kraus_from_choi(c, 4)
    assert back.shape == (2, 3, 4) and np.allclose(kraus.choi(back), c)
    assert kraus.kraus_from_choi(c, 4, rank=1).shape == (1, 3, 4)
    assert np.allclose(kraus.choi(a, signs=[1, -1]), kraus.choi(a[:1]) - kraus.choi(a[1:]))
    stinespring = a.transpose(1, 0, 2).reshape(6, 4)
    assert np.allclose(kraus.partial_trace(stinespring @ x @ stinespring.T, 2), image)


def test_readers(tmp_path):
    io = pytest.importorskip("scipy.io")
    saved = {"x": np.arange(6.0).reshape(2, 3), "word": "left", "z": np.array([[1 + 2j]]), "cells": np.array([1.0, "a"], dtype=object)}
    io.savemat(tmp_path / "a.mat", saved)
    read = kraus.read_mat(tmp_path / "a.mat")
    assert np.array_equal(read["x"], saved["x"]) and read["word"] == "left" and read["z"][0, 0] == 1 + 2j
    assert read["cells"][1] == "a"
    with pytest.raises(OSError):
        kraus.read_mat(tmp_path / "none.mat")
    (tmp_path / "bad.gdf").write_bytes(b"GDF 2.20" + bytes(300))
    with pytest.raises(ValueError, match="bad.gdf"):
        kraus.read_gdf(tmp_path / "bad.gdf")


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the genuine recordings are not there (../shared/data/formats beside the project)")
def test_genuine_files():
    read = kraus.read_gdf(FORMATS / "biosig_t310_sample.gdf")
    assert read["signals"].shape[0] == len(read["channels"]) == 4 and read["rate"] == 256
    assert sum(code in (769, 770) for _, code, _ in read["events"]) == 40
    one = kraus.read_gdf(FORMATS / "biosig_t310_sample.gdf", channels=read["channels"][1:2])
    assert np.array_equal(one["signals"][0], read["signals"][1], equal_nan=True)
    with pytest.raises(ValueError, match="has no channel `none`"):
        kraus.read_gdf(FORMATS / "biosig_t310_sample.gdf", channels=["none"])
    with pytest.raises(ValueError, match="different rates"):
        kraus.read_gdf(FORMATS / "libgdf_multirate.gdf")
    labels = kraus.read_mat(FORMATS / "A01T.mat")["classlabel"]
    assert labels.shape == (288, 1) and [int((labels == c).sum()) for c in (1, 2, 3, 4)] == [72] * 4
