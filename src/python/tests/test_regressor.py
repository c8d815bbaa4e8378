"""KrausRegressor as scikit-learn expects it, on matrices."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kraus
from conftest import pairs
from kraus import KrausRegressor, load_model


def test_the_constructor_stores_its_arguments_and_nothing_else():
    given = {"rank": 3, "hidden": [4], "depth": 2, "gamma": 1e-4, "random_state": np.random.default_rng(1)}
    model = KrausRegressor(**given)
    assert all(getattr(model, k) is v for k, v in given.items())
    assert set(vars(model)) == set(model.get_params())
    # What is wrong is said by fit, so that a search over parameters can be set up.
    KrausRegressor(rank="no", folds=-1)


def test_clone_and_set_params():
    model = clone(KrausRegressor(rank=2).set_params(solver="lbfgs", restarts=1))
    assert model.get_params()["solver"] == "lbfgs" and model.rank == 2
    assert not hasattr(model, "model_")
    with pytest.raises(ValueError):
        model.set_params(nonsense=1)


def test_an_exact_map_is_found():
    x, y, a = pairs(noise=0.0)
    model = KrausRegressor(rank="cv").fit(x, y)
    assert model.rank_ == 2 and model.operators_.shape == (2, 3, 5) and model.positivity_ == "complete"
    truth = kraus.choi(a)
    # Symmetric inputs determine the map on symmetric matrices only: compare predictions.
    fresh = pairs(seed=9)[0]
    expected = sum(k @ fresh @ k.T for k in a)
    assert np.linalg.norm(model.predict(fresh) - expected) < 1e-7 * np.linalg.norm(expected)
    assert model.choi_.shape == truth.shape and np.linalg.eigvalsh(model.choi_)[0] > -1e-9
    assert model.history_["solver"] and model.score(x, y) > 1 - 1e-12
    assert {r["rank"] for r in model.cv_results_} >= {1, 2} and sum(r["chosen"] for r in model.cv_results_) == 1


def test_everything_chosen_with_signs():
    x, y, _ = pairs(noise=0.05)
    y = y - 0.9 * x[:, :3, :3]  # no completely positive map
    model = KrausRegressor(positivity="none").fit(x, y)
    assert set(model.signs_) == {-1.0, 1.0} and model.intercept_.shape == (3, 3)
    by_hand = sum(s * a @ x @ a.T for s, a in zip(model.signs_, model.operators_)) + model.intercept_
    assert np.allclose(model.predict(x), by_hand)
    assert model.reason_


def test_a_deep_stack():
    x, y, _ = pairs(count=60, p=4, q=2, rank=1)
    with pytest.warns(ConvergenceWarning):
        model = KrausRegressor(rank=2, depth=2, hidden=[3], gamma=1e-6, max_iter=40, folds=0, restarts=1).fit(x, y)
    assert [a.shape for a in model.operators_] == [(2, 3, 4), (2, 2, 3)]
    with pytest.raises(AttributeError):
        model.choi_


def test_grid_search_finds_the_true_rank_on_noisy_data():
    x, y, _ = pairs(count=300, p=5, q=4, rank=3, noise=0.3, seed=3)
    search = GridSearchCV(KrausRegressor(), {"rank": [1, 3, 5, 10]}, n_jobs=2, cv=5).fit(x, y)
    assert search.best_params_ == {"rank": 3}, search.cv_results_["mean_test_score"]


def test_cross_val_score_and_pipeline():
    x, y, _ = pairs(noise=0.02)
    scale = FunctionTransformer(lambda x: x / 10.0)
    model = make_pipeline(scale, KrausRegressor(rank=2))
    scores = cross_val_score(model, x, y, cv=KFold(3))
    assert scores.shape == (3,) and scores.min() > 0.9
    assert model.fit(x, y).predict(x).shape == y.shape


def test_pickle_holds_the_model():
    x, y, _ = pairs(noise=0.05)
    for model in (KrausRegressor(rank=2), KrausRegressor(positivity="none"), KrausRegressor(rank=1, depth=2, max_iter=5, folds=0)):
        with pytest.warns(ConvergenceWarning) if model.depth == 2 else _nothing():
            model.fit(x, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(x), model.predict(x))
        assert again.get_params() == model.get_params() and again.reason_ == model.reason_
    x, y, _ = pairs(count=400, noise=0.05)  # theorem 4 needs more than 221 samples at this rank
    model = pickle.loads(pickle.dumps(KrausRegressor(rank=2).fit(x, y)))
    assert model.bound(delta=0.1)["train"] == KrausRegressor(rank=2).fit(x, y).bound(delta=0.1)["train"]


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_save_and_load(tmp_path):
    x, y, _ = pairs(noise=0.05)
    for model in (KrausRegressor(rank=2), KrausRegressor(positivity="none")):
        model.fit(x, y).save(tmp_path / "m.npz")
        again = load_model(tmp_path / "m.npz")
        assert np.array_equal(again.predict(x), model.predict(x))
        assert np.array_equal(np.load(tmp_path / "m.npz")["layer0"], model.operators_)
        assert model.model_.to_bytes() == (tmp_path / "m.npz").read_bytes()
    with pytest.raises(OSError):
        load_model(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="bad.npz"):
        load_model(tmp_path / "bad.npz")


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a.astype(">f8"), lambda a: np.repeat(a, 2, axis=0)[::2], list])
def test_order_strides_and_bytes_change_no_bit(change):
    x, y, _ = pairs(noise=0.05)
    plain = KrausRegressor(rank=2).fit(x, y)
    other = KrausRegressor(rank=2).fit(change(x), change(y))
    assert np.array_equal(plain.operators_, other.operators_)
    assert np.array_equal(plain.predict(x), other.predict(change(x)))


def test_float32_in_float32_out():
    x, y, _ = pairs(noise=0.05)
    model = KrausRegressor(rank=2).fit(x.astype(np.float32), y.astype(np.float32))
    assert model.predict(x.astype(np.float32)).dtype == np.float32 and model.predict(x).dtype == np.float64
    assert np.allclose(model.predict(x), KrausRegressor(rank=2).fit(x, y).predict(x), rtol=1e-3, atol=1e-3)


def test_the_number_of_threads_changes_no_bit():
    x, y, _ = pairs(noise=0.05)
    for rank in (None, 2):
        one, two = (KrausRegressor(rank=rank, n_jobs=n).fit(x, y) for n in (1, 3))
        assert one.model_.to_bytes() == two.model_.to_bytes()
        assert np.array_equal(one.predict(x), two.predict(x))


def test_random_state():
    x, y, _ = pairs(noise=0.3, count=60)
    fit = lambda seed: KrausRegressor(rank=4, solver="lbfgs", restarts=1, max_iter=30, random_state=seed).fit(x, y).operators_
    with pytest.warns(ConvergenceWarning):
        assert np.array_equal(fit(None), fit(0)) and not np.array_equal(fit(0), fit(1))
        assert np.array_equal(fit(np.random.default_rng(5)), fit(np.random.default_rng(5)))


def test_bound():
    x, y, _ = pairs(count=4000, p=3, q=2, rank=1, noise=0.01)
    bound = KrausRegressor(rank=1).fit(x, y).bound(gamma=1.0)
    assert bound["total"] == bound["train"] + bound["complexity"] + bound["confidence"] and not bound["vacuous"]
    with pytest.raises(ValueError, match="without penalty"):
        KrausRegressor(positivity="none").fit(x, y).bound()
    with pytest.raises(ValueError, match="delta"):
        KrausRegressor(rank=1).fit(x, y).bound(delta=2.0)


def test_score_is_that_of_scikit_learn():
    from sklearn.metrics import r2_score

    x, y, _ = pairs(noise=0.5)
    model = KrausRegressor(rank=1).fit(x, y)
    flat = lambda a: a.reshape(len(a), -1)
    expected = r2_score(flat(y), flat(model.predict(x)), multioutput="variance_weighted")
    assert abs(model.score(x, y) - expected) < 1e-12
    weight = np.arange(len(x)) + 1.0
    expected = r2_score(flat(y), flat(model.predict(x)), multioutput="variance_weighted", sample_weight=weight)
    assert abs(model.score(x, y, sample_weight=weight) - expected) < 1e-12


def test_not_fitted():
    with pytest.raises(NotFittedError):
        KrausRegressor().predict(pairs()[0])


def test_progress(capsys):
    x, y, _ = pairs(noise=0.05)
    steps = []
    KrausRegressor(rank="cv", verbose=1, callback=lambda step, share: steps.append((step, share))).fit(x, y)
    assert any(step == "rank 1" for step, _ in steps) and all(0 <= share <= 1 for _, share in steps)
    assert "[kraus] rank 1" in capsys.readouterr().out

    def stop(step, share):
        raise RuntimeError("enough")

    model = KrausRegressor(rank="cv", callback=stop)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(x, y)
    assert not hasattr(model, "model_")
