"""KrausTransport and TLKraus, alone and in pyRiemann's pipelines."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from conftest import two_days
from kraus import MDM, KrausTransport, TLKraus, riemann_distance


def test_the_map_brings_the_days_together():
    (x, y), (x2, y2) = two_days()
    transport = KrausTransport().fit(x, x2, y)
    moved = transport.transform(x)
    assert riemann_distance(moved, x2).mean() < riemann_distance(x, x2).mean()
    assert moved.shape == x2.shape and np.allclose(transport.plan_.sum(), 1)
    assert MDM().fit(moved, y).score(x2, y2) > 0.9
    # A map for new matrices: what fit saw and what it did not see are treated alike.
    assert np.array_equal(transport.transform(x[:3]), moved[:3])
    by_hand = sum(a @ x[0] @ a.T for a in transport.operators_)
    assert np.allclose(moved[0], by_hand)
    assert np.array_equal(pickle.loads(pickle.dumps(transport)).transform(x), moved)
    assert np.array_equal(clone(transport).fit_transform(x, x2, y), moved)
    assert np.array_equal(KrausTransport(n_jobs=1).fit(x, x2, y).transform(x), moved)


def test_the_class_filter():
    (x, y), (x2, _) = two_days()
    transport = KrausTransport(filter=2).fit(x, x2, y)
    found = transport.filter_
    assert [kept for kept, _ in found["tried"]] == [2] and 0.5 < found["recentring"] <= 1
    assert transport.fell_back_ == (found["kept"] is None) and transport.held_out_ is None
    # A filter that keeps two of four directions has three operators; recentring has one.
    assert len(transport.operators_) == (1 if transport.fell_back_ else 3)
    assert KrausTransport(filter="none").fit(x, x2, y).filter_ is None
    assert KrausTransport(rank=2).fit(x, x2, y).filter_ is None and KrausTransport().fit(x, x2).filter_ is None
    with pytest.raises(ValueError, match="use_labels"):
        TLKraus("b", filter=2, use_labels=False).fit(x, np.where(y == 0, "a/0", "b/1"))


def test_other_channels():
    (x, _), (x2, _) = two_days()
    common = [(0, 0), (1, 1), (2, 2)]
    transport = KrausTransport(common=common).fit(x, x2[:, :3, :3])
    assert transport.transform(x).shape == (60, 3, 3)
    # The fourth channel of the target is filled in; the operators say how.
    transport = KrausTransport(common=common).fit(x[:, :3, :3], x2)
    moved = transport.transform(x[:, :3, :3])
    by_hand = np.einsum("rij,kjl,rml->kim", transport.operators_, x[:, :3, :3], transport.operators_)
    assert np.allclose(moved, by_hand) and np.linalg.eigvalsh(moved).min() > 0
    assert np.array_equal(pickle.loads(pickle.dumps(transport)).transform(x[:, :3, :3]), moved)


def test_the_paper_settings():
    (x, y), (x2, _) = two_days(trials=24)
    transport = KrausTransport(paper=True, rank=3, epochs=5).fit(x, x2, y)
    assert transport.operators_.shape == (3, 4, 4) and not transport.fell_back_


def test_in_pyriemann_pipelines():
    transfer = pytest.importorskip("pyriemann.transfer")
    classification = pytest.importorskip("pyriemann.classification")
    (x, y), (x2, y2) = two_days()
    both, labels = np.concatenate([x, x2]), np.concatenate([y, y2])
    _, encoded = transfer.encode_domains(both, labels, np.repeat(["monday", "tuesday"], 60))
    train = np.arange(120) < 80  # monday, and a third of tuesday
    for mdm in (classification.MDM(), MDM()):
        pipeline = make_pipeline(
            TLKraus(target_domain="tuesday"),
            transfer.TLClassifier(target_domain="tuesday", estimator=mdm, domain_weight={"monday": 1.0, "tuesday": 0.0}),
        )
        pipeline.fit(both[train], encoded[train])
        predicted = pipeline.predict(both[~train])
        assert np.mean(predicted.astype(int) == labels[~train]) > 0.9


def test_domains():
    (x, y), (x2, y2) = two_days(trials=30)
    both = np.concatenate([x, x2, 2 * x])
    encoded = np.array([f"{d}/{label}" for d, ys in [("a", y), ("b", y2), ("c", y)] for label in ys])
    transfer = TLKraus(target_domain="b")
    moved = transfer.fit_transform(both, encoded)
    assert set(transfer.transports_) == {"a", "c"}
    assert np.array_equal(moved[30:60], x2) and transfer.transform(x2) is x2
    assert np.array_equal(transfer.transform(both, encoded), moved)
    assert riemann_distance(moved[:30], x2).mean() < riemann_distance(x, x2).mean()
    with pytest.raises(ValueError, match="'z' is not in y_enc"):
        TLKraus(target_domain="z").fit(both, encoded)
    with pytest.raises(ValueError, match="entry 0 is 'a'"):
        TLKraus(target_domain="b").fit(both, np.repeat("a", 90))
    assert clone(TLKraus("b", rank=2)).get_params()["rank"] == 2
